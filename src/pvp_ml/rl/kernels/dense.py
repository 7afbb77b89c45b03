"""Between the matrix products of layers and encoders, compiled: see `policy.dense`."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def cut_slopes(by_output, output, slopes, by_bias):
    """Into slopes [M,W]: by_output [M,W], 0 where the rectified output is; sums over rows are added to by_bias [W]."""
    for i in range(output.shape[0]):
        for j in range(output.shape[1]):
            slope = np.float32(0.0) if output[i, j] <= 0.0 else by_output[i, j]
            slopes[i, j] = slope
            by_bias[j] += slope


@CORE.kernel
def gather_columns(obs, start, count, width, columns, out):
    """Into out [B·count, …]: these columns of each of a block's rows in obs [B,N], side by side from column 0."""
    for b in range(obs.shape[0]):
        for r in range(count):
            at = start + r * width
            for c in range(columns.shape[0]):
                out[b * count + r, c] = obs[b, at + columns[c]]


@CORE.kernel
def add_looked_up(obs, start, count, width, columns, lookup, out):
    """To out [B·count, W]: for the id in each of C columns, a row of lookup [V, C·W], of column c its c-th part."""
    size = out.shape[1]
    for b in range(obs.shape[0]):
        for r in range(count):
            at = start + r * width
            row = out[b * count + r]
            for c in range(columns.shape[0]):
                found = lookup[int(obs[b, at + columns[c]]), c * size : (c + 1) * size]
                for k in range(size):
                    row[k] += found[k]


@CORE.kernel
def scatter_looked_up(obs, start, count, width, columns, by_lookup, by_out):
    """The reverse: by_out [B·count, W] is added to the parts of by_lookup [V, C·W] that were looked up."""
    size = by_out.shape[1]
    for b in range(obs.shape[0]):
        for r in range(count):
            at = start + r * width
            row = by_out[b * count + r]
            for c in range(columns.shape[0]):
                found = by_lookup[int(obs[b, at + columns[c]]), c * size : (c + 1) * size]
                for k in range(size):
                    found[k] += row[k]
