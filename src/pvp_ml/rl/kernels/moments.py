"""Moments of picked rows, compiled: numpy would copy the rows, and once more in float64."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def row_moments(source, index, mean, squares):
    """Mean [D] and summed squared deviation [D] of the rows `index` [B] of source [R,D], in float64; B is above 0."""
    mean[:] = 0.0
    squares[:] = 0.0
    for i in range(index.shape[0]):
        for j in range(source.shape[1]):
            mean[j] += source[index[i], j]
    mean /= np.float64(index.shape[0])
    for i in range(index.shape[0]):
        for j in range(source.shape[1]):
            off = source[index[i], j] - mean[j]
            squares[j] += off * off
