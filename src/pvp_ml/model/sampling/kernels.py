"""The compiled half of `sampling`: plain loops over rows, heads and columns."""

from functools import partial

import numpy as np

from pvp_ml.compiled.kernel_set import CORE
from pvp_ml.compiled.kernels import mix

ALL, ANY, NONE = 0, 1, 2
inlined = partial(CORE.kernel, forceinline=True)
"""A call with a dozen arrays costs more than the few columns that it looks at."""


@inlined
def rules_hold(a, rule_start, rule_kind, pick_start, pick_column, picked):
    """Whether every rule of column a holds for the columns marked in `picked` [A]."""
    for r in range(rule_start[a], rule_start[a + 1]):
        hits = 0
        for p in range(pick_start[r], pick_start[r + 1]):
            hits += picked[pick_column[p]]
        if rule_kind[r] == ALL and hits != pick_start[r + 1] - pick_start[r]:
            return False
        if rule_kind[r] == ANY and hits == 0:
            return False
        if rule_kind[r] == NONE and hits != 0:
            return False
    return True


@inlined
def mark_legal(b, h, offset, fallback, rule_start, rule_kind, pick_start, pick_column, mask, picked, legal):
    """Write the legal columns of head h into row b of `legal` [B,A]; returns how many there are."""
    count = 0
    for a in range(offset[h], offset[h + 1]):
        ok = mask[b, a]
        if ok and rule_start[a] < rule_start[a + 1]:
            ok = rules_hold(a, rule_start, rule_kind, pick_start, pick_column, picked)
        legal[b, a] = ok
        count += ok
    if count == 0 and fallback[h] >= 0:
        legal[b, fallback[h]] = True
        count = 1
    return count


@CORE.kernel
def choose(offset, fallback, rule_start, rule_kind, pick_start, pick_column, first, last, logits, table, mask, noise,
           greedy, actions, log_prob, legal):  # fmt: skip
    """Heads first…last of every row; see `sampling.choose`."""
    empty_row = -1
    columns = offset[-1]
    picked = np.zeros(columns, np.uint8)
    scores = np.zeros(columns, np.float32)
    has_table = table.shape[0] > 0
    for b in range(logits.shape[0]):
        picked[:] = 0
        for h in range(first):
            picked[offset[h] + actions[b, h]] = 1
        total = 0.0 if first == 0 else np.float64(log_prob[b])  # float64: a sum over many heads loses no digits
        for a in range(columns):
            scores[a] = logits[b, a]
        noisy = np.float32(0.0) if greedy[b] else np.float32(1.0)
        for h in range(first, last):
            low, high = offset[h], offset[h + 1]
            count = mark_legal(
                b, h, offset, fallback, rule_start, rule_kind, pick_start, pick_column, mask, picked, legal
            )
            if count == 0:
                legal[b, low] = True
                if empty_row < 0:
                    empty_row = b
            best = -1  # the first legal column, until one is better: scores that are no numbers never are
            best_value = np.float32(-np.inf)
            top = np.float32(-np.inf)
            for a in range(low, high):
                if legal[b, a]:
                    top = max(top, scores[a])
                    value = scores[a] + noisy * noise[b, a]
                    if best < 0 or value > best_value:
                        best, best_value = a, value
            if count > 1:
                mass = np.float32(0.0)
                for a in range(low, high):
                    if legal[b, a]:
                        mass += np.exp(scores[a] - top)
                total += scores[best] - top - np.log(mass)
            actions[b, h] = best - low
            picked[best] = 1
            if has_table:
                for a in range(high, columns):
                    scores[a] += table[best, a]
        log_prob[b] = total
    return empty_row


@CORE.kernel
def legal_given(offset, fallback, rule_start, rule_kind, pick_start, pick_column, mask, actions, legal):
    """See `sampling.legal_given`."""
    picked = np.zeros(offset[-1], np.uint8)
    for b in range(mask.shape[0]):
        picked[:] = 0
        for h in range(fallback.shape[0]):
            mark_legal(b, h, offset, fallback, rule_start, rule_kind, pick_start, pick_column, mask, picked, legal)
            picked[offset[h] + actions[b, h]] = 1


@CORE.kernel
def gumbel_noise(keys, mask, out):
    """See `sampling.gumbel_noise`. The uniform is never 0 or 1, so the noise is finite."""
    for b in range(out.shape[0]):
        for a in range(out.shape[1]):
            if mask[b, a]:
                bits = mix(keys[b] + np.uint64(a)) >> np.uint64(40)
                uniform = (np.float64(bits) + 0.5) * 2.0**-24
                out[b, a] = -np.log(-np.log(uniform))
            else:
                out[b, a] = 0.0
