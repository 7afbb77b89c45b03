"""Players outside the game: who they are, how they are found, and the scripted ones that fit every game.

A third-party package adds one through the entry-point group `pvp_ml.players`; an entry point gives a `PlayerType`.
Shapes: B rows (one row = one seat of one match that has to decide now), H heads, A sum of head sizes, D features.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import uniform as uniform  # for players in other packages
from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.bundle import Bundle, require_fit
from pvp_ml.spec import GameSpec

if TYPE_CHECKING:
    from pvp_ml.model.actor import Actor
    from pvp_ml.model.decision import Decision
    from pvp_ml.model.sampling.heads import Heads

GROUP = "pvp_ml.players"

SerialArray = npt.NDArray[np.int64]
KeyArray = npt.NDArray[np.uint64]


class Player(Protocol):
    """Anything that holds seats. One object may hold many seats of many matches at once; rows are independent."""

    def begin(self, serials: SerialArray) -> None:
        """Matches `serials` [n] start now: forget whatever was remembered under these numbers."""

    def end(self, serials: SerialArray) -> None:
        """Matches `serials` [n] are over: what was remembered of them can go."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """The actions [B,H] of B rows: serials, seats [B]; obs [B,D]; mask [B,A].

        `keys` [B] is all the randomness there is: a fresh 64-bit number per row and step. A player that uses nothing
        else plays the same match the same way in any batch; `uniform(keys, n)` makes numbers of it.
        """


@runtime_checkable
class Attending(Protocol):
    """A player that needs more of a game than rows: it is shown the game when it sits down at a table."""

    def attend(self, game: object) -> None:
        """`game` is what will be played; the player may ask it what its seats were shown."""


@runtime_checkable
class Timed(Protocol):
    """A player that can think shorter than it would like to."""

    def allow(self, seconds: float | None) -> None:
        """From now on a decision may take this long; None = as long as the player likes."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixed decision: how often a player would do what, and what it then expects."""

    actions: IntArray  # [K,H]
    chances: FloatArray  # [K] they add up to 1
    value: float = math.nan  # −1 lost … 1 won; NaN: it does not say


@runtime_checkable
class Mixing(Protocol):
    """A player that decides for a mixture of choices and draws one of them: a teacher tells the whole mixture."""

    def mixtures(self) -> Sequence[Mixture | None]:
        """For each row of the last `decide`; None where it made up its mind."""


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


class _Forgetful:
    """A player that keeps nothing between two decisions."""

    def __init__(self, spec: GameSpec) -> None:
        from pvp_ml.model.sampling.heads import Heads

        self._spec = spec
        self._heads = Heads.compile(spec.heads)

    def begin(self, serials: SerialArray) -> None:
        """Nothing to forget."""

    def end(self, serials: SerialArray) -> None:
        """Nothing to forget."""


class RandomPlayer(_Forgetful):
    """Every legal choice with equal chance, head by head, rules respected."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Equal logits plus Gumbel noise."""
        from pvp_ml.model.sampling.heads import gumbel_noise

        noise = np.zeros(mask.shape, np.float32)
        gumbel_noise(keys, mask, noise)
        return choose_legal(self._spec, self._heads, np.zeros(mask.shape, np.float32), mask, noise, serials)


class FirstLegalPlayer(_Forgetful):
    """The first legal choice of every head: the no-op wherever choice 0 means "do nothing"."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Equal logits, no noise: ties go to the lowest index."""
        zeros = np.zeros(mask.shape, np.float32)
        return choose_legal(self._spec, self._heads, zeros, mask, zeros, serials)


class BundlePlayer:
    """Plays a bundle's policy with numpy: stacks the frames and keeps the memory that its network wants."""

    def __init__(self, bundle: Bundle, spec: GameSpec, greedy: bool = False, temperature: float = 1.0) -> None:
        from pvp_ml.model.frame_memory import FrameMemory, is_forgetful

        require_fit(bundle, spec)
        self._spec = spec
        self._network = bundle.network
        self._actor = actor_of(bundle)
        self._actor.temperature = temperature
        self._greedy = greedy
        self._is_forgetful = is_forgetful(bundle.network)
        self._past = FrameMemory(0, spec.obs_size)
        self._rows: dict[tuple[int, int], int] = {}  # serial, seat → row of `_past`
        self._free: list[int] = []

    def begin(self, serials: SerialArray) -> None:
        """Matches start from empty frames and an empty memory."""
        self.end(serials)

    def end(self, serials: SerialArray) -> None:
        """Forget frames and memory of these matches."""
        pairs = ((serial, seat) for serial in serials.tolist() for seat in range(self._spec.seats))
        left = [self._rows.pop(pair) for pair in pairs if pair in self._rows] if self._rows else []
        if left:
            self._past.forget(np.array(left, np.intp))
            self._free += left

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """What the policy draws (or, when greedy, prefers)."""
        out = self._actor.heads.decision(len(obs))
        self.decide_into(out, serials, seats, obs, mask, keys)
        return out.actions

    def decide_into(self, out: Decision, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
                    keys: KeyArray, privileged: FloatArray | None = None) -> None:  # fmt: skip
        """`decide`, with everything else that `out` has room for."""
        greedy = np.full(len(obs), self._greedy)
        if self._is_forgetful:
            empty = self._actor.act(obs, mask, keys, greedy, out, privileged)
        else:
            rows = self._rows_of(serials, seats)
            memory = self._past.memory(self._network, rows)
            stacked = self._past.stacked(self._network, rows, obs)
            empty = self._actor.act(stacked, mask, keys, greedy, out, privileged, memory)
            self._past.decided(self._network, rows, obs, memory)
        _refuse_empty(self._spec, empty, serials)

    def decision(self, rows: int = 1, value: bool = True) -> Decision:
        """Arrays for everything that this policy can say of `rows` rows."""
        return self._actor.heads.decision(rows, value=value, win=self._network.win_head, probs=True)

    def _rows_of(self, serials: SerialArray, seats: IntArray) -> npt.NDArray[np.intp]:
        pairs = list(zip(serials.tolist(), seats.tolist(), strict=True))
        new = [pair for pair in pairs if pair not in self._rows]
        if len(new) > len(self._free):
            held = len(self._rows) + len(self._free)
            more = max(len(new) - len(self._free), held)
            self._past.grow(held + more)
            self._free += range(held + more - 1, held - 1, -1)
        for pair in new:
            self._rows[pair] = self._free.pop()
        return np.array([self._rows[pair] for pair in pairs], np.intp)


def actor_of(bundle: Bundle) -> Actor:
    """The bundle's policy, ready to act; one thread at a time. The weights are copied: the bundle's stay read-only."""
    from pvp_ml.model.actor import Actor

    tensors = {name: tensor.copy() for name, tensor in bundle.tensors.items()}
    return Actor(bundle.network, bundle.interface, tensors, bundle.normalizer)


def choose_legal(spec: GameSpec, heads: Heads, logits: FloatArray, mask: BoolArray, noise: FloatArray,
                 serials: SerialArray) -> IntArray:  # fmt: skip
    """Actions [B,H] = argmax(logits + noise) over what mask and rules allow; an empty head is the game's fault."""
    from pvp_ml.model.sampling.heads import choose

    out = heads.decision(len(mask))
    empty = choose(heads, logits, mask, noise, np.zeros(len(mask), np.bool_), out)
    _refuse_empty(spec, empty, serials)
    return out.actions


def _refuse_empty(spec: GameSpec, empty: int, serials: SerialArray) -> None:
    if empty >= 0:
        raise UserError(
            f"game '{spec.name}', match {int(serials[empty])}: a head without fallback has no legal choice",
            f"check the game with `pvp-ml game check {spec.name}`",
        )


RANDOM = PlayerType("random", "every legal choice with equal chance", RandomPlayer)
FIRST_LEGAL = PlayerType("noop", "always the first legal choice (the no-op where there is one)", FirstLegalPlayer)
