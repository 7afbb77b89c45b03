"""The passes between a plain network's matrix products, compiled: one pass where numpy needs two or three.

NaN stays NaN in all of them, so that a broken network is noticed and not hidden.
"""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def normalise(source, mean, scale, limit, out, start):
    """out[i, start+j] = (source[i,j] − mean[j]) · scale[j], held within ± limit[j]; source [B,D] float32.

    The mean is taken off before scaling: a constant feature becomes exactly 0.
    """
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            x = (source[i, j] - mean[j]) * scale[j]
            x = limit[j] if x > limit[j] else x
            out[i, start + j] = -limit[j] if x < -limit[j] else x


@CORE.kernel
def gather_normal(source, index, mean, scale, limit, out, start):
    """As `normalise` for the rows `index` [B] of source [R,D]."""
    for i in range(index.shape[0]):
        row = index[i]
        for j in range(source.shape[1]):
            x = (source[row, j] - mean[j]) * scale[j]
            x = limit[j] if x > limit[j] else x
            out[i, start + j] = -limit[j] if x < -limit[j] else x


@CORE.kernel
def add_bias_relu(y, bias):
    """Rectify in place: max(0, y + bias) of y [B,W]."""
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            x = y[i, j] + bias[j]
            y[i, j] = np.float32(0.0) if x < 0.0 else x


@CORE.kernel
def pool(items, out, start):
    """Mean and largest of the K repetitions of items [B,K,W]: out[:, start:start+W] and the W columns after them."""
    width = items.shape[2]
    for i in range(items.shape[0]):
        for j in range(width):
            total = largest = items[i, 0, j]
            for k in range(1, items.shape[1]):
                x = items[i, k, j]
                total += x
                largest = x if x > largest or x != x else largest
            out[i, start + j] = total / np.float32(items.shape[1])
            out[i, start + width + j] = largest
