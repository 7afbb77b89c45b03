"""Thinking about one decision: guess, simulate, judge the leaves in one batch, solve.

Shapes: W worlds (guesses of what is hidden), K own choices, J choices of the foe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import scramble
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.briefing import Source
from pvp_ml.games.vgc.node.install import Installation
from pvp_ml.games.vgc.search.candidates import Candidates, candidates
from pvp_ml.games.vgc.search.process import Answer, Ask, SearchProcess
from pvp_ml.games.vgc.search.settings import SearchSettings, fitted
from pvp_ml.games.vgc.search.solve import filled, solve, trusting
from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.model.actor import Actor
from pvp_ml.model.frame_memory import is_forgetful

LOOK_S, SIMULATE_S = 60.0, 300.0
LEAST = 0.03  # shares of a mixed strategy below this are noise of the solver
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Thought:
    """What came of thinking. Without simulations the strategy is the policy's own."""

    own: Candidates
    strategy: Floats  # [K]
    value: float = 0.0  # −1 to 1
    foes: tuple[Candidates, ...] = ()  # by world
    replies: tuple[Floats, ...] = ()  # by world: the foe's mixed strategy
    payoff: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))  # [W,K,J]
    simulations: int = 0
    declined: str = ""  # why nothing was simulated

    def choice(self, draw: float, sample: bool) -> int:
        """Row of `own` that is played; `draw` is from 0 to 1."""
        if not sample:
            return int(np.argmax(self.strategy))
        return min(int(np.searchsorted(np.cumsum(self.strategy), draw, side="right")), len(self.strategy) - 1)


class Thinker:
    """A model and a process to simulate in. One thread at a time."""

    def __init__(self, actor: Actor, installation: Installation, settings: SearchSettings) -> None:
        network = actor.network
        if not is_forgetful(network):
            raise UserError("a search needs a model without memory and stacked frames", "e.g. GeneralistVgc")
        if network.privileged and not network.win_head:
            raise UserError(
                "this model's critic reads what a seat cannot see", "search with a model that has a win head"
            )
        self._actor, self.settings = actor, fitted(settings)
        self.process = SearchProcess(installation, actor.interface.obs_size)
        self._read: dict[str, int] = {}  # room → lines that the process has heard
        self._life = 0
        self.limit_ms: int | None = None  # somebody else's clock

    def think(self, source: Source, seed: int, usage: dict[str, Any] | None = None) -> Thought:
        """The decision that the source asks for now. The same knowledge, seed and settings give the same thought."""
        answer = self._look(source, seed, usage)
        mask = self._mask(answer.facts["mask"])
        own = candidates(self._actor, answer.rows[0], mask, self.settings.width)
        plain = own.prior / own.prior.sum()
        if answer.facts["declined"] or len(own.actions) == 1:
            return Thought(own, plain, self._judge(answer.rows[:1]), declined=answer.facts["declined"])
        foes = [
            candidates(self._actor, row, self._mask(columns), self.settings.width) if columns else _NOTHING
            for row, columns in zip(answer.rows[1:], answer.facts["foes"], strict=True)
        ]
        return self._solve(source.room, own, foes, seed)

    def heard(self, room: str) -> None:
        """The process knows this room from elsewhere; nothing of it has to be read."""
        self._life = self.process.lives
        self._read[room] = 0

    @staticmethod
    def acts(foe: Candidates) -> bool:
        """Whether these are choices, and not those of a foe that is not asked."""
        return foe is not _NOTHING

    def forget(self, room: str) -> None:
        """The battle is over."""
        if self._read.pop(room, None) is not None and self._life == self.process.lives and self.process.pid:
            self.process.ask(Ask.FORGET, {"room": room}, LOOK_S)

    def expected(self, room: str, own: Candidates, foe: Candidates, picks: tuple[int, int], seed: int) -> list[str]:
        """The log of one simulated turn of the first world with these rows of both."""
        message = self._order(room, own, [foe], [(0, picks[0], picks[1], 0)], seed) | {"log": True}
        logs = self.process.ask(Ask.SIMULATE, message, SIMULATE_S).facts["logs"]
        return [str(line) for line in logs[0]] if logs else []

    def _look(self, source: Source, seed: int, usage: dict[str, Any] | None) -> Answer:
        if self._life != self.process.lives or not self.process.pid:
            self._read.clear()  # a new process has heard nothing
        room = source.room
        briefing = source.read(self._read.get(room, 0))
        message = {
            "room": room, "format": briefing.format, "lines": briefing.lines, "request": briefing.request,
            "worlds": self.settings.worlds, "seed": str(scramble(seed)), "usage": usage,
        }  # fmt: skip
        answer = self.process.ask(Ask.LOOK, message, LOOK_S)
        self._life = self.process.lives
        self._read[room] = briefing.next
        return answer

    def _solve(self, room: str, own: Candidates, foes: list[Candidates], seed: int) -> Thought:
        settings = self.settings
        k, widest = len(own.actions), max(len(foe.actions) for foe in foes)
        order = list(cells(k, [len(foe.actions) for foe in foes], settings))
        message = self._order(room, own, foes, order, seed)
        ms = min([given for given in (settings.ms, self.limit_ms) if given], default=0)
        answer = self.process.ask(Ask.SIMULATE, message | {"ms": ms}, SIMULATE_S + ms / 1000.0)
        worth = self._leaves(answer)
        total, count = np.zeros((2, len(foes), k, widest))
        for (world, i, j, _), value, valid in zip(order, worth, answer.facts["valid"], strict=False):
            total[world, i, j] += value * valid
            count[world, i, j] += valid
        if not count.any():
            return Thought(own, own.prior / own.prior.sum(), declined="no simulated turn was possible")
        payoff = filled(total, count)
        prior, allowed = np.zeros((2, len(foes), widest))
        for world, foe in enumerate(foes):
            prior[world, : len(foe.prior)] = foe.prior / foe.prior.sum()
            allowed[world, : len(foe.prior)] = 1.0
        lean = settings.caution * np.log(np.maximum(own.prior, 1e-4))
        solution = solve(trusting(payoff, prior, settings.trust) + lean[None, :, None], allowed > 0)
        strategy = np.where(solution.own < LEAST, 0.0, solution.own)
        strategy /= strategy.sum()
        replies = (1.0 - settings.trust) * solution.foe + settings.trust * prior
        value = float(np.einsum("wkj,k,wj->", payoff, strategy, replies) / len(foes))
        trimmed = tuple(reply[: len(foe.prior)] for reply, foe in zip(replies, foes, strict=True))
        return Thought(own, strategy, value, tuple(foes), trimmed, payoff, len(worth))

    def _order(
        self, room: str, own: Candidates, foes: list[Candidates], order: list[tuple[int, int, int, int]], seed: int
    ) -> dict[str, Any]:
        """The question for these cells; all own choices meet the same luck in the same column."""
        return {
            "room": room,
            "own": own.actions.tolist(),
            "foes": [foe.actions.tolist() for foe in foes],
            "cells": [
                [world, i, j if foes[world] is not _NOTHING else -1, str(scramble(seed, world, j, repeat))]
                for world, i, j, repeat in order
            ],
        }

    def _leaves(self, answer: Answer) -> Floats:
        """[n]: worth of each simulated turn to us, all judged in one batch."""
        results, blend = answer.facts["results"], self.settings.blend
        worth = np.array([0.0 if result is None else float(result) for result in results])
        open_ = np.array(
            [result is None and bool(valid) for result, valid in zip(results, answer.facts["valid"], strict=True)]
        )
        if open_.any():
            material = np.array(answer.facts["material"])[open_]
            judged = self._judged(answer.rows) if blend < 1.0 else np.zeros(len(material))
            worth[open_] = (1.0 - blend) * judged + blend * material
        return worth

    def _judge(self, rows: FloatArray) -> float:
        return float(self._outlook(rows)[0])

    def _judged(self, rows: FloatArray) -> Floats:
        """[n] of rows [2n,D], ours and the foe's in turn: what we expect, less what the foe does."""
        both = self._outlook(rows)
        return np.asarray((both[0::2] - both[1::2]) / 2.0)

    def _outlook(self, rows: FloatArray) -> Floats:
        """[n]: −1 to 1, what the model expects for whoever sees this."""
        if self._actor.network.win_head:
            wins = 1.0 / (1.0 + np.exp(-self._actor.win_logit(self._actor.features(rows))))
            return np.asarray(2.0 * wins - 1.0)
        value, _ = self._actor.evaluate(rows)
        return np.clip(value.astype(np.float64), -1.0, 1.0)

    def _mask(self, columns: list[int]) -> BoolArray:
        mask = np.zeros(self._actor.interface.mask_size, np.bool_)
        mask[columns] = True
        return mask


_NOTHING = Candidates(np.zeros((1, 3), np.int32), np.ones(1))
"""A foe that is not asked anything."""


def cells(own: int, foes: list[int], settings: SearchSettings) -> Iterator[tuple[int, int, int, int]]:
    """(world, own row, foe's row, repeat) in the order in which they are worth simulating, as many as the budget has.

    The likeliest choices of both come first, in growing squares; when the budget is larger than all squares, they are
    simulated again with other luck.
    """
    fits = max(2, int((settings.simulations / len(foes)) ** 0.5))
    wide = [min(count, max(fits, settings.simulations // (len(foes) * min(own, fits)))) for count in foes]
    tall = min(own, max(2, settings.simulations // max(1, sum(wide))))
    square = [
        (world, i, j)
        for shell in range(max(tall, *wide))
        for world in range(len(foes))
        for i in range(min(shell + 1, tall))
        for j in range(min(shell + 1, wide[world]))
        if max(i, j) == shell
    ]
    for n in range(settings.simulations):
        repeat, place = divmod(n, len(square))
        yield (*square[place], repeat)
