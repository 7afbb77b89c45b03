"""Distinguishing matches: a number for everything that was seen in a match, independent of the seats.

Two players that never draw play the same match again whenever it begins alike. A hundred such matches may be four, and
an interval over a hundred would promise too much.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.match import FloatArray

_STEP = np.uint64(0x9E3779B97F4A7C15)


class Courses:
    """The running digest of the match in each row."""

    def __init__(self, rows: int, seats: int, obs_size: int) -> None:
        self._weights = np.random.default_rng(0).integers(1, 1 << 63, seats * obs_size, np.uint64) | np.uint64(1)
        self._digest = np.zeros(rows, np.uint64)

    def begin(self, rows: npt.NDArray[np.intp]) -> None:
        """New matches in these rows."""
        self._digest[rows] = 0

    def add(self, rows: npt.NDArray[np.intp], obs: FloatArray, order: npt.NDArray[np.intp]) -> None:
        """What the seats of these rows see now [n,S,D], in the order [n,S] of the contestants, not of the seats."""
        seen = np.take_along_axis(obs, order[:, :, None], 1) + np.float32(0.0)  # −0 becomes 0
        bits = seen.reshape(len(rows), -1).view(np.uint32).astype(np.uint64)
        self._digest[rows] = self._digest[rows] * _STEP + (bits * self._weights).sum(1, dtype=np.uint64)

    def of(self, row: int) -> int:
        """The digest of the match in this row so far."""
        return int(self._digest[row])
