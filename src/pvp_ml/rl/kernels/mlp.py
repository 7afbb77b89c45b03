"""Between the matrix products of a plain network's backward pass, compiled: see `policy.mlp`."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def relu_backward(by_output, output, by_bias):
    """by_output [B,W] ← 0 where the output was cut, in place; the sums over rows are added to by_bias [W]."""
    for i in range(output.shape[0]):
        for j in range(output.shape[1]):
            slope = np.float32(0.0) if output[i, j] <= 0.0 else by_output[i, j]
            by_output[i, j] = slope
            by_bias[j] += slope


@CORE.kernel
def add_rows(rows, bias):
    """Add the sum of rows [B,C] to a bias gradient [C]."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            bias[j] += rows[i, j]


@CORE.kernel
def pool_backward(by_out, start, items, by_items):
    """The slope of `pool`: by_items [B,K,W] from the 2·W columns of by_out that begin at `start`.

    Repetitions that are the largest together share its slope, as torch has it; empty places are often alike.
    """
    count, width = items.shape[1], items.shape[2]
    for i in range(items.shape[0]):
        for j in range(width):
            largest, ties = items[i, 0, j], 1
            for k in range(1, count):
                x = items[i, k, j]
                if x > largest or x != x:
                    largest, ties = x, 1
                elif x == largest:
                    ties += 1
            mean = by_out[i, start + j] / np.float32(count)
            top = by_out[i, start + width + j] / np.float32(ties)
            for k in range(count):
                by_items[i, k, j] = mean + top if items[i, k, j] == largest else mean


@CORE.kernel
def policy_rows(log_prob, acted, advantage, clip, weight, by_log_prob, sums):
    """Clipped policy loss of rows: d(weight · loss)/d log_prob [B]; adds loss, KL estimate and clipped rows to sums.

    `acted` [B] are the log-probabilities under which the rows were acted. Where the clipped ratio is the smaller one
    nothing is learned; a ratio that is not a number stays one.
    """
    for b in range(log_prob.shape[0]):
        change = log_prob[b] - acted[b]
        ratio = np.exp(change)
        held = min(max(ratio, np.float32(1.0 - clip)), np.float32(1.0 + clip))
        free_gain, held_gain = ratio * advantage[b], held * advantage[b]
        is_held = ratio != held and free_gain >= held_gain
        by_log_prob[b] = np.float32(0.0) if is_held else -np.float32(weight) * free_gain
        sums[0] -= held_gain if is_held else free_gain
        sums[1] += ratio - np.float32(1.0) - change
        sums[2] += abs(ratio - np.float32(1.0)) > np.float32(clip)


@CORE.kernel
def value_rows(value, before, returns, limit, weight, by_value):
    """Squared error of values [B], the larger one of it and of the value held within ± limit of `before`.

    Writes d(weight · loss)/d value and returns the summed loss. An infinite limit holds nothing.
    """
    total = 0.0
    for b in range(value.shape[0]):
        error = value[b] - returns[b]
        change = value[b] - before[b]
        held = min(max(change, np.float32(-limit)), np.float32(limit))
        held_error = before[b] + held - returns[b]
        is_held = change != held and held_error * held_error > error * error
        by_value[b] = np.float32(0.0) if is_held else np.float32(2.0 * weight) * error
        total += held_error * held_error if is_held else error * error
    return total


@CORE.kernel
def win_rows(logit, won, row_weight, weight, by_logit):
    """d(weight · weighted cross entropy)/d logit [B]; rows without a label (NaN) teach nothing."""
    for b in range(logit.shape[0]):
        if np.isnan(won[b]):
            by_logit[b] = 0.0
        else:
            chance = np.float32(1.0) / (np.float32(1.0) + np.exp(-logit[b]))
            by_logit[b] = np.float32(weight) * row_weight[b] * (chance - won[b])
