"""Counting matches: points with intervals, signals folded over a match, and the report of an evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.model.bundle import MatchResult
from pvp_ml.selfplay.kernels import ADD, LAST, LOW, TOP, fold
from pvp_ml.spec import Figure, GameSpec, Signal

MOST_TAGS = 60


@dataclass(slots=True)
class Tally:
    """Counts from the first contestant's side. A void match (the game broke) counts for nobody.

    `courses` are the digests of the matches. Where both sides never draw (`may_repeat`), equal ones are one match
    repeats and add nothing, so the interval is that of the distinct ones.
    """

    label: str
    wins: int = 0
    ties: int = 0
    losses: int = 0
    voids: int = 0
    truncated: int = 0
    steps: int = 0
    may_repeat: bool = False
    courses: set[int] = field(default_factory=set)

    @property
    def distinct(self) -> int:
        """Matches that differ in anything that somebody saw."""
        return len(self.courses)

    @property
    def trials(self) -> int:
        """Matches that add information."""
        return self.distinct if self.may_repeat else self.matches

    @property
    def matches(self) -> int:
        """Matches that count."""
        return self.wins + self.ties + self.losses

    @property
    def score(self) -> float:
        """Share of points; a tie is half a point. 0.5 when nothing counts."""
        return (self.wins + 0.5 * self.ties) / self.matches if self.matches else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson 95 % interval of the score, over the trials."""
        return wilson(self.score * self.trials, self.trials)

    def to_json(self) -> dict[str, Any]:
        """Counts, score and interval."""
        low, high = self.interval
        counts = {name: getattr(self, name) for name in ("wins", "ties", "losses", "voids", "truncated", "distinct")}
        mean_steps = self.steps / max(1, self.matches + self.voids)
        return {"label": self.label, "matches": self.matches, **counts, "score": self.score, "low": low, "high": high,
                "mean_steps": mean_steps}  # fmt: skip


def wilson(points: float, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson score interval of points / trials; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    share, scale = points / trials, 1.0 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1.0 - share) / trials + z * z / (4.0 * trials * trials))
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of it; everything from the first contestant's side."""

    game: str
    first: str
    second: str
    seed: int
    total: Tally
    by_scenario: tuple[Tally, ...]
    by_team: tuple[Tally, ...]  # label "team 0", "team 1": where the first contestant sat
    signals: tuple[tuple[Signal, float, float], ...]  # mean over matches and seats: first, second
    choices: dict[str, dict[str, tuple[float, float]]]  # head → choice → share of decisions: first, second
    figures: tuple[Figure, ...] = ()
    by_tag: tuple[Tally, ...] = ()  # what the game says of the first contestant's matches, such as "with kyogre-rain"
    figure_values: dict[str, tuple[dict[str, float], dict[str, float]]] = field(default_factory=dict)
    """Scenario, or "all" → figure → value: first, second."""
    figure_intervals: dict[str, tuple[dict[str, tuple[float, float]], ...]] = field(default_factory=dict)
    """The same figures' 95 % intervals."""

    def rows(self) -> list[tuple[str, ...]]:
        """Table rows: label, matches, won, tied, lost, void, score, interval, steps."""
        return [_row(tally) for tally in self.parts()]

    def parts(self) -> list[Tally]:
        """What a table or a picture shows: the whole, and its parts where there is more than one and not too many."""
        scenarios = self.by_scenario if len(self.by_scenario) > 1 else ()
        tags = self.by_tag if 2 < len(self.by_tag) <= MOST_TAGS else ()
        return [self.total, *scenarios, *self.by_team, *tags]

    def to_json(self) -> dict[str, Any]:
        """One JSON object with all of it."""
        return {
            "game": self.game,
            "first": self.first,
            "second": self.second,
            "seed": self.seed,
            **self.total.to_json(),
            "by_scenario": [tally.to_json() for tally in self.by_scenario],
            "by_team": [tally.to_json() for tally in self.by_team],
            "by_tag": [tally.to_json() for tally in self.by_tag],
            "signals": [
                {"name": s.name, "unit": s.unit, "fold": s.fold, "first": _finite(a), "second": _finite(b)}
                for s, a, b in self.signals
            ],
            "choices": self.choices,
            "figures": {
                label: {"first": first, "second": second} for label, (first, second) in self.figure_values.items()
            },
            "figure_intervals": {
                label: {"first": first, "second": second} for label, (first, second) in self.figure_intervals.items()
            },
        }

    def to_result(self, date: str) -> MatchResult:
        """The line that a bundle carries."""
        total = self.total
        low, high = total.interval
        return MatchResult(opponent=self.second, matches=total.matches, wins=total.wins, ties=total.ties,
                           losses=total.losses, voids=total.voids, score=total.score, low=low, high=high,
                           date=date)  # fmt: skip


TABLE_HEADER = ("", "matches", "won", "tied", "lost", "void", "score", "95 % interval", "steps")


def _row(tally: Tally) -> tuple[str, ...]:
    low, high = tally.interval
    played = f"{tally.matches}" if tally.trials == tally.matches else f"{tally.matches} ({tally.distinct} differ)"
    counts = (played, tally.wins, tally.ties, tally.losses, tally.voids)
    mean_steps = tally.steps / max(1, tally.matches + tally.voids)
    return (
        tally.label,
        *(str(n) for n in counts),
        f"{tally.score:.1%}",
        f"{low:.1%}–{high:.1%}",
        f"{mean_steps:.1f}",
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_FOLDS = {"sum": ADD, "mean": ADD, "last": LAST, "max": TOP, "min": LOW}


class SignalFolds:
    """Signals folded over a match's steps as the spec says (sum, mean, last, max, min)."""

    def __init__(self, spec: GameSpec, rows: int) -> None:
        self.value: npt.NDArray[np.float32] = np.zeros((rows, spec.seats, len(spec.signals)), np.float32)
        folds = [signal.fold for signal in spec.signals]
        self._kind = np.array([_FOLDS[fold] for fold in folds], np.int64)
        self._mean = np.flatnonzero([fold == "mean" for fold in folds])

    def add(
        self, rows: npt.NDArray[np.intp] | slice, signals: npt.NDArray[np.float32], first: npt.NDArray[np.bool_]
    ) -> None:
        """One step's signals [n,S,K] of these rows; `first` [n]: it is their match's first step."""
        if not signals.shape[2]:
            return
        value = self.value[rows]  # a view when rows is a slice: the trainer's path copies nothing
        fold(self._kind, signals, first, value)
        if not isinstance(rows, slice):
            self.value[rows] = value

    def of(self, row: int, steps: int) -> npt.NDArray[np.float32]:
        """The folded signals [S,K] of the match in this row after that many steps."""
        folded: npt.NDArray[np.float32] = self.value[row].copy()
        if len(self._mean):
            folded[:, self._mean] /= max(1, steps)
        return folded
