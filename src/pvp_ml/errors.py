"""The one exception that a person is meant to read."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can act on; the command line prints it as one line and exits with 2.

    The message names the thing, the value and the limit; `hint` is the next step ("see `pvp-ml game list`").
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Message and hint on one line."""
        return f"{self.message} — {self.hint}" if self.hint else self.message
