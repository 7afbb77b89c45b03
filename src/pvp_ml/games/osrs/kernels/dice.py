"""Dice of a match: a counter-based generator keyed by the plan's seed, and the hook that forces recorded rolls.

A draw is a function of (key, number of draws so far), so a match plays the same in any row, batch or process. All
arithmetic stays in the low 32 bits of Python / int64 integers: compiled and interpreted code give the same numbers.

Forced dice: `dice` is int32 [CHANNELS, 1 + n] for one match. Column 0 counts the values taken; a value FREE, or a
channel that has run out, falls back to the generator. Free play passes an array of shape (0, 0).
"""

from __future__ import annotations

import hashlib

import numpy as np

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.jit import kernel

MASK = 0xFFFFFFFF


def keys_of(seed: int) -> tuple[int, int]:
    """Two int32 keys for any whole seed; close seeds give unrelated keys."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=8).digest()
    first, second = (int.from_bytes(digest[i : i + 4], "little", signed=True) for i in (0, 4))
    return first, second


@kernel
def mix(x):
    """Scramble 32 bits so that each input bit moves each output bit."""
    x ^= x >> 16
    x = (x * 0x7FEB352D) & MASK
    x ^= x >> 15
    x = (x * 0x846CA68B) & MASK
    return x ^ (x >> 16)


@kernel
def bits(match):
    """The next 32 random bits of the match."""
    count = int(match[S.DRAWS])
    match[S.DRAWS] = count + 1
    x = mix(((count * 0x9E3779B9) & MASK) ^ (int(match[S.KEY0]) & MASK))
    return mix((x + int(match[S.KEY1])) & MASK)


@kernel
def below(match, bound):
    """A uniform whole number in [0, bound)."""
    return (bits(match) * int(bound)) >> 32


@kernel
def uniform(match):
    """A uniform number in [0, 1), 32 bits fine."""
    return np.float64(bits(match)) * (1.0 / 4294967296.0)


@kernel
def forced(dice, channel):
    """The next forced value of a channel, or FREE."""
    if dice.shape[0] == 0:
        return S.FREE
    taken = dice[channel, 0] + 1
    if taken >= dice.shape[1]:
        return S.FREE
    dice[channel, 0] = taken
    return int(dice[channel, taken])
