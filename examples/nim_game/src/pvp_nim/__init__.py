"""Nim: take one to three stones from a heap; whoever takes the last one wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from pvp_ml.games.array_game import RANDOM_BOT, Rows, TableGame
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

EXPERT_BOT = "expert"
MOST_TAKEN = 3


class NimConfig(GameConfig):
    """Settings become flags of `pvp-ml train` and belong to the game's digest through `parameters`."""

    largest_heap: int = Field(default=15, ge=4, le=64)


class NimGame(TableGame):
    """M matches side by side. State is arrays with M rows; nothing here loops over matches."""

    def __init__(self, spec: GameSpec, config: NimConfig, matches: int) -> None:
        super().__init__(spec, matches)
        self._largest = config.largest_heap
        self._every = np.arange(matches)
        self.heap = self.hold("heap", (), np.int32)
        self.mover = self.hold("mover", (), np.int8)

    def deal(self, rows: np.ndarray) -> None:
        """The match's seed says how large the heap is and who begins."""
        self.heap[rows] = 4 + (self.chance(rows, 0) * (self._largest - 3)).astype(np.int32)
        self.mover[rows] = self.chance(rows, 1) < 0.5

    def play(self, picks: np.ndarray, ready: np.ndarray, out: StepBuffers) -> None:
        """Only rows that are ready move; in the others somebody gave no input."""
        mover = self.mover.astype(np.int64)
        taken = np.where(ready, picks[self._every, mover, 0] + 1, 0)
        self.heap -= taken
        out.signals[self._every, mover, 0] = taken
        np.logical_and(ready, self.heap == 0, out=out.ended)
        sign = np.where(np.arange(2) == mover[:, None], 1, -1) * out.ended[:, None]
        out.reward[:, :, 0] = sign
        out.result[out.ended] = sign[out.ended]
        self.mover[ready] ^= 1

    def observe(self, rows: Rows) -> None:
        """Both seats see the heap; the mover may take what is there."""
        heap, turn = self.heap[rows], np.arange(2) == self.mover[rows][:, None]
        self.obs[rows] = (heap[:, None] > np.arange(self._largest))[:, None, :]
        self.turn[rows] = turn
        self.mask[rows] = (np.arange(MOST_TAKEN) < heap[:, None])[:, None, :] & turn[:, :, None]

    def bot_picks(self, name: str, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """The expert leaves a multiple of four where it can and is random where it cannot."""
        random = super().bot_picks(RANDOM_BOT, rows, seats)
        surplus = self.heap[rows] % (MOST_TAKEN + 1)
        return random if name == RANDOM_BOT else np.where(surplus[:, None] > 0, surplus[:, None] - 1, random)

    def describe(self, row: int) -> dict[str, Any]:
        """What people see."""
        return {"heap": int(self.heap[row]), "board": ["|" * int(self.heap[row])]}


def describe(config: NimConfig) -> GameSpec:
    """Everything a player can see and do."""
    return GameSpec(
        name="nim",
        version=1,
        teams=((0,), (1,)),
        blocks=(Block("heap", config.largest_heap, (Feature("stone", "flag"),)),),
        heads=(Head("take", ("one", "two", "three")),),
        rewards=(RewardTerm("win", doc="1 for the winner, −1 for the loser"),),
        signals=(Signal("taken", "stones"),),
        max_steps=config.largest_heap + 16,
        bots=(RANDOM_BOT, EXPERT_BOT),
        parameters=(("largest_heap", config.largest_heap),),
    )


GAME = GameType(
    name="nim",
    title="Nim",
    config=NimConfig,
    spec=describe,
    build=lambda config, matches: NimGame(describe(config), config, matches),
    symmetric=True,
    presentation=Presentation(page=PageView(Path(__file__).parent / "page", "view.js", ("nim.css",))),
)
