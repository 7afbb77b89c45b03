"""A best of three at a server: its room names the battles, asks whether we are ready, and tells who won."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pvp_ml.games.vgc.live.room import Result, user_id

_GAME = re.compile(r'^\|uhtml(?:change)?\|game\d+\|<a href="/(battle-[a-z0-9-]+)"')


def asks_for_ready(line: str) -> bool:
    """Whether the next battle waits for us to say that we are ready."""
    return "/confirmready" in line and 'name="send"' in line


@dataclass(slots=True)
class Series:
    """What its room has told."""

    name: str
    us: str  # our user id
    games: list[str] = field(default_factory=list)  # rooms of its battles
    result: Result = ""

    def hear(self, lines: list[str]) -> None:
        """Take one message of the room."""
        for line in lines:
            if found := _GAME.match(line):
                if found[1] not in self.games:
                    self.games.append(found[1])
            elif line.startswith("|win|"):
                self.result = "won" if user_id(line[5:]) == self.us else "lost"
            elif line == "|tie" or line.startswith("|tie|"):
                self.result = "tied"
            elif line.startswith(("|noinit|", "|deinit")):
                self.result = self.result or "void"
