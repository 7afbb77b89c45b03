"""How well a stated chance to win fits what happened, and the correction that makes it fit. Pure numpy.

A chance is stated at every decision. Each match counts once however long it is: its decisions share one weight. Shapes:
B decisions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BINS = 20
"""Bins of equal width over 0…1."""
MIN_SHARE = 1e-6


class Reliability(BaseModel):
    """Decisions whose stated chance lies in one bin; `share` of all, by weight."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    stated: float = Field(ge=0, le=1, description="mean chance that was stated")
    won: float = Field(ge=0, le=1, description="share of points that followed")
    share: float = Field(ge=0, le=1)


class Calibration(BaseModel):
    """The win head against one opponent, measured on matches that no part of it was fitted on.

    The chance that is shown is sigmoid(slope · logit + offset) of the head's logit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    opponent: str = Field(max_length=100, description="`self`, or the name of a bot or scripted player")
    matches: int = Field(ge=1)
    slope: float = Field(1.0, ge=0, le=100)
    offset: float = Field(0.0, ge=-100, le=100)
    brier: float = Field(ge=0, le=1, description="mean squared error; ¼ is a coin's")
    constant: float = Field(ge=0, le=1, description="Brier score of always stating the share that was won")
    error: float = Field(ge=0, le=1, description="expected calibration error")
    curve: tuple[Reliability, ...] = Field(max_length=BINS)
    date: str = Field("", max_length=10)

    def chance(self, logit: float) -> float:
        """The chance to show for a logit of the head."""
        return float(sigmoid(np.array([self.slope * logit + self.offset]))[0])


SELF = "self"


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ) without overflow."""
    return np.where(x >= 0, 1.0 / (1.0 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x))))


def match_weights(match: Ints) -> Floats:
    """[B]: one over the decisions of the row's match, so that every match counts once; they sum to 1."""
    _, of_row, size = np.unique(match, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (size[of_row] * len(size)), np.float64)


def brier(chance: Floats, points: Floats, weight: Floats) -> float:
    """Mean squared distance of chance [B] from points [B] (1 won, ½ tied, 0 lost)."""
    return float(np.sum(weight * (chance - points) ** 2) / np.sum(weight))


def reliability(chance: Floats, points: Floats, weight: Floats) -> tuple[Reliability, ...]:
    """What followed, by what was stated; empty bins are left out."""
    total = float(np.sum(weight))
    bins = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    mass = np.bincount(bins, weight, BINS) / total
    stated, won = (np.bincount(bins, weight * values, BINS) / total for values in (chance, points))
    return tuple(
        Reliability(stated=min(1.0, s / m), won=min(1.0, w / m), share=min(1.0, m))
        for s, w, m in zip(stated.tolist(), won.tolist(), mass.tolist(), strict=True)
        if m > MIN_SHARE
    )


def expected_error(curve: tuple[Reliability, ...]) -> float:
    """Mean distance between stated and won, over bins by their share."""
    return sum(part.share * abs(part.stated - part.won) for part in curve)


def fit_scale(logit: Floats, points: Floats, weight: Floats, has_offset: bool = True) -> tuple[float, float]:
    """(slope, offset) that minimise the cross entropy, by Newton's method; a little pull towards (1, 0).

    Without an offset the slope alone is fitted: between equals nobody is ahead at even chances.
    """
    x = np.stack([logit, np.full_like(logit, float(has_offset))], axis=1)
    slope, offset = fit_logistic(x, points, weight, pull=1e-4, start=np.array([1.0, 0.0])).tolist()
    return float(slope), float(offset)


def fit_logistic(x: Floats, points: Floats, weight: Floats, pull: float, start: Floats | None = None) -> Floats:
    """[K] coefficients of x [B,K] that minimise the weighted cross entropy + pull/2 · |w − start|²."""
    share = weight / np.sum(weight)
    start = np.zeros(x.shape[1]) if start is None else start
    w = start.copy()
    loss = _loss(x, points, share, w, start, pull)
    for _ in range(50):
        p = sigmoid(x @ w)
        gradient = x.T @ (share * (p - points)) + pull * (w - start)
        curvature = (x * (share * p * (1.0 - p))[:, None]).T @ x + pull * np.eye(len(w))
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while (new := _loss(x, points, share, w - size * step, start, pull)) > loss and size > 1e-6:
            size /= 2.0
        if loss - new < 1e-10:
            break
        w, loss = w - size * step, new
    return w


def _loss(x: Floats, points: Floats, share: Floats, w: Floats, start: Floats, pull: float) -> float:
    z = x @ w
    cross = np.logaddexp(0.0, z) - points * z
    return float(np.sum(share * cross) + pull / 2.0 * np.sum((w - start) ** 2))
