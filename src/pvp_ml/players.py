"""Players outside the game: who they are, how they are found, and the scripted ones that fit every game.

A third-party package adds one through the entry-point group `pvp_ml.players`; an entry point gives a `PlayerType`.
Shapes: B rows (one row = one seat of one match that has to decide now), H heads, A sum of head sizes, D features.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.spec import GameSpec

if TYPE_CHECKING:
    from pvp_ml.sampling import Heads

GROUP = "pvp_ml.players"

SerialArray = npt.NDArray[np.int64]
KeyArray = npt.NDArray[np.uint64]


class Player(Protocol):
    """Anything that holds seats. One object may hold many seats of many matches at once; rows are independent."""

    def begin(self, serials: SerialArray) -> None:
        """Matches `serials` [n] start now: forget whatever was remembered under these numbers."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """The actions [B,H] of B rows: serials, seats [B]; obs [B,D]; mask [B,A].

        `keys` [B] is all the randomness there is: a fresh 64-bit number per row and step. A player that uses nothing
        else plays the same match the same way in any batch; `uniform(keys, n)` makes numbers of it.
        """


@dataclass(frozen=True, slots=True)
class PlayerType:
    """What an entry point gives: how to make a player. Creating one must import nothing heavy.

    `games` are the names of the games that it can play; empty means every game. `make(spec)` builds the player for the
    game as configured and raises UserError when the layout is not the one it was written for.
    """

    name: str
    title: str
    make: Callable[[GameSpec], Player]
    games: tuple[str, ...] = ()

    def fits(self, game: str) -> bool:
        """Whether it says that it can play the game of that name."""
        return not self.games or game in self.games


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def names() -> list[str]:
    """Registered scripted players, sorted."""
    return sorted(_entries())


def find(name: str) -> PlayerType:
    """The player type of that name."""
    entry = _entries().get(name)
    if entry is None:
        close = difflib.get_close_matches(name, names(), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known players: {', '.join(names())}"
        raise UserError(f"there is no scripted player '{name}'", hint)
    found = entry.load()
    if not isinstance(found, PlayerType):
        raise UserError(
            f"entry point '{name}' = {entry.value} gives {type(found).__name__}", "it must give a PlayerType"
        )
    return found


def make(name: str, spec: GameSpec) -> Player:
    """A new scripted player of that name for that game; refuses a game that it does not know."""
    found = find(name)
    if not found.fits(spec.name):
        raise UserError(
            f"player '{name}' does not play '{spec.name}'", f"it plays: {', '.join(found.games)}; or choose 'random'"
        )
    return found.make(spec)


def uniform(keys: KeyArray, count: int) -> npt.NDArray[np.float64]:
    """[B,count] numbers in (0, 1) that depend on each row's key alone."""
    golden, first, second = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    bits = np.asarray(keys, np.uint64)[:, None] + golden * (np.arange(count, dtype=np.uint64) + np.uint64(1))
    bits = (bits ^ (bits >> np.uint64(30))) * first
    bits = (bits ^ (bits >> np.uint64(27))) * second
    bits ^= bits >> np.uint64(31)
    fractions: npt.NDArray[np.float64] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return fractions


class RandomPlayer:
    """Every legal choice with equal chance, head by head, rules respected."""

    def __init__(self, spec: GameSpec) -> None:
        from pvp_ml.sampling import Heads

        self._spec = spec
        self._heads = Heads.compile(spec.heads)

    def begin(self, serials: SerialArray) -> None:
        """Nothing to forget."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Equal logits plus Gumbel noise."""
        from pvp_ml.sampling import gumbel_noise

        noise = np.zeros(mask.shape, np.float32)
        gumbel_noise(keys, mask, noise)
        return choose_legal(self._spec, self._heads, np.zeros(mask.shape, np.float32), mask, noise, serials)


class FirstLegalPlayer:
    """The first legal choice of every head: the no-op wherever choice 0 means "do nothing"."""

    def __init__(self, spec: GameSpec) -> None:
        from pvp_ml.sampling import Heads

        self._spec = spec
        self._heads = Heads.compile(spec.heads)

    def begin(self, serials: SerialArray) -> None:
        """Nothing to forget."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Equal logits, no noise: ties go to the lowest index."""
        zeros = np.zeros(mask.shape, np.float32)
        return choose_legal(self._spec, self._heads, zeros, mask, zeros, serials)


def choose_legal(spec: GameSpec, heads: Heads, logits: FloatArray, mask: BoolArray, noise: FloatArray,
                 serials: SerialArray) -> IntArray:  # fmt: skip
    """Actions [B,H] = argmax(logits + noise) over what mask and rules allow; an empty head is the game's fault."""
    from pvp_ml.sampling import Choice, choose

    out = Choice.allocate(heads, len(mask))
    empty = choose(heads, logits, mask, noise, np.zeros(len(mask), np.bool_), out)
    if empty >= 0:
        raise UserError(
            f"game '{spec.name}', match {int(serials[empty])}: a head without fallback has no legal choice",
            f"check the game with `pvp-ml game check {spec.name}`",
        )
    return out.actions


RANDOM = PlayerType("random", "every legal choice with equal chance", RandomPlayer)
FIRST_LEGAL = PlayerType("noop", "always the first legal choice (the no-op where there is one)", FirstLegalPlayer)
