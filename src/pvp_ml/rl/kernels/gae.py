"""Advantages over lanes with gaps, compiled. A lane is one seat of one match slot over the steps of a rollout."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE

ENDED, TRUNCATED, VOID = 1, 2, 3
NO_ROW, CLOSED, OPEN = 0, 1, 2


@CORE.kernel
def lane_advantages(
    steps, owner, seated, value, reward, end, final_value, scale, limit, gamma, decay, advantage, state, collected
):
    """Generalised advantage estimation per seat, counting only the seat's own decisions.

    steps [M] filled steps per match slot (index `steps[m]` holds the next observation); owner [T+1,M,S] the trainee
    that decides there, or −1; seated [T,M,S] the trainee that holds the seat, deciding or not; value [T+1,M,S]; reward
    [T,M,S] what step t paid (index 0, carried rows: already scaled); end [T,M] 0, ENDED, TRUNCATED or VOID;
    final_value [T,M,S] value of the final observation where truncated. Per trainee, in float64: scale of rewards, limit
    of a step's scaled reward, gamma, and decay = gamma·lambda. Sums run in float64, so that a long lane is as exact as
    its float32 result.

    Writes advantage [T,M,S], state [T,M,S] (CLOSED: a training row; OPEN: its next decision lies beyond this rollout;
    NO_ROW: nothing, or a void match) and collected [T,M,S]: for an OPEN row, the reward it has gathered so far.
    """
    slots, seats = owner.shape[1], owner.shape[2]
    for m in range(slots):
        last = steps[m]
        for s in range(seats):
            state[last:, m, s] = NO_ROW
            is_open = owner[last, m, s] < 0
            is_void = False
            next_value = np.float64(value[last, m, s])
            next_advantage = 0.0
            pending = 0.0
            for t in range(last - 1, -1, -1):
                if end[t, m] != 0:
                    is_open = False
                    is_void = end[t, m] == VOID
                    next_value = np.float64(final_value[t, m, s]) if end[t, m] == TRUNCATED else 0.0
                    next_advantage = 0.0
                    pending = 0.0
                state[t, m, s] = NO_ROW
                holder = seated[t, m, s]
                if holder < 0:
                    continue
                paid = np.float64(reward[t, m, s])
                pending += min(max(paid * scale[holder], -limit[holder]), limit[holder]) if t > 0 else paid
                k = owner[t, m, s]
                if k < 0:
                    continue
                if is_open:
                    state[t, m, s] = OPEN
                    collected[t, m, s] = pending
                    next_advantage = 0.0
                    is_open = False
                elif not is_void:
                    state[t, m, s] = CLOSED
                    delta = pending + gamma[k] * next_value - value[t, m, s]
                    next_advantage = delta + decay[k] * next_advantage
                    advantage[t, m, s] = next_advantage
                next_value = np.float64(value[t, m, s])
                pending = 0.0
