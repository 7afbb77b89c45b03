"""Where rows and the trunk's output meet, compiled: see `policy.pointing`.

The inner loops run over views of single rows: they were five times as fast as with all indices.
"""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def meet(projected, first, heard, place, bias, hidden):
    """Into hidden [B,K,U]: rows projected [B,…,U] from `first` on + heard [B, place…] + bias [U], rectified."""
    for b in range(hidden.shape[0]):
        context = heard[b, place : place + hidden.shape[2]]
        for i in range(hidden.shape[1]):
            rows, out = projected[b, first + i], hidden[b, i]
            for k in range(hidden.shape[2]):
                x = rows[k] + context[k] + bias[k]
                out[k] = np.float32(0.0) if x < 0.0 else x


@CORE.kernel
def part_slopes(by_hidden, hidden, first, by_projected, by_heard, place):
    """The reverse: slopes where hidden [B,K,U] is above 0, added to by_projected, and their sums into by_heard."""
    for b in range(hidden.shape[0]):
        sums = by_heard[b, place : place + hidden.shape[2]]
        sums[:] = np.float32(0.0)
        for i in range(hidden.shape[1]):
            above, slopes, rows = hidden[b, i], by_hidden[b, i], by_projected[b, first + i]
            for k in range(hidden.shape[2]):
                slope = np.float32(0.0) if above[k] <= 0.0 else slopes[k]
                rows[k] += slope
                sums[k] += slope
