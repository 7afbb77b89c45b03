"""Pay for unusual sights."""

from __future__ import annotations

import numpy as np

from pvp_ml.match import FloatArray
from pvp_ml.model.actor import inverse_deviation
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rollout import Rollout


def novelty(policy: Policy, obs: FloatArray) -> FloatArray:
    """Σ max(0, |x̂| − 1) of obs […,D] over features that are neither ids nor constant; x̂ is normalised and clipped."""
    counts = np.array([f.kind != "id" and not f.constant for f in policy.interface.features])
    mean, var = policy.normalizer["obs/mean"], policy.normalizer["obs/var"]
    seen = np.abs((obs - mean) * inverse_deviation(var))
    beyond = np.clip(seen, 1.0, policy.network.clip) - 1.0
    return np.asarray(beyond[..., counts].sum(axis=-1), np.float32)


def add_novelty(rollout: Rollout, owner: int, policy: Policy, coefficient: float) -> float:
    """Add the novelty of what each step led to, within the match, to the step's reward; returns the sum added.

    Nothing is paid before the observation statistics have seen anything.
    """
    if policy.normalizer["obs/count"][0] < 1.0:
        return 0.0
    paid = 0.0
    for t in range(1, rollout.shape.steps + 1):
        led_on = (rollout.seated[t] == owner) & (rollout.end[t] == 0)[:, None] & (t < rollout.length)[:, None]
        if led_on.any():
            extra = coefficient * novelty(policy, rollout.obs[t + 1][led_on])
            rollout.reward[t][led_on] += extra
            paid += float(extra.sum(dtype=np.float64))
    return paid
