"""Two things people add to what a trainee sees and earns: noise on chosen features, and pay for unusual sights."""

from __future__ import annotations

import difflib

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.forward import inverse_deviation
from pvp_ml.match import FloatArray
from pvp_ml.rl.policy import Policy
from pvp_ml.rl.ppo_config import PpoConfig
from pvp_ml.rl.rollout import Rollout
from pvp_ml.rl.schedule import Progress
from pvp_ml.spec import Interface


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


def noise_deviations(interface: Interface, config: PpoConfig, progress: Progress) -> FloatArray | None:
    """[D] deviations of the noise on each feature, or None when there is none."""
    if not config.observation_noise:
        return None
    names = [feature.name for feature in interface.features]
    deviation = np.zeros(len(names), np.float32)
    for name, schedule in config.observation_noise.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean '{close[0]}'?" if close else "see `pvp-ml game show`"
            raise UserError(f"ppo.observation_noise: there is no feature '{name}'", hint)
        for i, feature in enumerate(interface.features):
            if feature.name == name:
                if feature.kind == "id":
                    raise UserError(f"ppo.observation_noise: '{name}' is an id", "noise fits numbers and flags")
                deviation[i] = schedule.at(progress)
    return deviation if deviation.any() else None
