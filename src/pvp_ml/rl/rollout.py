"""The storage of one shard's rollout: the game writes observations straight into it, learning reads rows out of it.

Index 0 of the time axis holds rows carried over from the rollout before, whose next decision had not come yet; indexes
1…T are steps; index T+1 is the observation after the last one. Shape letters as in `spec`; T steps, F stacked frames
(the newest is `obs`, the others `past`), G memory (the state before the decision).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.rl.kernels.gae import CLOSED, OPEN, lane_advantages

NOBODY = -1
"""Owner of a row that no trainee decides."""


@dataclass(frozen=True, slots=True)
class RolloutShape:
    """Sizes of a rollout: T, M, S, D, P, A, H, the numbers of stacked earlier frames, and G."""

    steps: int
    matches: int
    seats: int
    obs: int
    privileged: int
    mask: int
    heads: int
    past: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Finals:
    """Where matches were cut short in this rollout, with what the seats saw at that moment."""

    step: list[int]
    match: list[int]
    owner: list[npt.NDArray[np.int8]]  # each [S]
    obs: list[FloatArray]  # each [S,D]
    privileged: list[FloatArray]  # each [S,P]
    past: list[FloatArray]  # each [S, past]
    memory: list[FloatArray]  # each [S,G]


@dataclass(frozen=True, slots=True)
class ReturnTerms:
    """How returns are made of rewards, each an array over trainees: γ, λ, what rewards are multiplied by, and the limit
    of a step's reward after that (infinite = none).
    """

    gamma: FloatArray
    lam: FloatArray
    scale: FloatArray
    limit: FloatArray

    @classmethod
    def of(cls, gamma: float, lam: float, scale: float = 1.0, limit: float = np.inf) -> ReturnTerms:
        """Terms of a single trainee."""
        return cls(*(np.array([x], np.float32) for x in (gamma, lam, scale, limit)))


@dataclass(frozen=True, slots=True)
class Rows:
    """One trainee's training rows, as indexes into the flattened rollout, with what learning needs per row."""

    index: npt.NDArray[np.int64]  # [B]
    advantage: FloatArray  # [B]
    returns: FloatArray  # [B]


class Rollout:
    """Preallocated arrays, reused for every rollout."""

    def __init__(self, shape: RolloutShape) -> None:
        t, m, s = shape.steps + 2, shape.matches, shape.seats
        self.shape = shape
        self.obs: FloatArray = np.zeros((t, m, s, shape.obs), np.float32)
        self.privileged: FloatArray = np.zeros((t, m, s, shape.privileged), np.float32)
        self.past: FloatArray = np.zeros((t, m, s, shape.past), np.float32)
        self.memory: FloatArray = np.zeros((t, m, s, shape.memory), np.float32)
        self.mask: BoolArray = np.zeros((t, m, s, shape.mask), np.bool_)
        self.acting: BoolArray = np.zeros((t, m, s), np.bool_)
        self.owner: npt.NDArray[np.int8] = np.full((t, m, s), NOBODY, np.int8)
        self.seated: npt.NDArray[np.int8] = np.full((t, m, s), NOBODY, np.int8)
        self.actions: IntArray = np.zeros((t, m, s, shape.heads), np.int32)
        self.log_prob: FloatArray = np.zeros((t, m, s), np.float32)
        self.value: FloatArray = np.zeros((t, m, s), np.float32)
        self.reward: FloatArray = np.zeros((t - 1, m, s), np.float32)
        self.end: npt.NDArray[np.int8] = np.zeros((t - 1, m), np.int8)
        self.result: npt.NDArray[np.int8] = np.zeros((t - 1, m, s), np.int8)
        self.held_out: BoolArray = np.zeros((t - 1, m), np.bool_)
        self.final_value: FloatArray = np.zeros((t - 1, m, s), np.float32)
        self.length: IntArray = np.full(m, shape.steps + 1, np.int32)
        self.finals = Finals([], [], [], [], [], [], [])
        self._advantage: FloatArray = np.zeros((t - 1, m, s), np.float32)
        self._state: npt.NDArray[np.int8] = np.zeros((t - 1, m, s), np.int8)
        self._collected: FloatArray = np.zeros((t - 1, m, s), np.float32)

    def begin(self) -> None:
        """Start the next rollout: the observation after the last one comes first, open rows are carried over."""
        slots = np.arange(self.shape.matches)
        for name in _NEXT:
            array = getattr(self, name)
            array[1] = array[self.length, slots]
        self.clear()

    def clear(self) -> None:
        """Forget where matches stopped."""
        self.end[:] = 0
        self.finals = Finals([], [], [], [], [], [], [])

    def carry(self) -> None:
        """Copy the rows that are still open to index 0; call it after learning, before `begin`."""
        t, m, s = np.nonzero(self._state == OPEN)
        kept = {name: getattr(self, name)[t, m, s] for name in _CARRIED}  # copies: a row may be carried once more
        self.drop()
        for name, values in kept.items():
            getattr(self, name)[0, m, s] = values
        self.reward[0, m, s] = self._collected[t, m, s]

    def drop(self) -> None:
        """Carry nothing over."""
        self.owner[0] = self.seated[0] = NOBODY
        self.reward[0] = 0.0

    def played(self) -> npt.NDArray[np.int8]:
        """[T,M,S] who held the seat in the steps 1…T of this rollout; NOBODY beyond a match's present length, where
        rows of an earlier rollout still stand.
        """
        is_now = np.arange(1, self.shape.steps + 1)[:, None] < self.length
        return np.where(is_now[:, :, None], self.seated[1:-1], np.int8(NOBODY))

    def advantages(self, terms: ReturnTerms) -> None:
        """Generalised advantages of all lanes."""
        scale, limit, gamma, lam = (x.astype(np.float64) for x in (terms.scale, terms.limit, terms.gamma, terms.lam))
        lane_advantages(
            self.length, self.owner, self.seated, self.value, self.reward, self.end, self.final_value, scale, limit,
            gamma, gamma * lam, self._advantage, self._state, self._collected,
        )  # fmt: skip

    def rows(self, owner: int) -> Rows:
        """The closed rows of one trainee."""
        picked = (self._state == CLOSED) & (self.owner[:-1] == owner)
        index = np.flatnonzero(picked)
        advantage = self._advantage.reshape(-1)[index]
        return Rows(index, advantage, advantage + self.value[:-1].reshape(-1)[index])

    def flat(self, name: str) -> npt.NDArray[Any]:
        """An array with time, match and seat as one axis, so that `Rows.index` picks rows of it."""
        array: npt.NDArray[Any] = getattr(self, name)
        return array.reshape(int(np.prod(array.shape[:3])), *array.shape[3:])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What the next rollout depends on: the last observation and the carried rows, both as they will be used."""
        slots = np.arange(self.shape.matches)
        kept = {f"next/{n}": getattr(self, n)[self.length, slots].copy() for n in _NEXT}
        return kept | {f"carry/{n}": getattr(self, n)[0].copy() for n in (*_CARRIED, "reward")}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from `state`."""
        self.length[:] = self.shape.steps + 1
        for name in _NEXT:
            getattr(self, name)[-1] = state[f"next/{name}"]
        for name in (*_CARRIED, "reward"):
            getattr(self, name)[0] = state[f"carry/{name}"]


_NEXT = ("obs", "privileged", "mask", "acting", "owner", "seated")
_CARRIED = ("obs", "privileged", "past", "memory", "mask", "owner", "seated", "actions", "log_prob", "value")
