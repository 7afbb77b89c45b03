"""How strong players are: online ratings match by match, and a Bradley–Terry fit of a whole payoff table.

A tie counts as half a win for both. Void matches never get here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from openskill.models import BradleyTerryFull

SCALE = 400.0 / math.log(10.0)
"""Elo points per natural unit of log-odds."""

ANCHOR_RATING = 1000.0
RatingSystem = Literal["openskill", "elo"]
FloatMatrix = npt.NDArray[np.float64]
_model = BradleyTerryFull()


@dataclass(frozen=True, slots=True)
class Belief:
    """An online rating: mean and deviation in openskill's units, or Elo points without a deviation."""

    mu: float = 25.0
    sigma: float = 25.0 / 3.0


START: dict[RatingSystem, Belief] = {"openskill": Belief(), "elo": Belief(ANCHOR_RATING, 0.0)}
"""The initial rating of a player."""

MAX_RATING: dict[RatingSystem, float] = {"openskill": 1_000.0, "elo": 50_000.0}
"""No league gets there; beyond it the chance of winning overflows."""


def rate_match(
    first: Belief, second: Belief, points: float, system: RatingSystem = "openskill"
) -> tuple[Belief, Belief]:
    """Both beliefs after a match in which the first made `points` (1 win, ½ tie, 0 loss)."""
    if system == "elo":
        ratings = elo(first.mu, second.mu, points)
        return Belief(ratings[0], 0.0), Belief(ratings[1], 0.0)
    teams = [[_model.rating(mu=b.mu, sigma=b.sigma)] for b in (first, second)]
    ranks = [1.0, 1.0] if points == 0.5 else [1.0, 2.0] if points > 0.5 else [2.0, 1.0]
    rated: Any = _model.rate(teams, ranks=ranks)
    return Belief(rated[0][0].mu, rated[0][0].sigma), Belief(rated[1][0].mu, rated[1][0].sigma)


def elo(first: float, second: float, points: float, k: float = 16.0) -> tuple[float, float]:
    """Elo after one match: R ← R + K·(points − expected), and the mirror for the other."""
    change = k * (points - 1.0 / (1.0 + 10.0 ** ((second - first) / 400.0)))
    return first + change, second - change


@dataclass(frozen=True, slots=True)
class Strength:
    """A fitted rating in Elo points with its 95 % interval: of the difference to the pinned ones, or to the mean."""

    name: str
    rating: float
    low: float
    high: float
    matches: float


def bradley_terry(
    names: Sequence[str], points: FloatMatrix, pinned: Mapping[str, float] | None = None, prior: float = 0.5
) -> list[Strength]:
    """Maximum-likelihood strengths of a payoff table: points[i,j] = points that i made against j.

    `pinned` ratings (scripted players as anchors) stay as given; without any, the mean is ANCHOR_RATING, and intervals
    are of differences to the mean, because matches say nothing about the overall level. `prior` adds that many drawn
    matches between every pair that met, which keeps unbeaten players finite.
    """
    count = len(names)
    met = (points + points.T) > 0
    won = points + 0.5 * prior * met
    fixed = np.array([name in (pinned or {}) for name in names])
    theta = np.array([((pinned or {}).get(name, ANCHOR_RATING) - ANCHOR_RATING) / SCALE for name in names])
    free = np.flatnonzero(~fixed)
    total = won + won.T
    for _ in range(200):
        chance = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        gradient = (won - total * chance).sum(1)
        information = total * chance * (1.0 - chance)
        hessian = np.diag(information.sum(1)) - information
        if not fixed.any():
            hessian = hessian + 1.0 / max(1, count)
        step = np.zeros(count)
        if len(free):
            matrix = hessian[np.ix_(free, free)] + 1e-9 * np.eye(len(free))
            step[free] = np.linalg.solve(matrix, gradient[free])
        theta += np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    if not fixed.any():
        theta -= theta.mean()
    deviation = np.zeros(count)
    if len(free):
        matrix = hessian[np.ix_(free, free)] + 1e-9 * np.eye(len(free))
        variance = np.diag(np.linalg.inv(matrix)) - (0.0 if fixed.any() else 1.0 / count)  # without the common shift
        deviation[free] = np.sqrt(np.clip(variance, 0.0, None))
    rating = ANCHOR_RATING + SCALE * theta
    half = 1.96 * SCALE * deviation
    matches = (points + points.T).sum(1)
    return [
        Strength(name, float(r), float(r - h), float(r + h), float(m))
        for name, r, h, m in zip(names, rating, half, matches, strict=True)
    ]


@dataclass(slots=True)
class SequentialTest:
    """Wald's test of "stronger" (wins 55 %) against "equal" (50 %), α = β = 0.05; decided as soon as it can be."""

    log_ratio: float = 0.0
    null: float = 0.50
    alternative: float = 0.55
    error: float = 0.05

    def add(self, points: float) -> None:
        """One match: 1, ½ or 0 points for the candidate."""
        win = math.log(self.alternative / self.null)
        loss = math.log((1.0 - self.alternative) / (1.0 - self.null))
        self.log_ratio += points * win + (1.0 - points) * loss

    @property
    def is_stronger(self) -> bool:
        """Decided for the candidate."""
        return self.log_ratio >= math.log((1.0 - self.error) / self.error)

    @property
    def is_not_stronger(self) -> bool:
        """Decided against it."""
        return self.log_ratio <= math.log(self.error / (1.0 - self.error))
