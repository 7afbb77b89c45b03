"""Compiled checks of what a game wrote in one step; see `inspection`."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE

(FINE, BAD_OBS, BAD_ID, BAD_PRIVILEGED, BAD_REWARD, BAD_SIGNAL, EMPTY_MASK, BAD_RESULT, BOTH_ENDS, BAD_FAULT, BAD_FINAL,
 TOO_LONG, RESTING_ACTS) = range(13)  # fmt: skip


@CORE.kernel
def all_finite(values):
    """Whether an array holds neither NaN nor infinity: x − x is 0 for every other number.

    Counting is vectorised where a sum of floats, whose order matters, would not be.
    """
    row = values.ravel()
    found = 0
    for i in range(row.size):
        found += row[i] - row[i] != 0.0
    return found == 0


@CORE.kernel
def find_violations(count, obs, privileged, mask, acting, reward, signals, ended, truncated, result, final_obs,
              final_privileged, faults, resting, clock, max_steps, vocab, needed, head_start, last_fault,
              verdict):  # fmt: skip
    """Write the first thing that is wrong with each of the first `count` rows into `verdict` [M]; returns how many.

    vocab [D]: 0, or the number of ids of an id feature; needed [H]: head without fallback; clock [M]: steps that each
    row's match has been played, this one included.
    """
    found = 0
    seats = obs.shape[1]
    for m in range(count):
        code = FINE
        over = ended[m] or truncated[m]
        if not all_finite(obs[m]):
            code = BAD_OBS
        elif not all_finite(reward[m]):
            code = BAD_REWARD
        elif not all_finite(signals[m]):
            code = BAD_SIGNAL
        elif not all_finite(privileged[m]):
            code = BAD_PRIVILEGED
        elif ended[m] and truncated[m]:
            code = BOTH_ENDS
        elif faults[m] < 0 or faults[m] > last_fault:
            code = BAD_FAULT
        elif truncated[m] and not (all_finite(final_obs[m]) and all_finite(final_privileged[m])):
            code = BAD_FINAL
        elif not over and faults[m] == 0 and clock[m] > max_steps:
            code = TOO_LONG
        if code == FINE and over and faults[m] == 0:
            for s in range(seats):
                if result[m, s] < -1 or result[m, s] > 1:
                    code = BAD_RESULT
        if code == FINE:
            for s in range(seats):
                if resting[m] and acting[m, s]:
                    code = RESTING_ACTS
                if not acting[m, s]:
                    continue
                for d in range(vocab.size):
                    if vocab[d] > 0:
                        value = obs[m, s, d]
                        if value < 0 or value >= vocab[d] or value != np.floor(value):
                            code = BAD_ID
                for h in range(needed.size):
                    legal = False
                    for a in range(head_start[h], head_start[h + 1]):
                        legal = legal or mask[m, s, a]
                    if needed[h] and not legal:
                        code = EMPTY_MASK
        verdict[m] = code
        found += code != FINE
    return found
