"""The strength dial: the same player made weaker by known amounts, in every game.

`model.zip@temperature=2,delay=3,skip=2` anywhere a contestant is named. Temperature flattens a model's choices (0 is
greedy, 1 as trained); delay lets it see what was there so many of its decisions ago; skip lets it decide only every
so many steps and hold its last choice in between, while that is legal.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, fields

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.players import KeyArray, Player, SerialArray
from pvp_ml.spec import GameSpec

_SUFFIX = re.compile(r"^(?P<name>.+)@(?P<settings>[a-z]+=[^@/\\]*)$")
MAX_TEMPERATURE, MAX_DELAY, MAX_SKIP = 100.0, 120, 120


@dataclass(frozen=True, slots=True)
class Dial:
    """How a player is held back; the defaults are full strength."""

    temperature: float = 1.0
    delay: int = 0
    skip: int = 1

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        limits = {"temperature": (0.0, MAX_TEMPERATURE), "delay": (0, MAX_DELAY), "skip": (1, MAX_SKIP)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise UserError(f"{name} is {value}", f"from {low:g} to {high:g}")

    @property
    def is_slow(self) -> bool:
        """Whether observations or decisions are held back."""
        return self.delay > 0 or self.skip > 1


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
            given[key] = float(text) if key == "temperature" else int(text)
        except ValueError:
            raise UserError(f"'{name}': {key} is '{text}'", "give a number, e.g. @temperature=1.5,delay=2") from None
    return match["name"], Dial(given.get("temperature", 1.0), int(given.get("delay", 0)), int(given.get("skip", 1)))


@dataclass(slots=True)
class _Seat:
    """What is remembered of one seat of one match."""

    seen: deque[FloatArray]
    last: IntArray | None = None
    held: int = field(default=0)  # steps that the last choice was held


class Slowed:
    """Another player that sees late and decides seldom."""

    def __init__(self, player: Player, spec: GameSpec, dial: Dial) -> None:
        self._player, self._dial, self._seats = player, dial, spec.seats
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
            late = np.stack([places[i].seen[0] for i in new.tolist()])
            actions[new] = self._player.decide(serials[new], seats[new], late, mask[new], keys[new])
        for i, place in enumerate(places):
            place.held = place.held + 1 if holds[i] else 0
            place.last = actions[i].copy()
        return actions

    def _pairs(self, serials: SerialArray, seats: IntArray) -> list[tuple[int, int]]:
        return list(zip(serials.tolist(), seats.tolist(), strict=True))

    def _place(self, pair: tuple[int, int], obs: FloatArray) -> _Seat:
        place = self._memory.get(pair)
        if place is None:
            place = self._memory[pair] = _Seat(deque(maxlen=self._dial.delay + 1))
        place.seen.append(obs.copy())
        return place
