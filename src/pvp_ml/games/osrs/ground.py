"""The ground of the fights as arrays: where nobody can stand, and how much room is around a tile.

Read once at import from data/ground.json, one bit a tile, then read-only. x grows east, y north. The compiled kernels
freeze these arrays, so jit.py stamps their cache with a hash of this file and of the data.
"""

from __future__ import annotations

import base64
import json
import zlib
from importlib import resources

import numpy as np
import numpy.typing as npt

MOST = 15
"""Room and straight walks are counted up to this, half a byte each; longer walks are tested tile by tile."""
WORD = 32
"""Tiles in one word of WORDS."""


def _read() -> tuple[tuple[int, int], tuple[int, int, int, int], npt.NDArray[np.bool_]]:
    """(south-west tile, wilderness as x, x, y, y inclusive, blocked [height,width])."""
    ground = json.loads(resources.files("pvp_ml.games.osrs").joinpath("data", "ground.json").read_bytes())
    width, height = ground["size"]
    packed = np.frombuffer(zlib.decompress(base64.b64decode(ground["bits"])), np.uint8).reshape(height, width // 8)
    return tuple(ground["origin"]), tuple(ground["wilderness"]), np.unpackbits(packed, axis=1, bitorder="little") > 0


def _room(closed: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Chebyshev distance of each tile to the nearest closed one, at most MOST; past the edge all is closed."""
    room = np.zeros(closed.shape, np.uint8)
    open_ = ~closed
    for _ in range(MOST):
        room += open_
        padded = np.pad(open_, 1)
        rows = padded[:-2] & padded[1:-1] & padded[2:]
        open_ = rows[:, :-2] & rows[:, 1:-1] & rows[:, 2:]
    return room


def _straight(closed: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Steps of the longest straight walk from each tile to the west, east, south or north, at most MOST."""
    longest = np.zeros(closed.shape, np.uint8)
    open_ = np.pad(~closed, MOST)
    height, width = closed.shape
    for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        steps, goes_on = np.zeros(closed.shape, np.uint8), np.ones(closed.shape, np.bool_)
        for k in range(1, MOST + 1):
            goes_on &= open_[MOST + k * dy : MOST + k * dy + height, MOST + k * dx : MOST + k * dx + width]
            steps += goes_on
        np.maximum(longest, steps, out=longest)
    return longest


def _by_squares(counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The least of every square of 2 × 2 tiles."""
    return np.asarray(counts.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).min(axis=(1, 3)))


def _wild() -> npt.NDArray[np.bool_]:
    low_x, high_x, low_y, high_y = WILDERNESS
    inside = np.zeros(BLOCKED.shape, np.bool_)
    inside[low_y - ORIGIN_Y : high_y + 1 - ORIGIN_Y, low_x - ORIGIN_X : high_x + 1 - ORIGIN_X] = True
    return inside


(ORIGIN_X, ORIGIN_Y), WILDERNESS, BLOCKED = _read()
LOW_X, HIGH_X, LOW_Y, HIGH_Y = WILDERNESS
HEIGHT, WIDTH = BLOCKED.shape

WORDS = np.packbits(BLOCKED, axis=1, bitorder="little").view("<u4").astype(np.uint32)
"""[HEIGHT,WIDTH / WORD]: bit k of word w is the tile ORIGIN_X + WORD × w + k; 1 = blocked."""

SPACE = _by_squares(_room(BLOCKED | ~_wild())) | _by_squares(_straight(BLOCKED | ~_wild())) << 4
"""[HEIGHT / 2,WIDTH / 2] uint8, by squares of 2 × 2 tiles. Low half: all nearer tiles are free and in the wilderness.
High half: so many steps straight to the west, east, south or north are, too; towards which of them is not said."""
