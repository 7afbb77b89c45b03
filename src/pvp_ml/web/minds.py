"""Who decides for a seat, and what it thought: probabilities per head, value, chance to win.

Shapes as in `spec`: D features, P privileged features, A sum of head sizes, H heads. One mind holds one seat of one
match.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.calibration import Calibration
from pvp_ml.players import Attending, BundlePlayer, Player
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
    win: float | None  # None: the network has no win head, or nobody measured it against this opponent


class Mind(Protocol):
    """Decides for one seat of one match."""

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """An action [H] and, where there is one to tell, the thought behind it."""


class PolicyMind:
    """A bundle's policy: what it decides and why, from one pass of its network.

    Its chance to win is stated, and corrected, where `measured` says how far it can be relied on.
    """

    def __init__(
        self, bundle: Bundle, spec: GameSpec, greedy: bool = False, measured: Calibration | None = None
    ) -> None:
        self._measured = measured
        self._player = BundlePlayer(bundle, spec, greedy)
        self._sees_hidden = bundle.network.privileged
        self._out = self._player.decision()
        self._serial, self._seat = np.zeros(1, np.int64), np.zeros(1, np.int32)

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """What the policy draws (or, when greedy, prefers), and why."""
        out = self._out
        hidden = sight.privileged[None] if self._sees_hidden else None
        self._player.decide_into(
            out, self._serial, self._seat, sight.obs[None], sight.mask[None], np.array([sight.key], np.uint64), hidden
        )
        assert out.probs is not None and out.value is not None
        win = None
        if out.win is not None and self._measured is not None:
            raw = min(max(float(out.win[0]), 1e-6), 1.0 - 1e-6)
            win = self._measured.chance(math.log(raw / (1.0 - raw)))
        return out.actions[0].copy(), Thought(out.probs[0].copy(), float(out.value[0]), win)


class ScriptedMind:
    """A scripted player: it decides and says nothing."""

    def __init__(self, player: Player, seat: int) -> None:
        self._player = player
        self._seat = np.array([seat], np.int32)
        self._serial = np.zeros(1, np.int64)
        player.begin(self._serial)

    def attend(self, game: object) -> None:
        """The player may want to see the game; matches of the page have the serial 0."""
        if isinstance(self._player, Attending):
            self._player.attend(game)

    def decide(self, sight: Sight) -> tuple[IntArray, Thought | None]:
        """Whatever the player decides."""
        keys = np.array([sight.key], np.uint64)
        actions = self._player.decide(self._serial, self._seat, sight.obs[None], sight.mask[None], keys)
        if np.shape(actions) != (1, np.shape(actions)[-1]):
            raise UserError(f"a player gave actions of shape {np.shape(actions)}", "one row was asked for")
        return np.asarray(actions[0], np.int32), None
