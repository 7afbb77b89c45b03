"""Reading all arenas at once, straight from RocketSim's memory.

The binding has no batched reads: it makes five new arrays per arena and an object per car, and that costs a quarter as
much as the physics (7 µs per agent-step beside 22, measured at 128 arenas). The addresses of its C++ objects stand in
its Python objects, so one compiled pass can take what it needs from where it lies. That rests on the layout of one
release, so a probe is read both ways first; when anything differs, or the release or the platform is another one,
`Addresses.find` gives None and the binding is asked instead. Nothing is ever written here.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.kernels.memory import UU, read_arenas

KNOWN_RELEASE = "2.2.1"
_WORD = 8
_FIRST = 4096  # addresses count from here: numpy takes an array at 0 for one that it should allocate
_BALL_WORD = _PAD_WORD = 4  # which word of the Python object holds the address of the C++ object
_ARENA_BYTES, _CAR_BYTES, _BALL_BYTES, _PAD_BYTES = 272, 416, 40, 40  # sizes of the Python objects

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class State:
    """What is read, as `simulator.Arenas` keeps it."""

    game: Floats  # [M,4]
    pads: Floats  # [M,2,34]
    ball: Floats  # [M,2,25]
    cars: Floats  # [M,S,2,36]
    flags: Floats  # [M,S,F]


@cache
def _space() -> tuple[npt.NDArray[Any], ...]:
    """The process's memory from _FIRST on as read-only arrays of octets, words, longs and float32."""
    kinds = (ctypes.c_uint8, 1), (ctypes.c_uint32, 4), (ctypes.c_uint64, 8), (ctypes.c_float, 4)
    arrays = tuple(np.ctypeslib.as_array((kind * ((1 << 47) // size)).from_address(_FIRST)) for kind, size in kinds)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def is_known(arena: Any, car: Any, pad: Any) -> bool:
    """Whether this is the release and the platform whose layout is known."""
    try:
        release = version("rocketsim")
    except PackageNotFoundError:
        return False
    sizes = tuple(type(thing).__basicsize__ for thing in (arena, car, arena.ball, pad))
    is_platform = sys.platform == "linux" and platform.machine() == "x86_64" and sys.implementation.name == "cpython"
    return is_platform and release == KNOWN_RELEASE and sizes == (_ARENA_BYTES, _CAR_BYTES, _BALL_BYTES, _PAD_BYTES)


def _place(thing: Any) -> int:
    """Of a Python object, counted from _FIRST."""
    return id(thing) - _FIRST


def _pointee(thing: Any, word: int) -> int:
    """What this word of a Python object points at, counted from _FIRST."""
    return int(ctypes.c_uint64.from_address(id(thing) + word * _WORD).value) - _FIRST


class Addresses:
    """Where the state of M arenas lies. Whoever owns the arenas keeps their objects alive and calls `follow`."""

    def __init__(self, arenas: Sequence[Any], pads: Sequence[Sequence[Any]], seats: int, car_word: int) -> None:
        """`car_word`: see `car_order.find_address_word`."""
        self._car_word = car_word
        self._arenas = np.array([_place(arena) for arena in arenas], np.int64)
        self._balls = np.array([_pointee(arena.ball, _BALL_WORD) for arena in arenas], np.int64)
        self._pads = np.array([[_pointee(pad, _PAD_WORD) for pad in some] for some in pads], np.int64)
        self._people = np.zeros((len(arenas), seats), np.int64)
        self._cars = np.zeros((len(arenas), seats), np.int64)
        self._now = np.array([arena.tick_count for arena in arenas], np.uint64)
        self._since = self._now.copy()

    def follow(self, match: int, cars: Sequence[Any]) -> None:
        """These are the match's cars from now on."""
        self._people[match] = [_place(car) for car in cars]
        self._cars[match] = [_pointee(car, self._car_word) for car in cars]

    def passed(self, rows: Longs, ticks: int) -> None:
        """So many ticks were simulated in these matches."""
        self._now[rows] += np.uint64(ticks)

    def read(self, rows: Longs, into: State) -> None:
        """The present state of these matches. A touch counts once, in the first reading after it."""
        at = (self._arenas, self._balls, self._pads, self._people, self._cars)
        out = (into.game, into.pads, into.ball, into.cars, into.flags)
        read_arenas(rows, _space(), at, self._since, np.float32(UU), out)
        self._since[rows] = self._now[rows]
