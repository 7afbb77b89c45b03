"""What makes a player more human: it reacts late, and it sees less exactly. Decided per row and step by its key."""

from __future__ import annotations

import numpy as np

from pvp_ml.chance import uniform
from pvp_ml.match import IDLE, BoolArray, FloatArray, IntArray
from pvp_ml.model.actor import Actor, Keys

_DELAY_SALT = np.uint64(0xD1B54A32D192ED03)
_GREEDY_SALT = np.uint64(0xA0761D6478BD642F)
_NOISE_SALT = np.uint64(0x8CB92BA72F3D8DD7)


def idle_when_late(actions: IntArray, delay: FloatArray, keys: Keys) -> None:
    """Rows [B,H] become IDLE with the chance `delay` [B]."""
    if delay.any():
        actions[uniform(keys ^ _DELAY_SALT, 1)[:, 0] < delay] = IDLE


def chance(share: float, keys: Keys) -> BoolArray:
    """[B] True with the chance `share`."""
    if share <= 0.0:
        return np.zeros(len(keys), np.bool_)
    return np.asarray(uniform(keys ^ _GREEDY_SALT, 1)[:, 0] < share)


def normal_noise(keys: Keys, width: int) -> FloatArray:
    """[B,width] standard normal numbers that depend on each row's key [B] alone."""
    first, second = np.split(uniform(keys ^ _NOISE_SALT, 2 * width), 2, axis=1)
    return np.asarray(np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second), np.float32)


def blur(actor: Actor, obs: FloatArray, noise: FloatArray, keys: Keys) -> FloatArray:
    """The observations [B,N] with normal noise of `noise` [B] deviations on every number that is not an id."""
    if not noise.any():
        return obs
    width = obs.shape[1]
    normal = normal_noise(keys, width)
    is_id = np.array([feature.kind == "id" for feature in actor.interface.features])
    spread = np.where(is_id, 0.0, np.sqrt(actor.statistics["obs/var"]))
    frames = width // len(spread)
    seen: FloatArray = (obs + noise[:, None] * np.tile(spread, frames) * normal).astype(np.float32)
    return seen
