"""Whole fights with random legal actions inside one kernel, and what happened in them; for conformance only."""

from __future__ import annotations

import numpy as np

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.dice import below
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.observe import observe_dharok, observe_nh
from pvp_ml.games.osrs.kernels.tick import RUNNING, play_tick

FIRST_CHOICE = np.array([0, 4, 7, 10, 14, 19, 21, 23, 25, 27, 32, 39, 45], np.int64)
FIRST_CHOICE_DHAROK = np.array([0, 4, 8, 10, 12, 14, 17], np.int64)

# Columns of a fight's tally: ticks, then per style attacks, damaging attacks and damage, then freezes.
TICKS, ATTACKS, DAMAGING, DAMAGE, FREEZES = 0, 1, 4, 7, 10
TALLY = 11


@kernel
def pick_legal(match, mask, first, last):
    """A uniformly drawn legal choice of mask[first:last], counted from `first`; 0 when none is legal."""
    count = 0
    for k in range(first, last):
        count += 1 if mask[k] else 0
    if count == 0:
        return 0
    chosen = below(match, count)
    for k in range(first, last):
        if mask[k]:
            if chosen == 0:
                return k - first
            chosen -= 1
    return 0


@kernel
def pick_after(match, mask, first, last, wanted):
    """A head whose choice 0 belongs to "not wanted" and whose others to "wanted"."""
    if not wanted:
        return 0
    count = 0
    for k in range(first + 1, last):
        count += 1 if mask[k] else 0
    return 1 + pick_legal(match, mask, first + 1, last) if count > 0 else 0


@kernel
def act_randomly(match, mask, action, dharok):
    """Uniform among what mask and dependencies leave, head by head."""
    starts = FIRST_CHOICE_DHAROK if dharok else FIRST_CHOICE
    for h in range(starts.shape[0] - 1):
        first, last = starts[h], starts[h + 1]
        if dharok or not (1 <= h <= 3 or h == 8 or h == 10):
            action[h] = pick_legal(match, mask, first, last)
        elif h == 8:
            action[h] = pick_after(match, mask, first, last, action[0] == 0)
        elif h == 10:
            action[h] = pick_after(match, mask, first, last, action[9] == 3)
        else:
            action[h] = pick_after(match, mask, first, last, action[0] == 4 - h)


@kernel
def tally_tick(fighters, frozen, tally):
    """Add one tick to the tally [TALLY]; `frozen` [2] holds the freeze timers seen so far."""
    tally[TICKS] += 1
    for seat in range(2):
        me = fighters[seat]
        style = me[S.TICK_STYLE] - 1
        if style >= 0:
            tally[ATTACKS + style] += 1
            tally[DAMAGE + style] += me[S.TICK_GENERATED]
            tally[DAMAGING + style] += 1 if me[S.TICK_GENERATED] > 0 else 0
        if me[S.T_FREEZE] != frozen[seat]:
            frozen[seat] = me[S.T_FREEZE]
            tally[FREEZES] += 1


@kernel
def play_fight(fighters, match, drained, obs, mask, actions, dice, hit, frozen, tally, dharok):
    """Play a started match with random legal actions to its end; actions [2,H], dice [0,0], hit, frozen are scratch."""
    for seat in range(2):
        frozen[seat] = fighters[seat, S.T_FREEZE]
    outcome = RUNNING
    while outcome == RUNNING:
        for seat in range(2):
            if dharok:
                observe_dharok(fighters[seat], fighters[1 - seat], match, obs, mask)
            else:
                observe_nh(fighters[seat], fighters[1 - seat], match, obs, mask)
            act_randomly(match, mask, actions[seat], dharok)
        outcome = play_tick(fighters, match, drained, actions, dice, hit, dharok)
        tally_tick(fighters, frozen, tally)
    return outcome
