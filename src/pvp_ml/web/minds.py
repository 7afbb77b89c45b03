"""Who decides for a seat, and what it thought: probabilities per head, value, chance to win.

Shapes as in `spec`: D features, P privileged features, A sum of head sizes, H heads. One mind holds one seat of one
match.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle, require_fit
from pvp_ml.model.sampling.heads import Choice, gumbel_noise
from pvp_ml.players import Player, actor_of
from pvp_ml.spec import GameSpec


@dataclass(frozen=True, slots=True)
class Sight:
    """What a seat knows when it decides; `key` is all the randomness of the decision."""

    obs: FloatArray  # [D]
    privileged: FloatArray  # [P] for a critic that looks behind the curtain; never used to act
    mask: BoolArray  # [A]
    key: int


@dataclass(frozen=True, slots=True)
class Thought:
    """What a policy thought of one decision. `probs` [A]: chance of each choice given the picks of earlier heads."""

    probs: FloatArray
    value: float
    win: float | None  # None: the network has no win head


class Mind(Protocol):
    """Decides for one seat of one match."""

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """An action [H] and, where there is one to tell, the thought behind it."""


class PolicyMind:
    """A bundle's policy in numpy; keeps the frames and the memory that its network wants."""

    def __init__(self, bundle: Bundle, spec: GameSpec, greedy: bool = False) -> None:
        require_fit(bundle, spec)
        self._actor: Actor = actor_of(bundle)
        self._network = bundle.network
        self._is_greedy = greedy
        self._back = np.array(bundle.network.frames)
        self._frames = np.zeros((int(self._back[-1]) + 1, spec.obs_size), np.float32)
        self._memory = np.zeros((1, bundle.network.memory), np.float32) if bundle.network.memory else None
        self._noise = np.zeros((1, spec.mask_size), np.float32)
        self._out = Choice.allocate(self._actor.heads, 1)

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """What the policy draws (or, when greedy, prefers), and why."""
        self._frames[1:] = self._frames[:-1].copy()
        self._frames[0] = sight.obs
        obs = self._frames[self._back].reshape(1, -1)
        mask = sight.mask[None]
        self._noise[:] = 0.0
        if not self._is_greedy:
            gumbel_noise(np.array([sight.key], np.uint64), mask, self._noise)
        value = self._actor.values(obs, sight.privileged[None] if self._network.privileged else None, self._memory)
        win = self._win(obs)
        logits = self._actor.explain(obs, mask, self._noise, self._out, self._memory)[0]
        return self._out.actions[0].copy(), Thought(self._probs(logits), float(value[0]), win)

    def _win(self, obs: FloatArray) -> float | None:
        if not self._network.win_head:
            return None
        memory = None if self._memory is None else self._memory.copy()  # reading it must not move it on
        return float(self._actor.win_probability(obs, memory)[0])

    def _probs(self, logits: FloatArray) -> FloatArray:
        """Softmax within each head over what was legal."""
        legal, offset = self._out.legal[0], self._actor.heads.offset
        probs = np.zeros(len(logits), np.float32)
        for low, high in pairwise(offset.tolist()):
            part = np.where(legal[low:high], logits[low:high].astype(np.float64), -np.inf)
            mass = np.exp(part - part.max())
            probs[low:high] = mass / mass.sum()
        return probs


class ScriptedMind:
    """A scripted player: it decides and says nothing."""

    def __init__(self, player: Player, seat: int) -> None:
        self._player = player
        self._seat = np.array([seat], np.int32)
        self._serial = np.zeros(1, np.int64)
        player.begin(self._serial)

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """Whatever the player decides."""
        keys = np.array([sight.key], np.uint64)
        actions = self._player.decide(self._serial, self._seat, sight.obs[None], sight.mask[None], keys)
        if np.shape(actions) != (1, np.shape(actions)[-1]):
            raise UserError(f"a player gave actions of shape {np.shape(actions)}", "one row was asked for")
        return np.asarray(actions[0], np.int32), None
