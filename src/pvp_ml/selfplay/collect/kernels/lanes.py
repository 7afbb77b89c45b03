"""Compiled loops over lanes: noise keys and discounted returns."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE
from pvp_ml.model.sampling.kernels import mix


@CORE.kernel
def row_keys(seed, clock, out):
    """Noise keys [M,S] that depend on the match's seed [M], its own clock [M] and the seat alone."""
    for m in range(out.shape[0]):
        base = mix(np.uint64(seed[m]) ^ mix(np.uint64(clock[m]) + np.uint64(0xA24BAED4963EE407)))
        for s in range(out.shape[1]):
            out[m, s] = mix(base + np.uint64(s))


@CORE.kernel
def discounted_returns(first, steps, seated, reward, end, gamma, running, returns):
    """Reward collected so far, discounted towards now, in lanes where a trainee sits.

    running [M,S] continues from the rollout before; returns [T+1,M,S] receives it after each step; gamma per trainee. A
    match's end clears its lanes.
    """
    for m in range(running.shape[0]):
        for t in range(first, steps[m]):
            for s in range(running.shape[1]):
                k = seated[t, m, s]
                if k >= 0:
                    running[m, s] = gamma[k] * running[m, s] + reward[t, m, s]
                    returns[t, m, s] = running[m, s]
                if end[t, m] != 0:
                    running[m, s] = 0.0
