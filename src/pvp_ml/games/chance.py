"""Random numbers that depend on a match's seed and clock alone, for many matches at once.

A counter-based generator (two rounds of the SplitMix64 finaliser over seed, clock and channel) has no state to carry:
the same match gives the same numbers in any row, next to any neighbours, after any restore.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


def mix(words: Words) -> Words:
    """Scramble 64-bit words one to one; arithmetic wraps."""
    words = (words ^ (words >> _SHIFTS[0])) * _MULTIPLY_1
    words = (words ^ (words >> _SHIFTS[1])) * _MULTIPLY_2
    return words ^ (words >> _SHIFTS[2])


def uniforms(
    seed: Words, clock: npt.NDArray[np.integer], channel: int | npt.NDArray[np.integer]
) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) for seeds and clocks of one shape; `channel` (0…65535) separates draws at the same clock.

    An array of C channels gives a last axis of C numbers.
    """
    if isinstance(channel, np.ndarray):
        seed, clock = seed[..., None], clock[..., None]
    counter = (clock.astype(np.uint64) << np.uint64(16)) | np.asarray(channel, np.uint64)
    words = mix(mix(seed + _GOLDEN) ^ mix(counter * _GOLDEN + _MULTIPLY_1))
    return (words >> _SHIFTS[3]).astype(np.float64) * 2.0**-53
