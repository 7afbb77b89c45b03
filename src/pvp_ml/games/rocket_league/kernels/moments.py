"""The compiled half of `derived_state.Memory`: what changed in one step, seat by seat.

M matches, S seats. Facts are those of `derived_state.Facts`, memories those of `Memory`, which are moved on in place.
"""

import numpy as np

from pvp_ml.games.rocket_league.kernels.pads import ARENAS

# rows of the events [10,M,S]
TOUCH, MINE, SCORER, OWN_GOAL, NEW_DEMOED, LANDED, TURTLED, RECOVERED, STAYED, FLIP_RESET = range(10)
EVENTS = 10
# rows of the amounts [4,M,S]
SCORED, CONCEDED, GAINED, SPENT = range(4)
AMOUNTS = 4


@ARENAS.kernel
def permit(acting, may_jump, may_boost, needs_jump, needs_boost, mask):
    """Fill mask [N,S,A]: legal choices of the seats that act [N,S], by what they may do [N,S] and rows need [A]."""
    for n in range(mask.shape[0]):
        for s in range(mask.shape[1]):
            row, acts, jump, boost = mask[n, s], acting[n, s], may_jump[n, s], may_boost[n, s]
            for a in range(len(row)):
                row[a] = acts and (jump or not needs_jump[a]) and (boost or not needs_boost[a])


@ARENAS.kernel
def _turtle(is_turtled, upright, clock, window):
    """One window at a time per seat: (began, recovered, stayed, steps on the roof, the clock from now on)."""
    began = is_turtled and clock == 0
    clock = clock + 1 if began or clock > 0 else min(clock + 1, 0)
    recovered = clock > 0 and upright
    stayed = clock >= window and not upright
    return began, recovered, stayed, clock, -window if recovered or stayed else clock


@ARENAS.kernel
def compare(now, past, team, last, rise, jump, limits, events, amounts, recovery_steps):
    """Fill events [10,M,S], amounts [4,M,S] and recovery_steps [M,S]; move `past` on.

    now = (touching, on_ground, demoed, has_flip, turtled, boost, roof_z, position, distance); past = (touching,
    on_ground, demoed, has_flip, boost, streak, air_steps, steps_since_jump, turtle_clock, untouched_steps); last [M]:
    the seat that touched last; rise [M,2]: goals of this step; limits = (never, turtle window, upright roof_z, reset
    gap, low [3], high [3]).
    """
    touching, on_ground, demoed, has_flip, turtled, boost, roof_z, position, distance = now
    was_touching, was_on_ground, was_demoed, had_flip, old_boost, streak, air_steps, since_jump, clocks, untouched = (
        past
    )
    never, window, upright_z, gap, low, high = limits
    seats = len(team)
    for m in range(len(last)):
        is_touched = is_new = False
        for s in range(seats):
            is_touched |= touching[m, s]
            is_new |= touching[m, s] and not was_touching[m, s]
        untouched[m] = 0 if is_touched else untouched[m] + 1
        for s in range(seats):
            touch, mine = touching[m, s] and not was_touching[m, s], last[m] == s
            scored, conceded = rise[m, team[s]], rise[m, 1 - team[s]]
            kept = 0 if is_new and not mine else streak[m, s]
            streak[m, s] = kept + (touch and mine)
            ground = on_ground[m, s]
            air_steps[m, s] = 0 if ground else air_steps[m, s] + 1
            since_jump[m, s] = 0 if jump[m, s] and not ground else min(since_jump[m, s] + 1, never)
            change = np.float32(0.0) if was_demoed[m, s] and not demoed[m, s] else boost[m, s] - old_boost[m, s]
            upright = ground and roof_z[m, s] > upright_z
            began, recovered, stayed, steps, clocks[m, s] = _turtle(turtled[m, s], upright, clocks[m, s], window)
            back = has_flip[m, s] and not had_flip[m, s] and distance[m, s] < gap
            for i in range(3):
                back = back and low[i] < position[m, s, i] < high[i]
            events[TOUCH, m, s], events[MINE, m, s] = touch, mine
            events[SCORER, m, s], events[OWN_GOAL, m, s] = mine and scored > 0.0, mine and conceded > 0.0
            events[NEW_DEMOED, m, s] = demoed[m, s] and not was_demoed[m, s]
            events[LANDED, m, s] = ground and not was_on_ground[m, s]
            events[TURTLED, m, s], events[RECOVERED, m, s], events[STAYED, m, s] = began, recovered, stayed
            events[FLIP_RESET, m, s] = back
            amounts[SCORED, m, s], amounts[CONCEDED, m, s] = scored, conceded
            amounts[GAINED, m, s] = max(change, np.float32(0.0))
            amounts[SPENT, m, s] = max(-change, np.float32(0.0))
            recovery_steps[m, s] = steps if recovered else 0
        for s in range(seats):
            was_touching[m, s], was_on_ground[m, s] = touching[m, s], on_ground[m, s]
            was_demoed[m, s], had_flip[m, s], old_boost[m, s] = demoed[m, s], has_flip[m, s], boost[m, s]
