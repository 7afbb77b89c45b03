"""Masks computed again from observations: what can be tested of a fight whose state was not recorded.

A seat's observation tells its levels, supplies and timers, and with them every mask but those of movement, which follow
from places that it does not show. So the fighters are rebuilt from the observation and handed to the mask kernels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.read import Fight
from pvp_ml.games.osrs.conformance.replay import config_of
from pvp_ml.games.osrs.game import template
from pvp_ml.games.osrs.kernels import fighter as fighter_kernels
from pvp_ml.games.osrs.kernels import observe as observe_kernels

FOOD = 20
SHOWN = (*range(FOOD), *range(FOOD + 1, 27), *range(39, 45))
"""Mask bits that follow from the observation; the food's does too unless it is a shark, which nobody counts (26)."""
COUNTS = {
    22: S.KIND_RANGING,
    23: S.KIND_COMBAT,
    24: S.KIND_RESTORE,
    25: S.KIND_BREW,
    26: S.KIND_ANGLERFISH,
    27: S.KIND_KARAMBWAN,
}
TIMERS = {29: S.T_FREEZE, 39: S.T_ATTACK, 40: S.T_FOOD, 41: S.T_POTION, 42: S.T_KARAMBWAN, 166: S.T_VENG}


@dataclass(slots=True)
class MasksReport:
    """Mask rows of fights without state: how many, how many came out equal, and which bits did not."""

    fights: int = 0
    rows: int = 0
    equal: int = 0
    bits: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)


def fighter_of(obs: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """The fighter of an observation [176] at tick 0, as far as masks look at it."""
    me = np.zeros(S.FIGHTER_SIZE, np.int32)
    me[S.BASE : S.BASE + 7] = np.rint(obs[96:103])
    tops = me[S.BASE : S.BASE + 7].copy()
    for skill in (S.ATTACK, S.STRENGTH, S.DEFENCE):
        tops[skill] += fighter_kernels.combat_boost(int(tops[skill]))
    tops[S.RANGED] += fighter_kernels.ranging_boost(int(tops[S.RANGED]))
    me[S.LEVEL : S.LEVEL + 7] = np.rint(obs[[35, 34, 36, 37, 38, 28, 10]] * tops)
    for place, kind in COUNTS.items():
        me[S.COUNT + kind] = round(obs[place])
    for place, timer in TIMERS.items():
        me[timer] = round(obs[place]) + 1
    me[S.SPELLBOOK] = S.LUNAR if obs[164] else S.ANCIENT
    return me


def masks_of(obs: npt.NDArray[np.float64], match: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """The 45 mask bits of an observation; only those of SHOWN mean anything, and FOOD if no shark may be there."""
    me, opp, mask = fighter_of(obs), np.zeros(S.FIGHTER_SIZE, np.int32), np.zeros(45, np.bool_)
    opp[S.T_ATTACK] = round(obs[44]) + 1
    seen = obs.astype(np.float32)
    observe_kernels.mask_attacks(me, match, seen, mask)
    observe_kernels.mask_supplies(me, opp, match, mask)
    observe_kernels.mask_overheads(me, opp, match, seen, mask)
    return mask


def check_masks(fight: Fight, bit_names: list[str], report: MasksReport) -> None:
    """Add one NH fight to the report. The terminal reply's masks belong to a later tick, so it is left out."""
    match = template(config_of(fight), {}, False)
    match[S.FIGHT_TYPE] = match[S.FIGHT_RULE]
    report.fights += 1
    for side in fight.sides:
        for row in range(len(side.obs) - (1 if side.ended else 0)):
            wrong = side.mask[row] != masks_of(side.obs[row], match)
            checked = [*SHOWN, FOOD] if side.obs[row, 175] else SHOWN
            found = [bit for bit in checked if wrong[bit]]
            report.rows += 1
            report.equal += not found
            for bit in found:
                report.bits[bit_names[bit]] += 1
                report.first.setdefault(bit_names[bit], f"{fight.place}, tick {int(side.ticks[row])}")
