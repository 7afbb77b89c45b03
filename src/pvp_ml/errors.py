"""The exception whose message users read, and what such messages need."""

from __future__ import annotations

from pathlib import Path

_KEPT = frozenset("\n\t")
_CHECKOUT = Path(__file__).parents[2]


def visible(text: str) -> str:
    """The text with everything that could steer a terminal (escapes, control and direction marks) written out.

    Letters of every script stay as they are, and so do line feed and tab.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else repr(c)[1:-1] for c in text)


def pip_install(extra: str) -> str:
    """The command that adds an extra: to this checkout, or to the installed package."""
    if (_CHECKOUT / "pyproject.toml").is_file():
        return f"pip install -e '{_CHECKOUT}[{extra}]'"
    return f"pip install 'pvp-ml[{extra}]'"


class UserError(Exception):
    """Something the user can act on; the command line prints it as one line and exits with 2.

    The message names the thing, the value and the limit; `hint` is the next step ("see `pvp-ml game list`").
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Message and hint on one line, fit for a terminal: parts of it may come from a file or a server."""
        return visible(f"{self.message} — {self.hint}" if self.hint else self.message)


class SaveError(UserError):
    """Something could not be written; everything that was there before is still there."""
