"""The results of battles at a server: counted, and kept as lines of JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.live.room import BattleRoom, user_id


@dataclass(frozen=True, slots=True)
class BattleResult:
    """One battle that is over, or (`series` names itself) a series."""

    room: str
    result: str  # won, lost, tied or void
    foe: str
    team: str
    format: str
    series: str
    ended_by: str  # '' = it was played to the end
    rating: int | None  # ours after it
    rating_change: int | None
    foe_rating: int | None
    turns: int
    decisions: int
    rejected: int
    longest_s: float  # our slowest decision
    seconds: float
    date: str


@dataclass(slots=True)
class LiveReport:
    """What came of it."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    void: int = 0
    decisions: int = 0
    lost_on_time: int = 0
    cuts: int = 0
    rejected: list[str] = field(default_factory=list)
    series: Counter[str] = field(default_factory=Counter)  # won, lost, tied
    rating: int | None = None

    @property
    def played(self) -> int:
        """Battles that are over."""
        return self.won + self.lost + self.tied

    def count(self, room: BattleRoom) -> None:
        """Add a battle that is over."""
        self.won += room.result == "won"
        self.lost += room.result == "lost"
        self.tied += room.result == "tied"
        self.void += room.result == "void"
        self.lost_on_time += room.result == "lost" and room.ended_by.startswith("time")
        self.rejected += room.rejected
        if room.us in room.ratings:
            self.rating = room.ratings[room.us][1]

    def text(self) -> str:
        """One line."""
        rating = f"; rating {self.rating}" if self.rating is not None else ""
        series = f"; series {self.series['won']} won, {self.series['lost']} lost" if self.series else ""
        return (
            f"{self.won} won, {self.lost} lost, {self.tied} tied{series}; {len(self.rejected)} choices rejected, "
            f"{self.lost_on_time} lost on time, connection cut {self.cuts} times{rating}"
        )


def result_of(room: BattleRoom, team: str, format: str, series: str, now: float) -> BattleResult:
    """The battle of this room, which is over."""
    ours, theirs = room.ratings.get(room.us), room.ratings.get(user_id(room.foe))
    return BattleResult(
        room.name, room.result, room.foe, team, format, series, room.ended_by,
        ours[1] if ours else None, ours[1] - ours[0] if ours else None, theirs[1] if theirs else None,
        room.turn, room.decisions, len(room.rejected), round(room.longest_s, 3), round(now - room.began, 1),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def keep(file: Path | None, result: BattleResult) -> None:
    """Append it as a line; it is on the disk when this returns."""
    if file is None:
        return
    try:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(asdict(result)) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise UserError(f"cannot write results to '{file}': {error}"[:300], "another --results") from None
