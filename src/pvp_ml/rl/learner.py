"""From a filled rollout to new weights: returns → advantages → epochs → statistics. Read `Learner.learn` first.

Rows and gradients stay in the shards (`shard_learner`), the optimiser is the trainee's; this module says what comes
after what. It knows no game and no disk.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.match import MAIN, FloatArray
from pvp_ml.rl import win_head
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.normalize import Moments, combine, update
from pvp_ml.rl.policy.policy import Anchor
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.shard_learner import Piece, RowStats
from pvp_ml.rl.trainee import NonFiniteError, Sums, Trainee

FAR = 1e9
"""Mean length of matches, in decisions, while none has ended: all rows then weigh the same."""

log = logging.getLogger(__name__)


class GradientShards(Protocol):
    """Who holds the rows and gives gradients. Lists are over the shards of the last rollout, in rank order."""

    def add_novelty(self, coefficients: FloatArray) -> None:
        """Pay each trainee for the unusual."""

    def reward_moments(self, gamma: FloatArray) -> list[list[Moments]]:
        """Per shard and trainee: moments of the discounted rewards."""

    def forget_returns(self) -> None:
        """What was collected so far in running matches was paid for something else."""

    def finish(self, terms: ReturnTerms, clock: int = 0) -> list[list[RowStats]]:
        """Advantages of all rows; per shard and trainee what is known of them. `clock` is the rollout's number."""

    def normalise_advantages(self, name: str, mean: float, deviation: float) -> None:
        """Use (advantage − mean) / deviation from now on."""

    def add_gradient(
        self, index: int, target: torch.Tensor, piece: Piece, weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """Add a trainee's summed gradient to `target`, shard after shard in rank order; returns the loss's sums."""

    def carry(self) -> list[list[npt.NDArray[np.float64]]]:
        """Learning is over: keep rows whose next decision has not come.

        Returns per shard and trainee how well its win head foresaw the matches that ended, as `win_head.measure` does.
        """

    def refresh(self) -> None:
        """Weights or statistics changed."""


class Learner:
    """The trainees of a run, and how each learns from all shards' rows."""

    def __init__(
        self,
        shards: GradientShards,
        trainees: dict[str, Trainee],
        anchors: Sequence[Mapping[str, Anchor]],
        max_steps: int,
    ) -> None:
        """`anchors[i]` belong to the i-th trainee; `max_steps` is the game's longest match."""
        self.trainees = trainees
        self._shards = shards
        self._anchors = anchors
        self._max_steps = max_steps

    def learn(self, progress: Progress) -> dict[str, dict[str, float]]:
        """Every trainee learns from the last rollout; returns its metrics."""
        trainees = list(self.trainees.values())
        novelty = np.array([t.config.novelty_coef.at(progress) for t in trainees], np.float32)
        if novelty.any():
            self._shards.add_novelty(novelty)
        stats = self._shards.finish(self._return_terms(trainees, progress), progress.rollouts)
        metrics = {}
        for k, trainee in enumerate(trainees):
            try:
                metrics[trainee.name] = self._learn_one(trainee, k, [shard[k] for shard in stats], progress)
            except NonFiniteError as error:
                if trainee.name == MAIN:
                    raise
                log.warning("%s; it starts again from the main policy", error)
                self.restart(trainee.name, MAIN)
        foreseen = self._shards.carry()
        for k, name in enumerate(self.trainees):
            if name in metrics:
                metrics[name] |= win_head.metrics(reduce(np.add, [shard[k] for shard in foreseen]))
        self._shards.refresh()
        return metrics

    def _learn_one(self, trainee: Trainee, index: int, stats: list[RowStats], progress: Progress) -> dict[str, float]:
        rows = sum(one.rows for one in stats)
        if progress.rollouts == 0:
            copy_policy(trainee, self._anchors[index]["magnet"])
        metrics = {"ppo/rows": float(rows)}
        if math.isfinite(trainee.reward_limit(progress)):
            cut, steps = (sum(one.limited[i] for one in stats) for i in (0, 1))
            metrics["ppo/reward_limited"] = cut / max(1, steps)
        if rows and not self._only_looks(trainee):
            mean, deviation = _mean_deviation(rows, [one.advantage for one in stats])
            if not trainee.config.normalize_advantages:
                mean, deviation = 0.0, 1.0
            self._shards.normalise_advantages(trainee.name, mean, deviation + 1e-8)
            source = _ShardGradients(self._shards, trainee, index, stats, progress.rollouts)
            metrics |= trainee.learn(source, progress)
            _, residual = _mean_deviation(rows, [one.advantage for one in stats])
            _, spread = _mean_deviation(rows, [one.returns for one in stats])
            metrics["ppo/explained_variance"] = 1.0 - residual**2 / spread**2 if spread > 1e-8 else math.nan
        self._update_statistics(trainee, stats)
        trainee.looking = max(0, trainee.looking - 1)
        self._refresh_magnet(trainee, index, progress)
        return metrics

    def _return_terms(self, trainees: list[Trainee], progress: Progress) -> ReturnTerms:
        """γ, λ, scale and limit of every trainee's rewards; the scale knows this rollout."""
        gamma = np.array([t.config.gamma.at(progress) for t in trainees], np.float32)
        lam = np.array([t.config.gae_lambda.at(progress) for t in trainees], np.float32)
        moments = self._shards.reward_moments(gamma)
        for trainee in trainees:
            if trainee.looking > self._forming(trainee, progress):
                trainee.forget_rewards(trainee.looking)
        scale = [t.reward_scale(reduce(combine, [shard[k] for shard in moments])) for k, t in enumerate(trainees)]
        limit = [t.reward_limit(progress) for t in trainees]
        return ReturnTerms(gamma, lam, np.array(scale, np.float32), np.array(limit, np.float32))

    def _only_looks(self, trainee: Trainee) -> bool:
        """Statistics come first: of the first rollout, whose rows were acted on observations of unknown scale, and of
        those after a change of what is rewarded.
        """
        is_blind = trainee.config.normalize_observations and trainee.policy.normalizer["obs/count"][0] < 1.0
        return is_blind or trainee.looking > 0

    def _update_statistics(self, trainee: Trainee, stats: list[RowStats]) -> None:
        statistics = trainee.policy.normalizer
        if trainee.config.normalize_observations:
            update(statistics, "obs", reduce(combine, [one.obs for one in stats]))
            if "privileged/mean" in statistics:
                update(statistics, "privileged", reduce(combine, [one.privileged for one in stats]))
        if "pick/mean" in statistics:
            update(statistics, "pick", reduce(combine, [one.picks for one in stats]))

    def _refresh_magnet(self, trainee: Trainee, index: int, progress: Progress) -> None:
        """Copy the policy when it is time, and as long as nothing is pulled: a magnet begins as the policy itself.

        Between copies it may follow slowly, as an exponential average of the weights.
        """
        config, magnet = trainee.config.magnet, self._anchors[index]["magnet"]
        is_idle = LossWeights.at(trainee.config, trainee.heads, progress).magnet == 0.0
        is_time = config.refresh and (progress.rollouts + 1) % config.refresh == 0
        if is_idle or is_time or progress.rollouts == 0:
            copy_policy(trainee, magnet)
        elif config.average:
            drift_to_policy(trainee, magnet, config.average)

    def restart(self, name: str, source: str) -> None:
        """A trainee becomes a copy of another, with a fresh optimiser and nothing that pulls it back."""
        self.trainees[name].become(self.trainees[source])
        copy_policy(self.trainees[name], self._anchors[list(self.trainees).index(name)]["magnet"])
        self._shards.refresh()

    def forget_rewards(self, progress: Progress) -> None:
        """What is rewarded has changed: let returns form, measure them for as long again, then learn.

        The critic speaks in units of the reward scale. A scale taken from the first steps of new matches, or still that
        of the old rewards, would make everything that it says wrong at once.
        """
        self._shards.forget_returns()
        for trainee in self.trainees.values():
            trainee.forget_rewards(look=2 * self._forming(trainee, progress))

    def _forming(self, trainee: Trainee, progress: Progress) -> int:
        """Rollouts until a discounted return has its full size: the discount's reach, at most a match."""
        reach = 1.0 / max(1.0 - trainee.config.gamma.at(progress), 1e-9)
        return math.ceil(round(min(reach, self._max_steps) / trainee.config.n_steps, 6))


class _ShardGradients:
    """All shards as one source of gradients for one trainee."""

    def __init__(self, shards: GradientShards, trainee: Trainee, index: int, stats: list[RowStats], clock: int) -> None:
        self.rows = sum(one.rows for one in stats)
        ended, decisions = (sum(part) for part in zip(*(one.ended for one in stats), strict=True))
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


def copy_policy(trainee: Trainee, anchor: Anchor) -> None:
    """Make an anchor equal to the policy as it is now."""
    anchor.flat.copy_(trainee.policy.flat)
    for key, array in anchor.normalizer.items():
        array[:] = trainee.policy.normalizer[key]


def drift_to_policy(trainee: Trainee, anchor: Anchor, share: float) -> None:
    """Move an anchor's weights, mean and variance that share of the way to the policy's."""
    anchor.flat.lerp_(trainee.policy.flat.detach(), share)
    for key, array in anchor.normalizer.items():
        array += share * (trainee.policy.normalizer[key] - array)


def _mean_deviation(rows: int, sums: list[tuple[float, float]]) -> tuple[float, float]:
    mean = sum(total for total, _ in sums) / rows
    square = sum(total for _, total in sums) / rows
    return mean, math.sqrt(max(0.0, square - mean * mean))
