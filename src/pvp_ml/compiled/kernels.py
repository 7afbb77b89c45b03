"""Randomness by key, compiled: see `chance`."""

import numpy as np

from pvp_ml.chance import FIRST, GOLDEN, SECOND
from pvp_ml.compiled.kernel_set import CORE


@CORE.kernel
def mix(x):
    """The SplitMix64 output for state x: neighbouring numbers in, unrelated 64-bit numbers out."""
    x = np.uint64(x) + np.uint64(GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))


@CORE.kernel
def row_keys(seed, clock, out):
    """Noise keys [M,S] that depend on the match's seed [M], its own clock [M] and the seat alone."""
    for m in range(out.shape[0]):
        base = mix(np.uint64(seed[m]) ^ mix(np.uint64(clock[m]) + np.uint64(0xA24BAED4963EE407)))
        for s in range(out.shape[1]):
            out[m, s] = mix(base + np.uint64(s))
