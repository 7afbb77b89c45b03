"""Everybody against everybody: a payoff table, and ratings fitted to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, VecGame
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.ratings import ANCHOR_RATING, Strength, bradley_terry
from pvp_ml.selfplay.tally import Evaluation, Tally

ROWS = 256
"""Matches side by side, at most; results do not depend on it."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """Names, points[i,j] that i made against j, and fitted strengths, strongest first."""

    names: tuple[str, ...]
    points: npt.NDArray[np.float64]
    strengths: tuple[Strength, ...]

    def rates(self) -> npt.NDArray[np.float64]:
        """Share of points; NaN where two never met."""
        met = self.points + self.points.T
        return np.asarray(np.divide(self.points, met, out=np.full(met.shape, np.nan), where=met > 0))

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        ratings = [
            {"name": s.name, "rating": s.rating, "low": s.low, "high": s.high, "matches": s.matches}
            for s in self.strengths
        ]
        return {"names": list(self.names), "points": self.points.tolist(), "ratings": ratings}


def play_tournament(
    build: Callable[[int], VecGame | AsyncVecGame],
    contestants: Sequence[Contestant],
    matches: int,
    seed: int,
    tell: Callable[[str, Tally], None] = lambda pair, tally: None,
) -> Tournament:
    """`matches` per pair, seats swapped and seeds paired; rated as `rate_pairs` says."""

    def play(i: int, j: int) -> Tally:
        game = build(min(matches, ROWS))
        try:
            return evaluate(game, contestants[i], contestants[j], matches, seed).total
        finally:
            game.close()

    return rate_pairs(contestants, (play(i, j) for i, j in pairs(contestants)), tell)


def pairs(contestants: Sequence[Contestant]) -> list[tuple[int, int]]:
    """Who meets whom, in order; refuses fewer than two, and the same twice."""
    names = [contestant.name for contestant in contestants]
    if len(set(names)) < len(names) or len(names) < 2:
        raise UserError(f"a tournament needs at least two different contestants, got {', '.join(names)}")
    return list(combinations(range(len(names)), 2))


def rate_pairs(
    contestants: Sequence[Contestant],
    tallies: Iterable[Tally],
    tell: Callable[[str, Tally], None] = lambda pair, tally: None,
) -> Tournament:
    """Ratings from a tally per pair, in the order of `pairs`.

    The first bot among the contestants is pinned: it never learns, so ratings of different days can be compared.
    """
    names = tuple(contestant.name for contestant in contestants)
    points = np.zeros((len(names), len(names)))
    for (i, j), total in zip(pairs(contestants), tallies, strict=True):
        points[i, j] = total.wins + 0.5 * total.ties
        points[j, i] = total.losses + 0.5 * total.ties
        tell(f"{names[i]} against {names[j]}", total)
    scripted = [contestant.name for contestant in contestants if contestant.bot]
    fitted = bradley_terry(names, points, {scripted[0]: ANCHOR_RATING} if scripted else None)
    return Tournament(names, points, tuple(sorted(fitted, key=lambda s: -s.rating)))


def reference_rating(reports: Mapping[str, Evaluation], references: Mapping[str, float]) -> Strength:
    """The rating of the first player of these evaluations, given the known ratings of the references."""
    names = ("", *references)
    points = np.zeros((len(names), len(names)))
    for j, name in enumerate(references, 1):
        total = reports[name].total
        points[0, j] = total.wins + 0.5 * total.ties
        points[j, 0] = total.losses + 0.5 * total.ties
    return next(strength for strength in bradley_terry(names, points, references) if strength.name == "")
