"""What a seat was shown of a battle, in the form that a search needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Briefing:
    """What a seat was shown of a battle: its lines of the log from some line on, and what it is asked now."""

    format: str
    lines: list[str]
    request: dict[str, Any]
    next: int  # where to read on


class Source(Protocol):
    """One seat of a battle, wherever it is played."""

    @property
    def room(self) -> str:
        """A name that no other seat has."""

    def read(self, start: int) -> Briefing:
        """What the seat was shown from place `start` of its log on."""


@runtime_checkable
class Briefs(Protocol):
    """A game that tells what its seats were shown."""

    def briefing(self, serial: int, seat: int, start: int) -> Briefing:
        """What the seat of that match was shown from place `start` of its log on."""
