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
def gather_embedded(obs, start, count, width, columns, table, out, place):
    """Into out [B·count, place…]: the table's rows that the ids in these columns name, side by side."""
    size = table.shape[1]
    for b in range(obs.shape[0]):
        for r in range(count):
            at = start + r * width
            for c in range(columns.shape[0]):
                row = int(obs[b, at + columns[c]])
                for k in range(size):
                    out[b * count + r, place + c * size + k] = table[row, k]


@CORE.kernel
def scatter_embedded(obs, start, count, width, columns, by_table, by_rows, place):
    """The reverse: what by_rows [B·count, …] says of each embedding is added to by_table."""
    size = by_table.shape[1]
    for b in range(obs.shape[0]):
        for r in range(count):
            at = start + r * width
            for c in range(columns.shape[0]):
                row = int(obs[b, at + columns[c]])
                for k in range(size):
                    by_table[row, k] += by_rows[b * count + r, place + c * size + k]
