"""Connect 4 on bitboards: seven columns, six rows, four in a line win.

A board is one 64-bit word per seat, seven bits for each column: six cells from the bottom and one bit that stays empty,
so that lines do not wrap from column to column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.array_game import RANDOM_BOT, START_SCENARIOS, Rows, TableGame, starters
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.tooling import Demo, Tooling
from pvp_ml.match import IntArray, StepBuffers, VecGame
from pvp_ml.spec import Block, Feature, Figure, GameSpec, Head, RewardTerm, Scenario, Signal

COLUMNS, HEIGHT = 7, 6
CELLS = COLUMNS * HEIGHT
TACTICIAN_BOT = "tactician"
_OPENING, _OPENING_STONES = len(START_SCENARIOS), 12
_PATIENCE = 22  # steps beyond the 42 stones that idle seats may pass before the match is cut off

Boards = npt.NDArray[np.uint64]

_BOTTOM = np.array([1 << (7 * c) for c in range(COLUMNS)], np.uint64)
_COLUMN = _BOTTOM * np.uint64(0b111111)
_CELL = np.array([7 * c + r for r in range(HEIGHT) for c in range(COLUMNS)], np.uint64)  # feature i → bit
_FULL = np.uint64(int(_COLUMN.sum()))
_LINES = tuple((np.uint64(step), np.uint64(2 * step)) for step in (1, 6, 7, 8))  # up, down-right, right, up-right


def has_line(stones: Boards) -> npt.NDArray[np.bool_]:
    """Where four of these stones stand in a line."""
    found = np.zeros(stones.shape, np.bool_)
    for step, two_steps in _LINES:
        pairs = stones & (stones >> step)
        found |= (pairs & (pairs >> two_steps)) != 0
    return found


def drops(taken: Boards) -> Boards:
    """The cell [N,7] that a stone takes in each column of these boards [N]; 0 where the column is full."""
    return (taken[:, None] + _BOTTOM) & _COLUMN & ~taken[:, None]


def winning_columns(stones: Boards, taken: Boards) -> npt.NDArray[np.bool_]:
    """Columns [N,7] where one more of these stones makes a line."""
    cells = drops(taken)
    return np.asarray(has_line(stones[:, None] | cells) & (cells != 0))


class Connect4Config(GameConfig):
    """Nothing to set."""


class Connect4Game(TableGame):
    """M matches. The seed, or the scenario, says who starts; seats then alternate."""

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self.stones = self.hold("stones", (2,), np.uint64, (0, int(_FULL)))
        self.mover = self.hold("mover", (), np.int8, (0, 1))
        self.starter = self.hold("starter", (), np.int8, (0, 1))
        self._every = np.arange(matches)

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """An empty board and a starter."""
        self.stones[rows] = 0
        scenario = np.where(self.scenario[rows] == _OPENING, 0, self.scenario[rows])
        self.starter[rows] = self.mover[rows] = starters(scenario, self.chance(rows, 0))
        opened = rows[self.scenario[rows] == _OPENING]
        if len(opened):
            self._open(opened)

    def _open(self, rows: npt.NDArray[np.int64]) -> None:
        """Drop up to 12 random stones, both seats in turn; the one that would make a line and all after it are left."""
        wanted = (self.chance(rows, 1) * (_OPENING_STONES + 1)).astype(np.int64)
        every = np.arange(len(rows))
        for stone in range(_OPENING_STONES):
            stones, mover = self.stones[rows], self.mover[rows].astype(np.int64)
            cells = drops(stones[:, 0] | stones[:, 1])
            rank = (self.chance(rows, 2 + stone) * (cells != 0).sum(1)).astype(np.int64)
            column = ((cells != 0).cumsum(1) == rank[:, None] + 1).argmax(1)
            own = stones[every, mover] | cells[every, column]
            wanted[has_line(own)] = 0
            dropped = stone < wanted
            self.stones[rows[dropped], mover[dropped]] = own[dropped]
            self.mover[rows[dropped]] ^= 1

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """The mover drops a stone."""
        mover = self.mover.astype(np.int64)
        taken = self.stones[:, 0] | self.stones[:, 1]
        column = picks[self._every, mover, 0]
        cell = (taken + _BOTTOM[column]) & _COLUMN[column] & ~taken
        own = (self.stones[self._every, mover] | np.where(ready, cell, np.uint64(0))).astype(np.uint64)
        self.stones[self._every, mover] = own
        won = has_line(own) & ready
        np.logical_or(won, ((taken | cell) == _FULL) & ready, out=out.ended)
        sign = won[:, None] * np.where(np.arange(2) == mover[:, None], 1, -1)
        out.reward[:, :, 0] = sign
        out.result[out.ended] = sign[out.ended]
        out.signals[:, :, 0] = (np.arange(2) == self.starter[:, None]) & out.ended[:, None]
        out.signals[self._every, mover, 1] = ready
        self.mover[ready] ^= 1

    def observe(self, rows: Rows) -> None:
        """Each seat sees its own stones, then the other's."""
        stones, mover = self.stones[rows], self.mover[rows]
        cells = ((stones[:, :, None] >> _CELL) & np.uint64(1)).astype(np.float32)
        self.obs[rows, :, :CELLS] = cells
        self.obs[rows, :, CELLS:] = cells[:, ::-1]
        self.turn[rows] = turn = np.arange(2) == mover[:, None]
        self.mask[rows] = (drops(stones[:, 0] | stones[:, 1]) != 0)[:, None, :] & turn[:, :, None]

    def bot_picks(self, name: str, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> IntArray:
        """The tactician wins if it can, blocks if it must, and is random otherwise."""
        random = super().bot_picks(RANDOM_BOT, rows, seats)
        if name == RANDOM_BOT:
            return random
        own, other = self.stones[rows, seats], self.stones[rows, 1 - seats]
        win, block = winning_columns(own, own | other), winning_columns(other, own | other)
        forced = np.where(win.any(1), win.argmax(1), block.argmax(1))
        return np.where(win.any(1) | block.any(1), forced, random[:, 0]).astype(np.int32)[:, None]

    def describe(self, row: int) -> dict[str, Any]:
        """The board as lines of text, top row first: X is seat 0, O is seat 1."""
        x, o = (int(word) for word in self.stones[row])
        lines = []
        for r in reversed(range(HEIGHT)):
            bits = [7 * c + r for c in range(COLUMNS)]
            lines.append(" ".join("X" if x >> b & 1 else "O" if o >> b & 1 else "." for b in bits))
        return {"starter": int(self.starter[row]), "board": [*lines, "1 2 3 4 5 6 7"]}


def scene(_: VecGame, out: StepBuffers, seat: int | None) -> dict[str, Any]:
    """The board for a page, bottom row first: '0' and '1' are the seats' stones, '.' is empty."""
    seen = out.final_obs if out.ended[0] or out.truncated[0] else out.obs
    own, theirs = seen[0, 0, :CELLS] > 0, seen[0, 0, CELLS:] > 0
    cells = "".join("0" if a else "1" if b else "." for a, b in zip(own, theirs, strict=True))
    return {"kind": "board", "columns": COLUMNS, "rows": HEIGHT, "cells": cells, "drop": "column"}


def _spec(_: Connect4Config) -> GameSpec:
    stone = (Feature("stone", "flag"),)
    return GameSpec(
        name="connect4",
        version=1,
        teams=((0,), (1,)),
        blocks=(Block("own", CELLS, stone), Block("theirs", CELLS, stone)),
        heads=(Head("column", tuple(str(c + 1) for c in range(COLUMNS))),),
        rewards=(RewardTerm("win", doc="1 for the winner, −1 for the loser"),),
        signals=(
            Signal("started", fold="max", doc="1 at the end for the seat that moved first"),
            Signal("stones", "stones", doc="dropped by this seat"),
        ),
        max_steps=CELLS + _PATIENCE,
        bots=(RANDOM_BOT, TACTICIAN_BOT),
        scenarios=(*START_SCENARIOS, Scenario("opening", doc="up to 12 stones lie already, dropped at random")),
    )


GAME = GameType(
    name="connect4",
    title="Connect 4",
    config=Connect4Config,
    spec=_spec,
    build=lambda config, matches: Connect4Game(_spec(config), matches),
    aliases=("connect_four",),
    status="thoroughly tested",
    symmetric=True,
    presentation=Presentation(
        scene=scene,
        page=PageView(Path(__file__).parent / "show" / "page", "board.js", ("board.css",), "poster.svg"),
        figures=(Figure("stones", "a match", ("stones",)),),
        rival="SelfTaughtConnect4",
    ),
    tooling=Tooling(demo=Demo("toys/connect4-demo", longer="toys/connect4")),
)
