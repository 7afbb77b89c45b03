"""A player held back by a dial: it sees late, decides seldom, and sometimes takes any legal choice.

`model.zip@temperature=2,delay=3,skip=2,mistakes=0.1` or `model.zip@strength=40`, anywhere a contestant is named.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass, field, fields

import numpy as np

from pvp_ml.chance import mix
from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.dial import Dial
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.players import KeyArray, Player, RandomPlayer, SerialArray, uniform
from pvp_ml.spec import GameSpec

_SUFFIX = re.compile(r"^(?P<name>.+)@(?P<settings>[a-z]+=[^@/\\]*)$")
_WHOLE = ("skip", "strength")
_CHANNEL = np.uint64(0xD1A1)
"""Apart from the numbers that the player itself draws from the same keys."""


def read_dial(name: str) -> tuple[str, Dial]:
    """`NAME@key=value,…` → the name and its dial; a name without settings is at full strength."""
    match = _SUFFIX.match(name)
    if match is None:
        return name, Dial()
    known = {f.name: f.type for f in fields(Dial)}
    given: dict[str, float] = {}
    for item in match["settings"].split(","):
        key, _, text = item.partition("=")
        if key not in known:
            raise UserError(f"'{name}': the dial has no '{key}'", f"it has: {', '.join(known)}")
        try:
            given[key] = int(text) if key in _WHOLE else float(text)
        except ValueError:
            raise UserError(f"'{name}': {key} is '{text}'", "give a number, e.g. @temperature=1.5,delay=2") from None
    return match["name"], Dial(
        given.get("temperature", 1.0),
        given.get("delay", 0),
        int(given.get("skip", 1)),
        given.get("mistakes", 0.0),
        int(given.get("strength", 0)),
    )


def with_strength(name: str, strength: int) -> str:
    """The name with `@strength=…` at its end; 0 leaves it alone."""
    if not strength:
        return name
    if _SUFFIX.match(name):
        raise UserError(f"'{name}' has a dial of its own", "leave --strength out")
    return f"{name}@strength={strength}"


@dataclass(slots=True)
class _Seat:
    """What is remembered of one seat of one match."""

    seen: deque[FloatArray]
    last: IntArray | None = None
    held: int = field(default=0)  # steps that the last choice was held


class Slowed:
    """Another player that sees late, decides seldom and makes mistakes."""

    def __init__(self, player: Player, spec: GameSpec, dial: Dial) -> None:
        self._player, self._dial, self._seats = player, dial, spec.seats
        self._random = RandomPlayer(spec)
        self._heads = Heads.compile(spec.heads)
        self._offsets = np.cumsum([0, *(len(head.choices) for head in spec.heads)])[:-1]
        self._memory: dict[tuple[int, int], _Seat] = {}

    def begin(self, serials: SerialArray) -> None:
        """Nothing was seen yet."""
        self.end(serials)
        self._player.begin(serials)

    def end(self, serials: SerialArray) -> None:
        """Forget these matches."""
        for serial in serials.tolist():
            for seat in range(self._seats):
                self._memory.pop((serial, seat), None)
        self._player.end(serials)

    def decide(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """The held choice where it is legal and its time is not over; else a new one, from what was seen long ago."""
        places = [self._place(pair, row) for pair, row in zip(self._pairs(serials, seats), obs, strict=True)]
        actions = np.zeros((len(obs), len(self._offsets)), np.int32)
        holds = np.zeros(len(obs), np.bool_)
        for i, place in enumerate(places):
            if place.last is not None and place.held + 1 < self._dial.skip:
                actions[i], holds[i] = place.last, True
        legal = legal_given(self._heads, mask, actions)
        holds &= np.take_along_axis(legal, actions + self._offsets, axis=1).all(1)
        new = np.flatnonzero(~holds)
        if len(new):
            chance = uniform(mix(keys[new] ^ _CHANNEL), 2)
            late = np.stack([self._seen(places[i], c) for i, c in zip(new.tolist(), chance[:, 0], strict=True)])
            actions[new] = self._player.decide(serials[new], seats[new], late, mask[new], keys[new])
            wrong = new[chance[:, 1] < self._dial.mistakes]
            if len(wrong):
                actions[wrong] = self._random.decide(
                    serials[wrong], seats[wrong], obs[wrong], mask[wrong], mix(keys[wrong] + _CHANNEL)
                )
        for i, place in enumerate(places):
            place.held = place.held + 1 if holds[i] else 0
            place.last = actions[i].copy()
        return actions

    def _seen(self, place: _Seat, chance: float) -> FloatArray:
        """What was there `delay` decisions ago, or at the start."""
        ago = math.floor(self._dial.delay) + (chance < self._dial.delay % 1.0)
        return place.seen[max(0, len(place.seen) - 1 - ago)]

    def _pairs(self, serials: SerialArray, seats: IntArray) -> list[tuple[int, int]]:
        return list(zip(serials.tolist(), seats.tolist(), strict=True))

    def _place(self, pair: tuple[int, int], obs: FloatArray) -> _Seat:
        place = self._memory.get(pair)
        if place is None:
            place = self._memory[pair] = _Seat(deque(maxlen=math.ceil(self._dial.delay) + 1))
        place.seen.append(obs.copy())
        return place
