"""Keeping RocketSim's cars in one order, so that equal matches give equal bits in every row and process.

The simulator updates cars in the order of a hash set of their addresses. GNU's hash set gives new elements first, but
one that shares a bucket (address modulo 13) with an older one stands next to that one instead. Two cars are always in
the same order; with four or six the order depends on where the allocator put them (measured: 1 to 2 of 24 arenas 3v3
left the common course within 300 steps). So cars are put where no two share a bucket: the address is read from the
Python object, and a car in a bad place is added again behind a spacer. Where the address cannot be found (another
binding, another platform), nothing is done and large teams are reproducible most of the time only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

BUCKETS = 13
MOST_TRIES = 64
_WORD = 8
_ADDRESSES = range(1 << 16, 1 << 48, 8)


def find_address_word(cars: Sequence[Any]) -> int | None:
    """Which word of a car's Python object holds the car's address: the only pointer that differs between two cars."""
    size = type(cars[0]).__basicsize__ if cars else 0
    if len(cars) < 2 or size % _WORD:
        return None
    contents = [_words(car, size // _WORD) for car in cars]
    candidates = [
        i
        for i in range(2, size // _WORD)  # after reference count and type
        if len({words[i] for words in contents}) == len(cars) and all(words[i] in _ADDRESSES for words in contents)
    ]
    return candidates[0] if len(candidates) == 1 else None


def _words(thing: Any, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(id(thing)))


def bucket(car: Any, word: int) -> int:
    """Where the simulator's hash set keeps this car."""
    return int(ctypes.c_uint64.from_address(id(car) + word * _WORD).value) % BUCKETS


def add_apart(add: Sequence[Callable[[], Any]], remove: Callable[[Any], None], word: int | None) -> list[Any]:
    """Add one car per function, in order, no two in the same bucket."""
    cars: list[Any] = []
    taken: set[int] = set()
    spacers: list[bytearray] = []  # freed at the end: the next cars find the holes that these ones left
    for add_one in add:
        car = add_one()
        if word is not None:
            for attempt in range(MOST_TRIES):
                if bucket(car, word) not in taken:
                    break
                remove(car)
                spacers.append(bytearray(1024 + 16 * attempt))
                car = add_one()
            taken.add(bucket(car, word))
        cars.append(car)
    return cars
