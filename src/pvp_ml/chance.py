"""Randomness by key: numbers that follow from a seed, a clock and a place alone (SplitMix64).

There is no state to carry, so the same match gives the same numbers in any row, next to any neighbours, after any
resume. One function in three forms: for whole numbers (`scramble`), for arrays (`scrambles`, `mix`) and compiled
(`compiled.kernels`); a test holds them together. Arithmetic wraps at 64 bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""SplitMix64: the step between states, and the two factors of its finaliser."""

_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = np.uint64(GOLDEN), np.uint64(FIRST), np.uint64(SECOND)
_30, _27, _31, _11, _16 = (np.uint64(n) for n in (30, 27, 31, 11, 16))


def scramble(*numbers: int) -> int:
    """An unrelated 64-bit number for each tuple of whole numbers."""
    state = 0
    for number in numbers:
        state = ((state ^ (number & _MASK)) + GOLDEN) & _MASK
        state = ((state ^ (state >> 30)) * FIRST) & _MASK
        state = ((state ^ (state >> 27)) * SECOND) & _MASK
        state ^= state >> 31
    return state


def scrambles(*numbers: int | Words) -> Words:
    """`scramble` for arrays [B], next to whole numbers that all of them share."""
    state = np.zeros(1, np.uint64)
    for number in numbers:
        word = np.uint64(number & _MASK) if isinstance(number, int) else number
        state = mix((state ^ word) + _GOLDEN)
    return state


def mix(words: Words) -> Words:
    """The finaliser: scramble 64-bit words one to one."""
    words = (words ^ (words >> _30)) * _FIRST
    words = (words ^ (words >> _27)) * _SECOND
    return words ^ (words >> _31)


def uniform(keys: Words, count: int) -> npt.NDArray[np.float64]:
    """[B,count] numbers in (0, 1) that depend on each row's key [B] alone."""
    places = _GOLDEN * (np.arange(count, dtype=np.uint64) + np.uint64(1))
    fractions: npt.NDArray[np.float64] = (
        (mix(np.asarray(keys, np.uint64)[:, None] + places) >> _11).astype(np.float64) + 0.5
    ) * 2.0**-53
    return fractions


def uniforms(
    seed: Words, clock: npt.NDArray[np.integer], channel: int | npt.NDArray[np.integer]
) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) for seeds and clocks of one shape; `channel` (0…65535) separates draws at the same clock.

    An array of C channels gives a last axis of C numbers.
    """
    if isinstance(channel, np.ndarray):
        seed, clock = seed[..., None], clock[..., None]
    counter = (clock.astype(np.uint64) << _16) | np.asarray(channel, np.uint64)
    words = mix(mix(seed + _GOLDEN) ^ mix(counter * _GOLDEN + _FIRST))
    return (words >> _11).astype(np.float64) * 2.0**-53
