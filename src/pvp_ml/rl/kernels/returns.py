"""Discounted returns, compiled. A lane is one seat of one match slot over the steps of a rollout."""

from pvp_ml.compiled.kernel_set import CORE


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
