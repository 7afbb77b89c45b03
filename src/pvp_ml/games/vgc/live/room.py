"""One battle at a server, from the lines that its room sends: what is asked, what must be said, how it ended."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

Result = Literal["won", "lost", "tied", "void", ""]
_RATING = re.compile(r"^(?P<name>.+)'s rating: (?P<old>\d+) (?:&rarr;|→) <strong>(?P<new>\d+)</strong>")
_TIME = re.compile(r"^Time left: (\d+) sec this turn \| (\d+) sec total")
SHEETS_S = 15.0
"""How long a foe may think about open sheets before we choose a line-up without having seen them."""
RATING_S = 10.0
"""How long a rated battle's rating is waited for."""
MAX_LINES = 200_000


def user_id(name: str) -> str:
    """A name as the server compares it."""
    return "".join(character for character in name.lower() if character.isalnum() and character.isascii())


@dataclass(slots=True)
class BattleRoom:
    """What a room has told. Times are seconds of one clock that the caller owns."""

    name: str
    us: str  # our user id
    began: float
    lines: list[str] = field(default_factory=list)  # not handed on yet
    request: dict[str, Any] | None = None
    is_answered: bool = True
    must_default: bool = False  # the server refused what we chose
    sheets_asked: float | None = None
    sheets_answered: bool = False
    sheets_known: bool = False
    foe: str = ""
    ratings: dict[str, tuple[int, int]] = field(default_factory=dict)  # user id → before, after
    is_rated: bool = False
    turn: int = 0
    turn_s: float | None = None  # seconds that the server gives us for what it asks now
    result: Result = ""
    ended_by: str = ""  # 'forfeit' or 'time', with the name that lost by it
    ended: float | None = None
    rejected: list[str] = field(default_factory=list)
    decisions: int = 0
    longest_s: float = 0.0

    def hear(self, lines: list[str], now: float) -> None:
        """Take one message of the room."""
        for line in lines:
            kind, _, rest = line[1:].partition("|") if line.startswith("|") else ("", "", line)
            if kind == "request":
                self._asked(rest)
                continue
            if kind == "init":
                self.lines = []  # everything is told again
            if len(self.lines) < MAX_LINES:
                self.lines.append(line)
            self._note(kind, rest, now)

    def waits_for_us(self, now: float) -> bool:
        """Whether a choice is due. At preview, sheets that may still be opened are waited for."""
        if self.result or self.is_answered or self.request is None:
            return False
        if "teamPreview" in self.request and self.sheets_asked is not None and not self.sheets_known:
            return now - self.sheets_asked > SHEETS_S
        return True

    def is_over(self, now: float) -> bool:
        """Whether the result stands, with its rating where one is due."""
        if not self.result or self.ended is None:
            return False
        return not self.is_rated or self.us in self.ratings or now - self.ended > RATING_S

    def take_lines(self) -> list[str]:
        """What has come since the last time."""
        lines, self.lines = self.lines, []
        return lines

    def _asked(self, text: str) -> None:
        try:
            request = json.loads(text) if text else None
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return  # the server takes back what it asked
        self.request, self.must_default = request, False
        self.is_answered = bool(request.get("wait"))

    def _note(self, kind: str, rest: str, now: float) -> None:
        match kind:
            case "sentchoice":
                self.is_answered = True
            case "error":
                self._refused(rest)
            case "player":
                self._met(rest)
            case "rated":
                self.is_rated = True
            case "turn" if rest.isdigit():
                self.turn = int(rest)
            case "inactive":
                if found := _TIME.match(rest):
                    self.turn_s = float(found[1])
            case "uhtml" if rest.startswith("otsrequest|<"):
                self.sheets_asked, self.sheets_answered = now, False
            case "showteam":
                self.sheets_known = True
            case "win" | "tie":
                self._end("tied" if kind == "tie" else "won" if user_id(rest) == self.us else "lost", now)
            case "noinit" | "deinit" | "expire":
                self._end("void", now)
            case "-message":
                self._told(rest)
            case "raw":
                self._rated(rest)
            case "" if rest.endswith("rejected open team sheets."):
                self.sheets_known = True  # there will be none

    def _told(self, text: str) -> None:
        for end, why in ((" lost due to inactivity.", "time"), (" forfeited.", "forfeit")):
            if text.endswith(end):
                self.ended_by = f"{why}: {text.removesuffix(end)}"

    def _refused(self, text: str) -> None:
        if text.startswith("[Invalid choice]"):
            self.rejected.append(text[:300])
            self.must_default, self.is_answered = True, "nothing to choose" in text

    def _met(self, rest: str) -> None:
        name = rest.split("|")[1] if "|" in rest else ""
        if name and user_id(name) != self.us:
            self.foe = name

    def _rated(self, text: str) -> None:
        if found := _RATING.match(text):
            self.ratings[user_id(html.unescape(found["name"]))] = int(found["old"]), int(found["new"])

    def _end(self, result: Result, now: float) -> None:
        if not self.result:
            self.result, self.ended = result, now
