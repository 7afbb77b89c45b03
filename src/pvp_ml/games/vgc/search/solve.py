"""One turn as a game: a mixed strategy that does well in every guess of what is hidden.

Shapes: W worlds (guesses), K own choices, J choices of the foe. We choose without knowing the world, the foe knows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
ROUNDS = 400


@dataclass(frozen=True, slots=True)
class Solution:
    """Mixed strategies of both sides, and what the turn is worth to us."""

    own: Floats  # [K]
    foe: Floats  # [W,J]
    value: float


def trusting(payoff: Floats, prior: Floats, trust: float) -> Floats:
    """[W,K,J]: the game against a foe that plays its `prior` [W,J] that often, and answers freely otherwise."""
    expected = np.einsum("wkj,wj->wk", payoff, prior)
    return np.asarray((1.0 - trust) * payoff + trust * expected[:, :, None])


def filled(total: Floats, count: Floats) -> Floats:
    """[W,K,J]: mean payoffs; a cell that was never simulated is guessed from its row and its column."""
    known = count > 0
    mean = float(total.sum() / max(count.sum(), 1.0))
    cells = np.where(known, total / np.maximum(count, 1.0), 0.0)
    rows = _means(cells, known, (0, 2), mean)
    columns = _means(cells, known, (1,), mean)
    return np.where(known, cells, rows + columns - mean)


def _means(cells: Floats, known: npt.NDArray[np.bool_], axes: tuple[int, ...], otherwise: float) -> Floats:
    number = known.sum(axis=axes, keepdims=True)
    return np.where(number > 0, cells.sum(axis=axes, keepdims=True) / np.maximum(number, 1), otherwise)


def solve(payoff: Floats, allowed: npt.NDArray[np.bool_], rounds: int = ROUNDS) -> Solution:
    """Regret matching with positive regrets and growing weights on payoff [W,K,J]; `allowed` [W,J]: the foe's choices.

    The averages converge to an equilibrium of the game in which nature draws a world that only the foe sees.
    """
    worlds, k, j = payoff.shape
    regret_own, regret_foe = np.zeros(k), np.zeros((worlds, j))
    sum_own, sum_foe = np.zeros(k), np.zeros((worlds, j))
    uniform_foe = allowed / allowed.sum(axis=1, keepdims=True)
    own, foe = np.full(k, 1.0 / k), uniform_foe
    for t in range(1, rounds + 1):
        gain_own = np.einsum("wkj,wj->k", payoff, foe) / worlds
        regret_own = np.maximum(regret_own + gain_own - own @ gain_own, 0.0)
        own = _matched(regret_own, np.full(k, 1.0 / k))
        gain_foe = -np.einsum("wkj,k->wj", payoff, own)
        played = (gain_foe * foe).sum(axis=1, keepdims=True)
        regret_foe = np.where(allowed, np.maximum(regret_foe + gain_foe - played, 0.0), 0.0)
        foe = _matched(regret_foe, uniform_foe)
        sum_own += t * own
        sum_foe += t * foe
    own, foe = sum_own / sum_own.sum(), sum_foe / sum_foe.sum(axis=1, keepdims=True)
    return Solution(own, foe, float(np.einsum("wkj,k,wj->", payoff, own, foe) / worlds))


def _matched(regret: Floats, otherwise: Floats) -> Floats:
    total = regret.sum(axis=-1, keepdims=True)
    return np.where(total > 0, regret / np.where(total > 0, total, 1.0), otherwise)
