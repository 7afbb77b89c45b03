"""Matching pennies and rock-paper-scissors: two seats choose at the same time, a table says who gets what."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from pvp_ml.errors import UserError
from pvp_ml.games.array_game import RANDOM_BOT, Rows, TableGame
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IntArray, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

FIRST_BOT = "first"
_PATIENCE = 16  # steps beyond the rounds that idle seats may pass before the match is cut off

Payoff = tuple[tuple[float, ...], ...]


class MatrixConfig(GameConfig):
    """A zero-sum table: `payoff[i][j]` goes to seat 0, which picked i, and from seat 1, which picked j."""

    choices: tuple[str, ...] = Field(min_length=2, max_length=64)
    payoff: Payoff
    rounds: int = Field(default=1, ge=1, le=10_000, description="rounds in a match; the total decides who wins")

    @model_validator(mode="after")
    def _square(self) -> MatrixConfig:
        if any(len(row) != len(self.choices) for row in (self.payoff, *self.payoff)):
            raise ValueError(f"payoff must be a {len(self.choices)} × {len(self.choices)} table, one row per choice")
        return self


class PenniesConfig(MatrixConfig):
    """Seat 0 wins on a match, seat 1 on a mismatch."""

    choices: tuple[str, ...] = ("heads", "tails")
    payoff: Payoff = ((1, -1), (-1, 1))


class RockPaperScissorsConfig(MatrixConfig):
    """Rock < paper < scissors < rock, each worth 1: the equilibrium is a third each."""

    choices: tuple[str, ...] = ("rock", "paper", "scissors")
    payoff: Payoff = ((0, -1, 1), (1, 0, -1), (-1, 1, 0))


class BiasedConfig(RockPaperScissorsConfig):
    """Rock beating scissors is worth 2: the equilibrium is 1/4 rock, 1/2 paper, 1/4 scissors."""

    payoff: Payoff = ((0, -1, 2), (1, 0, -1), (-2, 1, 0))


class MatrixGame(TableGame):
    """M matches; a seat sees its place, the share of rounds played and both picks of the round before."""

    def __init__(self, spec: GameSpec, config: MatrixConfig, matches: int) -> None:
        super().__init__(spec, matches)
        self._payoff = np.array(config.payoff, np.float32)
        self._rounds = config.rounds
        self._one_hot = np.eye(len(config.choices), dtype=np.float32)
        self.round = self.hold("round", (), np.int32, (0, config.rounds))
        self.total = self.hold("total", (), np.float64)
        self.last = self.hold("last", (2,), np.int8, (0, len(config.choices) - 1))  # picks of the round before

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """No rounds, no points."""
        self.round[rows], self.total[rows], self.last[rows] = 0, 0, 0

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """One round."""
        picked = picks[:, :, 0]
        gain = np.where(ready, self._payoff[picked[:, 0], picked[:, 1]], 0)
        out.reward[:, 0, 0], out.reward[:, 1, 0] = gain, -gain
        out.signals[:, :, :] = self._one_hot[picked] * ready[:, None, None]
        self.total += gain
        self.round += ready
        self.last[ready] = picked[ready]
        np.logical_and(ready, self.round >= self._rounds, out=out.ended)
        winner = np.sign(self.total[out.ended]).astype(np.int8)
        out.result[out.ended] = np.stack([winner, -winner], 1)

    def observe(self, rows: Rows) -> None:
        """Both seats always have a turn and every choice is legal."""
        played = self.round[rows]
        picks = self._one_hot[self.last[rows]] * (played > 0)[:, None, None]
        n = self._one_hot.shape[0]
        self.obs[rows, 1, 0] = 1
        self.obs[rows, :, 1] = (played / self._rounds)[:, None]
        self.obs[rows, :, 2 : 2 + n] = picks
        self.obs[rows, :, 2 + n :] = picks[:, ::-1]
        self.mask[rows], self.turn[rows] = True, True

    def bot_picks(self, name: str, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> IntArray:
        """`first` always picks the first choice."""
        return np.zeros((len(rows), 1), np.int32) if name == FIRST_BOT else super().bot_picks(name, rows, seats)

    def describe(self, row: int) -> dict[str, Any]:
        """Rounds, points of seat 0 and the last picks."""
        names = self.spec.heads[0].choices
        last = [names[i] for i in self.last[row]] if self.round[row] else []
        return {"round": int(self.round[row]), "points_of_seat_0": float(self.total[row]), "last": last}


def equilibrium(payoff: Payoff) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """The mix of seat 0, the mix of seat 1 and the value to seat 0, for tables whose equilibrium uses every choice.

    Solved from: every choice of the other seat is worth the same, and the shares sum to 1.
    """
    table = np.array(payoff, np.float64)
    n = len(table)
    ones = np.ones((n, 1))
    right = np.append(np.zeros(n), 1.0)
    mixes = [np.linalg.solve(np.block([[side, -ones], [ones.T, np.zeros((1, 1))]]), right) for side in (table.T, table)]
    if min(mix[:n].min() for mix in mixes) < 0:
        raise UserError("the equilibrium of this table leaves a choice out", "use a table where every choice is needed")
    return mixes[0][:n], mixes[1][:n], float(mixes[0][n])


def _spec(name: str, config: MatrixConfig) -> GameSpec:
    picks = tuple(Feature(choice, "flag") for choice in config.choices)
    return GameSpec(
        name=name,
        version=1,
        teams=((0,), (1,)),
        blocks=(
            Block("place", 1, (Feature("is_seat_1", "flag", constant=True), Feature("rounds_played", doc="0…1"))),
            Block("own_last", 1, picks),
            Block("their_last", 1, picks),
        ),
        heads=(Head("pick", config.choices),),
        rewards=(RewardTerm("points", doc="the table's entry, minus it for seat 1"),),
        signals=tuple(Signal(f"picked_{choice}", fold="mean") for choice in config.choices),
        max_steps=config.rounds + _PATIENCE,
        bots=(RANDOM_BOT, FIRST_BOT),
        parameters=(("rounds", config.rounds), ("payoff", repr(config.payoff))),
    )


def _game_type(name: str, title: str, config: type[MatrixConfig], aliases: tuple[str, ...]) -> GameType:
    return GameType(
        name=name,
        title=title,
        config=config,
        spec=lambda settings: _spec(name, settings),
        build=lambda settings, matches: MatrixGame(_spec(name, settings), settings, matches),
        aliases=aliases,
        status="thoroughly tested",
    )


PENNIES = _game_type("matching_pennies", "Matching pennies", PenniesConfig, ("pennies",))
ROCK_PAPER_SCISSORS = _game_type("rock_paper_scissors", "Rock, paper, scissors", RockPaperScissorsConfig, ("rps",))
BIASED = _game_type(
    "biased_rock_paper_scissors", "Rock, paper, scissors where rock pays double", BiasedConfig, ("biased_rps",)
)
