"""One iteration of a run: all shards collect, then every trainee learns from all shards' rows."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from pvp_ml.cluster.shards import Piece, Shards
from pvp_ml.errors import UserError
from pvp_ml.rl import win_head
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.normalize import combine, update
from pvp_ml.rl.policy.policy import Anchor
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Constant, Progress
from pvp_ml.rl.shard_learner import RowStats
from pvp_ml.rl.trainee import NonFiniteError, Sums, Trainee
from pvp_ml.run.teachers import load_teacher
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.league import MAIN

FAR = 1e9
"""Mean length of matches, in decisions, while none has ended: all rows then weigh the same."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What all shards brought back."""

    steps: int  # of matches; agent-steps are `seats` times as many
    outcomes: list[Outcome]
    terms: dict[str, float]  # reward term → mean per agent-step, unweighted
    seconds: dict[str, float]  # simulate, infer, other: summed over shards


class _ShardGradients:
    """All shards as one source of gradients for one trainee."""

    def __init__(self, shards: Shards, trainee: Trainee, index: int, facts: list[RowStats], clock: int) -> None:
        self.rows = sum(fact.rows for fact in facts)
        ended, decisions = (sum(part) for part in zip(*(fact.ended for fact in facts), strict=True))
        self._win_length = decisions / ended if ended else FAR
        self._shards = shards
        self._trainee = trainee
        self._index = index
        self._clock = clock

    def gradient(self, epoch: int, part: int, parts: int, weights: LossWeights) -> Sums:
        """Add the gradient of one minibatch's rows, over all shards."""
        piece = Piece(self._clock, epoch, part, parts)
        weights = replace(weights, win_length=self._win_length)
        return self._shards.add_gradient(self._index, self._trainee.gradient, piece, weights)


class Learning:
    """Shards and trainees working together."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        configs = {t.name: t.ppo for t in shards.blueprint.trainees}
        self.trainees = {name: Trainee(name, policy, configs[name]) for name, policy in shards.policies().items()}
        for memory, trainee in zip(shards.memories, self.trainees.values(), strict=True):
            if trainee.config.teacher.model:
                load_teacher(memory.anchors["teacher"], trainee.policy, shards.spec, trainee.config.teacher.model)
            elif trainee.config.teacher.weight != Constant(0.0):
                raise UserError(
                    "ppo.teacher.weight is set, but no teacher",
                    "name a model file in ppo.teacher.model, or give --bc-model FILE",
                )

    @property
    def steps_per_rollout(self) -> int:
        """Match steps of one rollout over all shards: T · M. Agent-steps are `seats` times as many."""
        return self.shards.blueprint.matches * self.shards.blueprint.trainees[0].ppo.n_steps

    def collect(self, progress: Progress) -> Rollouts:
        """A rollout from every shard, under the reward weights of this moment."""
        reports = self.shards.collect(progress)
        spec = self.shards.spec
        steps = self.shards.matches_collected() * self.shards.blueprint.trainees[0].ppo.n_steps
        totals = reduce(np.add, [report.terms for report in reports])
        return Rollouts(
            steps=steps,
            outcomes=[outcome for report in reports for outcome in report.outcomes],
            terms={
                term.name: float(total) / (steps * spec.seats) for term, total in zip(spec.rewards, totals, strict=True)
            },
            seconds={
                part: sum(getattr(report.split, part) for report in reports) for part in ("simulate", "infer", "other")
            },
        )

    def learn(self, progress: Progress) -> dict[str, dict[str, float]]:
        """Every trainee learns from the last rollout; returns its metrics."""
        trainees = list(self.trainees.values())
        novelty = np.array([t.config.novelty_coef.at(progress) for t in trainees], np.float32)
        if novelty.any():
            self.shards.add_novelty(novelty)
        facts = self.shards.finish(self._return_terms(trainees, progress), progress.rollouts)
        metrics = {}
        for k, trainee in enumerate(trainees):
            try:
                metrics[trainee.name] = self._learn_one(trainee, k, [shard[k] for shard in facts], progress)
            except NonFiniteError as error:
                if trainee.name == MAIN:
                    raise
                log.warning("%s; it starts again from the main policy", error)
                self.restart(trainee.name, MAIN)
        foreseen = self.shards.carry()
        for k, name in enumerate(self.trainees):
            if name in metrics:
                metrics[name] |= win_head.metrics(reduce(np.add, [shard[k] for shard in foreseen]))
        self.shards.refresh()
        return metrics

    def _return_terms(self, trainees: list[Trainee], progress: Progress) -> ReturnTerms:
        """γ, λ, scale and limit of every trainee's rewards; the scale knows this rollout."""
        gamma = np.array([t.config.gamma.at(progress) for t in trainees], np.float32)
        lam = np.array([t.config.gae_lambda.at(progress) for t in trainees], np.float32)
        moments = self.shards.reward_moments(gamma)
        for trainee in trainees:
            if trainee.looking > self._forming(trainee, progress):
                trainee.forget_rewards(trainee.looking)
        scale = [t.reward_scale(reduce(combine, [shard[k] for shard in moments])) for k, t in enumerate(trainees)]
        limit = [t.reward_limit(progress) for t in trainees]
        return ReturnTerms(gamma, lam, np.array(scale, np.float32), np.array(limit, np.float32))

    def restart(self, name: str, source: str) -> None:
        """A trainee becomes a copy of another, with a fresh optimiser and nothing that pulls it back."""
        self.trainees[name].become(self.trainees[source])
        copy_policy(self.trainees[name], self.shards.memories[list(self.trainees).index(name)].anchors["magnet"])
        self.shards.refresh()

    def forget_rewards(self, progress: Progress) -> None:
        """What is rewarded has changed: let returns form, measure them for as long again, then learn.

        The critic speaks in units of the reward scale. A scale taken from the first steps of new matches, or still that
        of the old rewards, would make everything that it says wrong at once.
        """
        self.shards.forget_returns()
        for trainee in self.trainees.values():
            trainee.forget_rewards(look=2 * self._forming(trainee, progress))

    def _forming(self, trainee: Trainee, progress: Progress) -> int:
        """Rollouts until a discounted return has its full size: the discount's reach, at most a match."""
        reach = 1.0 / max(1.0 - trainee.config.gamma.at(progress), 1e-9)
        return math.ceil(round(min(reach, self.shards.spec.max_steps) / trainee.config.n_steps, 6))

    def recover(self, ranks: list[int]) -> None:
        """Start new shards for lost ones, and forget what was begun."""
        for trainee in self.trainees.values():
            trainee.gradient.zero_()
        self.shards.recover(ranks)

    def _learn_one(self, trainee: Trainee, index: int, facts: list[RowStats], progress: Progress) -> dict[str, float]:
        rows = sum(fact.rows for fact in facts)
        if progress.rollouts == 0:
            copy_policy(trainee, self.shards.memories[index].anchors["magnet"])
        metrics = {"ppo/rows": float(rows)}
        if math.isfinite(trainee.reward_limit(progress)):
            cut, steps = (sum(fact.limited[i] for fact in facts) for i in (0, 1))
            metrics["ppo/reward_limited"] = cut / max(1, steps)
        if rows and not self._only_looks(trainee):
            mean, deviation = _mean_deviation(rows, [fact.advantage for fact in facts])
            if not trainee.config.normalize_advantages:
                mean, deviation = 0.0, 1.0
            self.shards.normalise_advantages(trainee.name, mean, deviation + 1e-8)
            source = _ShardGradients(self.shards, trainee, index, facts, progress.rollouts)
            metrics |= trainee.learn(source, progress)
            _, residual = _mean_deviation(rows, [fact.advantage for fact in facts])
            _, spread = _mean_deviation(rows, [fact.returns for fact in facts])
            metrics["ppo/explained_variance"] = 1.0 - residual**2 / spread**2 if spread > 1e-8 else math.nan
        self._update_statistics(trainee, facts)
        trainee.looking = max(0, trainee.looking - 1)
        self._refresh_magnet(trainee, index, progress)
        return metrics

    def _only_looks(self, trainee: Trainee) -> bool:
        """Statistics come first: of the first rollout, whose rows were acted on observations of unknown scale, and of
        those after a change of what is rewarded.
        """
        is_blind = trainee.config.normalize_observations and trainee.policy.normalizer["obs/count"][0] < 1.0
        return is_blind or trainee.looking > 0

    def _update_statistics(self, trainee: Trainee, facts: list[RowStats]) -> None:
        statistics = trainee.policy.normalizer
        if trainee.config.normalize_observations:
            update(statistics, "obs", reduce(combine, [fact.obs for fact in facts]))
            if "privileged/mean" in statistics:
                update(statistics, "privileged", reduce(combine, [fact.privileged for fact in facts]))
        if "pick/mean" in statistics:
            update(statistics, "pick", reduce(combine, [fact.picks for fact in facts]))

    def _refresh_magnet(self, trainee: Trainee, index: int, progress: Progress) -> None:
        """Copy the policy when it is time, and as long as nothing is pulled: a magnet begins as the policy itself."""
        every = trainee.config.magnet.refresh
        is_idle = LossWeights.at(trainee.config, trainee.heads, progress).magnet == 0.0
        if is_idle or progress.rollouts == 0 or (every and (progress.rollouts + 1) % every == 0):
            copy_policy(trainee, self.shards.memories[index].anchors["magnet"])


def copy_policy(trainee: Trainee, anchor: Anchor) -> None:
    """Make an anchor equal to the policy as it is now."""
    anchor.flat.copy_(trainee.policy.flat)
    for key, array in anchor.normalizer.items():
        array[:] = trainee.policy.normalizer[key]


def _mean_deviation(rows: int, sums: list[tuple[float, float]]) -> tuple[float, float]:
    mean = sum(total for total, _ in sums) / rows
    square = sum(total for _, total in sums) / rows
    return mean, math.sqrt(max(0.0, square - mean * mean))
