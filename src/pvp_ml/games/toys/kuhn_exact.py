"""Kuhn poker solved by enumeration: the value of a pair of strategies, and how far they are from equilibrium."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.toys.kuhn import BETTED, OPEN, PASSED, PASSED_BETTED
from pvp_ml.match import BoolArray, FloatArray

Strategy = npt.NDArray[np.float64]
"""[4 stages, 3 cards]: chance to bet. The starter owns the stages OPEN and PASSED_BETTED, the other the rest."""

STARTER_STAGES = (OPEN, PASSED_BETTED)


def questions() -> tuple[FloatArray, BoolArray]:
    """Observations [12,6] and masks [12,2] of every decision, ordered by stage and then card: ask a policy once."""
    obs = np.zeros((4, 3, 6), np.float32)
    for stage in (OPEN, PASSED, BETTED, PASSED_BETTED):
        obs[stage, :, :3] = np.eye(3)
        obs[stage, :, 3] = stage in STARTER_STAGES
        obs[stage, :, 4] = stage in (PASSED, PASSED_BETTED)
        obs[stage, :, 5] = stage in (BETTED, PASSED_BETTED)
    return obs.reshape(12, 6), np.ones((12, 2), np.bool_)


def value(bet: Strategy) -> float:
    """Chips that the starter wins on average when both seats play `bet`."""
    return float(np.mean([_deal_value(bet, starter, other) for starter, other in permutations(range(3), 2)]))


def nash_conv(bet: Strategy) -> float:
    """What both seats together could gain by answering best; 0 is an equilibrium, uniform play gives 11/12."""
    return _best(bet, starter=True) - value(bet) + _best(bet, starter=False) + value(bet)


def _deal_value(bet: Strategy, starter: int, other: int) -> float:
    sign = 1.0 if starter > other else -1.0
    open_bet, answer = bet[OPEN, starter], bet[PASSED_BETTED, starter]
    after_pass = (1 - bet[PASSED, other]) * sign + bet[PASSED, other] * (answer * 2 * sign - (1 - answer))
    after_bet = bet[BETTED, other] * 2 * sign + (1 - bet[BETTED, other])
    return float((1 - open_bet) * after_pass + open_bet * after_bet)


def _best(bet: Strategy, starter: bool) -> float:
    """The most that one side wins on average against `bet`: its six decisions tried in all 64 ways."""
    stages = STARTER_STAGES if starter else (PASSED, BETTED)
    best = -np.inf
    for code in range(64):
        answer = bet.copy()
        answer[list(stages)] = np.array([(code >> bit) & 1 for bit in range(6)], np.float64).reshape(2, 3)
        best = max(best, value(answer) if starter else -value(answer))
    return best
