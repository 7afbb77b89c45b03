"""Learning from a coach: the pupil plays, a bot of the game or a model says what it would have done in its place.

A clone of recorded matches has never seen what its own mistakes lead to. Here the pupil's own states are labelled while
it plays, so what it learns is about where it really gets to (Ross et al. 2011, DAgger). One process; feed-forward
policies; the critic is not touched. D features, A sum of head sizes, H heads, B rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from pvp_ml.chance import mix, uniform
from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.match import AsyncVecGame, BoolArray, Bot, External, FloatArray, IntArray, MatchPlan, Occupant, VecGame
from pvp_ml.model.actor import Actor
from pvp_ml.model.frame_memory import is_forgetful
from pvp_ml.model.sampling.heads import legal_given
from pvp_ml.players import KeyArray, SerialArray
from pvp_ml.rl.bc import NEVER_VARIED, take_new_statistics, take_statistics
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.run.config.coach import CoachConfig as CoachConfig
from pvp_ml.selfplay.plans import stream_seed
from pvp_ml.selfplay.record import AdvisingGame

PUPIL = "pupil"


@dataclass(frozen=True, slots=True)
class Round:
    """What came of a round: mean cross-entropy in nats, and how often the pupil did what the coach would have done."""

    number: int
    rows: int
    loss: float
    agreement: float


class Notebook:
    """The last decisions [capacity], each with what the coach would have done; the oldest are overwritten."""

    def __init__(self, capacity: int, obs_size: int, mask_size: int, heads: int) -> None:
        self.obs: FloatArray = np.empty((capacity, obs_size), np.float32)
        self.mask: BoolArray = np.empty((capacity, mask_size), np.bool_)
        self.actions: IntArray = np.empty((capacity, heads), np.int32)
        self.count = 0  # written so far

    def write(self, obs: FloatArray, mask: BoolArray, actions: IntArray) -> None:
        """Add B rows."""
        at = (self.count + np.arange(len(obs))) % len(self.obs)
        self.obs[at], self.mask[at], self.actions[at] = obs, mask, actions
        self.count += len(obs)

    def __len__(self) -> int:
        """Rows to learn from."""
        return min(self.count, len(self.obs))


class Coach(Protocol):
    """Says what it would do in the pupil's place."""

    def advice(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """Actions [B,H]; −1 in rows without advice."""


class BotCoach:
    """A bot of the game, which knows its state."""

    def __init__(self, game: VecGame | AsyncVecGame, bot: str) -> None:
        if not isinstance(game, AdvisingGame):
            raise UserError(
                f"the bots of '{game.spec.name}' cannot advise", "choose a game whose bots say what they would do"
            )
        game.advise(bot)
        self._game = game

    def advice(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """As the game tells."""
        return self._game.advice(serials, seats)


class ModelCoach:
    """A trained model. It draws its advice, so that the pupil learns how it mixes its choices.

    Features that never varied while it was trained are blank to it: one from 1v1 advises in 2v2 as if it were alone.
    """

    def __init__(self, actor: Actor) -> None:
        if not is_forgetful(actor.network) or actor.network.privileged:
            raise UserError("a coach is a model without memory, stacked frames and hidden facts", "name another model")
        self._actor = actor
        self._is_blank = actor.statistics["obs/var"] < NEVER_VARIED
        self._blank = actor.statistics["obs/mean"][self._is_blank].astype(np.float32)

    def advice(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """Drawn from its policy."""
        seen, out = obs.copy(), self._actor.heads.decision(len(obs))
        seen[:, self._is_blank] = self._blank
        self._actor.act(seen, mask.copy(), mix(keys), np.zeros(len(obs), np.bool_), out)
        return out.actions


class Pupil:
    """Plays the policy as it is now, or what the coach says in the matches that it is shown; notes every advice."""

    def __init__(self, policy: Policy, adviser: Coach, notebook: Notebook, greedy: float) -> None:
        self.actor, self._coach, self._notebook, self._greedy = policy.actor(), adviser, notebook, greedy
        self.shown = 1.0
        self.same = self.asked = 0

    def begin(self, serials: SerialArray) -> None:
        """Nothing is remembered."""

    def end(self, serials: SerialArray) -> None:
        """Nothing is remembered."""

    def decide(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """Sampled or likeliest choices; the coach's in a share of the matches."""
        advice = self._coach.advice(serials, seats, obs, mask, keys)
        given = (advice >= 0).all(1)
        self._notebook.write(obs[given], mask[given], advice[given])
        out = self.actor.heads.decision(len(obs))
        chance = uniform(serials.astype(np.uint64), 2)
        self.actor.act(obs, mask.copy(), keys, chance[:, 1] < self._greedy, out)
        self.same += int((out.actions == advice).all(1).sum())
        self.asked += len(obs)
        return np.where(((chance[:, 0] < self.shown) & given)[:, None], advice, out.actions).astype(np.int32)


def coach(game: VecGame | AsyncVecGame, policy: Policy, config: CoachConfig, seed: int,
          tell: Callable[[Round], None] = lambda done: None, model: Actor | None = None) -> None:  # fmt: skip
    """Teach the policy in place; `tell` is called after every round and may raise KeyboardInterrupt to stop.

    The model coaches if there is one, else the bot. A policy that has learned before keeps its observation statistics.
    """
    spec = game.spec
    for name in (*filter(None, [config.bot]), *config.opponents):
        if name not in spec.bots:
            raise UserError(f"'{spec.name}' has no bot '{name}'", f"bots: {', '.join(spec.bots) or 'none'}")
    if policy.network.memory or len(policy.network.frames) > 1 or policy.network.privileged:
        raise UserError("coaching is for networks without memory and stacked frames", "see network.memory and frames")
    adviser = BotCoach(game, config.bot) if model is None else ModelCoach(model)
    notebook = Notebook(config.memory, spec.obs_size, spec.mask_size, len(spec.heads))
    pupil = Pupil(policy, adviser, notebook, config.greedy)
    table, plans = Table(game, {PUPIL: pupil}), _Plans(game, config, seed)
    table.queue(plans.more(2 * game.matches))
    table.start()
    lesson, is_new = _Lesson(policy, config, seed), policy.normalizer["obs/count"][0] < 1.0
    for number in range(config.rounds):
        pupil.same = pupil.asked = 0
        pupil.shown = shown_in(number / config.rounds, config.shown)
        while pupil.asked < config.rows:
            table.decide()
            table.step()
            table.queue(plans.more(len(table.plans_over)))
        if number == 0:  # the first round's states say what is large and what is small
            seen = len(notebook)
            if is_new:
                take_statistics(policy, notebook.obs[:seen], notebook.actions[:seen])
            else:
                take_new_statistics(policy, notebook.obs[:seen])
            pupil.actor.refresh()
        loss = lesson.learn(notebook, number / config.rounds)
        tell(Round(number, notebook.count, loss, pupil.same / pupil.asked))


def shown_in(progress: float, final: float) -> float:
    """Share of the matches that the coach plays: all at the start, falling straight to `final` at a third of it."""
    return max(final, 1.0 - 3.0 * progress * (1.0 - final))


class _Plans:
    """Matches against each opponent in turn and against itself, seats in turn, scenarios as configured."""

    def __init__(self, game: VecGame | AsyncVecGame, config: CoachConfig, seed: int) -> None:
        self._teams, self._seats, self._seed, self._next = game.spec.teams, game.spec.seats, seed, 0
        self._rivals: list[Occupant] = [External(PUPIL), *(Bot(name) for name in config.opponents)]

    def more(self, count: int) -> list[MatchPlan]:
        """The next plans."""
        made = []
        for number in range(self._next, self._next + count):
            rival, home = self._rivals[number % len(self._rivals)], number // len(self._rivals) % len(self._teams)
            lineup = [rival] * self._seats
            for seat in self._teams[home]:
                lineup[seat] = External(PUPIL)
            made.append(MatchPlan(number, stream_seed("recording", self._seed, number), tuple(lineup)))
        self._next += count
        return made


class _Lesson:
    """Adam over the actor's weights."""

    def __init__(self, policy: Policy, config: CoachConfig, seed: int) -> None:
        self._policy, self._config, self._heads = policy, config, policy.actor().heads
        self._rng = np.random.default_rng([seed, 1])
        self._gradient = torch.zeros(policy.size)
        policy.bind_gradients(self._gradient)
        self._weights = torch.nn.Parameter(policy.flat[: policy.critic_start])
        self._weights.grad = self._gradient[: policy.critic_start]
        self._adam = torch.optim.Adam([self._weights], lr=config.learning_rate)

    def learn(self, notebook: Notebook, progress: float) -> float:
        """One round's minibatches, drawn from everything that is kept; the mean loss."""
        config = self._config
        self._adam.param_groups[0]["lr"] = config.learning_rate * math.exp(progress * math.log(0.05))
        batches = max(1, round(config.rows * config.passes / config.batch_size))
        total = 0.0
        for _ in range(batches):
            picked = self._rng.integers(len(notebook), size=min(config.batch_size, len(notebook)))
            total += self._step(notebook, picked)
        return total / batches

    def _step(self, notebook: Notebook, picked: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        policy, actions = self._policy, notebook.actions[picked]
        legal = legal_given(self._heads, notebook.mask[picked], actions)
        self._gradient.zero_()
        obs, chosen = torch.from_numpy(notebook.obs[picked]), torch.from_numpy(actions).long()
        loss = -policy.evaluate(obs, None, torch.from_numpy(legal), chosen).log_prob.mean()
        torch.autograd.backward(loss)
        self._adam.step()
        return float(loss.detach())
