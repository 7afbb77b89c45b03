"""Kuhn poker: three cards, two seats, one bet. The smallest game where hiding what you hold is worth something.

Both seats pay 1 and get one card. The one who starts passes or bets 1; the other answers; after pass and bet the
starter answers once more. Equal payments show the cards, a pass against a bet gives up. Value for the starter: −1/18.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.array_game import RANDOM_BOT, START_SCENARIOS, Rows, TableGame, starters
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IntArray, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

CARDS = ("jack", "queen", "king")
PASS, BET = 0, 1
_DEALS = np.array([(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)], np.int8)

# Stages of a match: nothing said yet, starter passed, starter bet, pass then bet.
OPEN, PASSED, BETTED, PASSED_BETTED = range(4)
_NEXT = np.array([[PASSED, BETTED], [-1, PASSED_BETTED], [-1, -1], [-1, -1]], np.int8)  # [stage, move]; −1 = over
_STAKE = np.array([[0, 0], [1, 0], [1, 2], [1, 2]], np.float32)  # [stage, move]: chips at stake when it is over
_STARTER_FOLDS, _OTHER_FOLDS = (PASSED_BETTED, PASS), (BETTED, PASS)


class KuhnConfig(GameConfig):
    """Nothing to set."""


class KuhnGame(TableGame):
    """M matches. The seed deals the cards and, in scenario `default`, says who starts."""

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self.starter = self.hold("starter", (), np.int8, (0, 1))  # seat
        self.card = self.hold("card", (2,), np.int8, (0, len(CARDS) - 1))  # by seat
        self.stage = self.hold("stage", (), np.int8, (OPEN, PASSED_BETTED))
        self._every = np.arange(matches)
        self._one_hot = np.eye(3, dtype=np.float32)

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """Two different cards and a starter."""
        self.card[rows] = _DEALS[(self.chance(rows, 0) * 6).astype(np.int64)]
        self.starter[rows] = starters(self.scenario[rows], self.chance(rows, 1))
        self.stage[rows] = OPEN

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """The seat with the turn moves."""
        seat = self._mover()
        move, stage = picks[self._every, seat, 0], self.stage.copy()
        after = _NEXT[stage, move]
        np.logical_and(ready, after < 0, out=out.ended)
        self.stage[ready] = after[ready]
        out.signals[self._every, seat, 0] = (move == BET) * ready
        rows = np.flatnonzero(out.ended)
        if not len(rows):
            return
        starter, stage, move = self.starter[rows], stage[rows], move[rows]
        best = np.where(self.card[rows, starter] > self.card[rows, 1 - starter], 1, -1)
        best[(stage == _STARTER_FOLDS[0]) & (move == _STARTER_FOLDS[1])] = -1
        best[(stage == _OTHER_FOLDS[0]) & (move == _OTHER_FOLDS[1])] = 1
        chips = best * _STAKE[stage, move]
        out.reward[rows, starter, 0], out.reward[rows, 1 - starter, 0] = chips, -chips
        out.result[rows, starter], out.result[rows, 1 - starter] = best, -best

    def observe(self, rows: Rows) -> None:
        """A seat sees its card, its place and what was said; the critic also sees the other card."""
        starter, stage = self.starter[rows], self.stage[rows]
        said = np.stack([(stage == PASSED) | (stage == PASSED_BETTED), (stage == BETTED) | (stage == PASSED_BETTED)], 1)
        self.obs[rows, :, :3] = self._one_hot[self.card[rows]]
        self.obs[rows, 0, 3], self.obs[rows, 1, 3] = starter == 0, starter == 1
        self.obs[rows, :, 4:] = said[:, None]
        self.privileged[rows] = self._one_hot[self.card[rows][:, ::-1]]
        mover = self._mover()[rows]
        self.turn[rows] = (mover[:, None] == np.arange(2)) & (stage >= 0)[:, None]
        self.mask[rows] = self.turn[rows][:, :, None]

    def _mover(self) -> npt.NDArray[np.int64]:
        """The seat that moves now: the starter when nothing was said or when it must answer a bet."""
        second = (self.stage == PASSED) | (self.stage == BETTED)
        return np.asarray((self.starter ^ second).astype(np.int64))

    def describe(self, row: int) -> dict[str, Any]:
        """Cards by seat, the starter and the stage."""
        stage = ("open", "passed", "bet", "passed, bet")[self.stage[row]]
        return {"cards": [CARDS[c] for c in self.card[row]], "starter": int(self.starter[row]), "stage": stage}


def _spec(_: KuhnConfig) -> GameSpec:
    card = Block("card", 1, tuple(Feature(name, "flag", partial=True, constant=True) for name in CARDS))
    return GameSpec(
        name="kuhn",
        version=1,
        teams=((0,), (1,)),
        blocks=(
            card,
            Block(
                "table",
                1,
                (
                    Feature("is_starter", "flag", constant=True),
                    Feature("starter_passed", "flag"),
                    Feature("somebody_bet", "flag"),
                ),
            ),
        ),
        privileged=(Block("their_card", 1, card.features),),
        heads=(Head("move", ("pass", "bet"), doc="pass = check or fold, bet = bet or call"),),
        rewards=(RewardTerm("chips", "chips", "won or lost: 1 or 2"),),
        signals=(Signal("bet", "moves"),),
        max_steps=16,
        bots=(RANDOM_BOT,),
        scenarios=START_SCENARIOS,
    )


GAME = GameType(
    name="kuhn",
    title="Kuhn poker",
    config=KuhnConfig,
    spec=_spec,
    build=lambda config, matches: KuhnGame(_spec(config), matches),
    aliases=("kuhn_poker",),
    status="thoroughly tested",
    symmetric=True,
)
