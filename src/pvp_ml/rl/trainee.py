"""A policy that is being trained: its optimiser, its reward scale, and the update loop.

Gradients come from shards through `GradientSource`; this class never sees a game. Everything here runs in one process,
which alone changes weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.model.actor import EPSILON, Array
from pvp_ml.rl.loss import SUMS, LossWeights, PpoConfig
from pvp_ml.rl.normalize import Moments, update
from pvp_ml.rl.optimizer import FlatAdam, clip_gradient
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.schedule.schedule import Constant, Progress

Sums = npt.NDArray[np.float64]
MAX_BAD_STEPS = 5
SMALLEST_RETURN = 1e-4
"""Returns below it are taken for none: before the first reward nothing is known of their size."""


class NonFiniteError(Exception):
    """Several updates in a row had no finite gradient; the weights are those before the first of them.

    `facts` is JSON for a diagnostic file: which tensors, when, under which settings.
    """

    def __init__(self, message: str, facts: dict[str, Any]) -> None:
        super().__init__(message)
        self.facts = facts


class GradientSource(Protocol):
    """Where gradients come from: all shards together."""

    rows: int

    def gradient(self, epoch: int, part: int, parts: int, weights: LossWeights) -> Sums:
        """Add the summed gradient of one minibatch's rows to the trainee's gradient; returns the loss's sums."""


class Trainee:
    """Name, policy, optimiser and statistics; `learn` turns a rollout into better weights."""

    def __init__(self, name: str, policy: Policy, config: PpoConfig) -> None:
        self.name = name
        self.policy = policy
        self.config = config
        self.heads = tuple(head.name for head in policy.interface.heads)
        self.gradient = torch.zeros(policy.size, device=policy.device)
        self.reward_statistics: dict[str, Array] = {
            "reward/mean": np.zeros(1),
            "reward/var": np.ones(1),
            "reward/count": np.array([EPSILON]),
        }
        self.updates = 0
        self.skipped = 0
        self.looking = 0  # rollouts left in which rewards are only measured
        self._bad_in_a_row = 0
        self._adam = FlatAdam(policy, self.gradient, config.freeze, config.adam_epsilon)

    def reward_scale(self, batch: Moments) -> float:
        """Fold the rollout's discounted returns into the statistic; returns what rewards are multiplied by."""
        if not self.config.normalize_rewards:
            return 1.0
        update(self.reward_statistics, "reward", batch)
        mean, var = self.reward_statistics["reward/mean"][0], self.reward_statistics["reward/var"][0]
        size = math.sqrt(var + mean * mean)  # about zero, not about the mean: a constant reward keeps a finite scale
        return 1.0 / size if size > SMALLEST_RETURN else 1.0

    def reward_limit(self, progress: Progress) -> float:
        """Limit of a step's normalised reward; infinite where rewards are taken as they are."""
        limit = self.config.reward_limit
        return limit.at(progress) if limit is not None and self.config.normalize_rewards else math.inf

    def forget_rewards(self, look: int = 0) -> None:
        """Re-measure the size of returns in the next `look` rollouts, without learning from them."""
        self.looking = look
        for part, value in (("mean", 0.0), ("var", 1.0), ("count", EPSILON)):
            self.reward_statistics[f"reward/{part}"][0] = value

    def learn(self, source: GradientSource, progress: Progress) -> dict[str, float]:
        """All epochs over one rollout; returns the metrics."""
        config = self.config
        weights = LossWeights.at(config, self.heads, progress)
        rate = config.learning_rate.at(progress)
        critic_rate = rate if config.critic_learning_rate is None else config.critic_learning_rate.at(progress)
        self._adam.set_rates(rate, critic_rate)
        self._adam.teach(actor=weights.policy > 0.0)
        limit = config.max_grad_norm.at(progress)
        target = config.target_kl.at(progress) if config.target_kl else math.inf
        parts = max(1, round(source.rows / config.batch_size))
        total = np.zeros(len(SUMS) + len(self.heads))
        norms: list[tuple[float, float, float]] = []
        epochs = 0
        for epoch in range(config.n_epochs):
            epoch_sums = np.zeros_like(total)
            rows = 0.0
            for part in range(parts):
                sums = source.gradient(epoch, part, parts, weights)
                epoch_sums += sums if np.isfinite(sums).all() else 0.0
                rows += sums[0]
                if (part + 1) % config.gradient_accumulation == 0 or part + 1 == parts:
                    norms.append(self._step(rows, limit))
                    rows = 0.0
            total += epoch_sums
            epochs += 1
            if epoch_sums[SUMS.index("kl")] / max(1.0, epoch_sums[0]) > target:
                break
        return self._metrics(total, norms, epochs, rate)

    def _step(self, rows: float, limit: float) -> tuple[float, float, float]:
        """Mean, clip, check, apply, clear; returns the norms: all, actor, critic. What is not finite is skipped."""
        self._adam.drop_unused()
        self.gradient /= max(1.0, rows)
        norms = clip_gradient(self.gradient, self.policy.critic_start, limit, self.config.clip_apart)
        if math.isfinite(norms[0]):
            self._bad_in_a_row = 0
            self._adam.step()
            self.updates += 1
        else:
            self.skipped += 1
            self._bad_in_a_row += 1
        if self._bad_in_a_row >= MAX_BAD_STEPS:
            facts = self._diagnose()
            self.gradient.zero_()
            raise NonFiniteError(
                f"trainee '{self.name}': {MAX_BAD_STEPS} updates in a row had no finite gradient", facts
            )
        self.gradient.zero_()
        return norms

    def _diagnose(self) -> dict[str, Any]:
        """What the last gradient looked like, tensor by tensor."""
        bad, start = {}, 0
        for name, shape in self.policy.shapes.items():
            size = int(np.prod(shape))
            wrong = int((~torch.isfinite(self.gradient[start : start + size])).sum())
            if wrong:
                bad[name] = {"not_finite": wrong, "of": size}
            start += size
        return {
            "trainee": self.name,
            "updates": self.updates,
            "skipped": self.skipped,
            "gradients_not_finite": bad,
            "weights_finite": bool(torch.isfinite(self.policy.flat).all()),
            "largest_weight": float(self.policy.flat.abs().max()),
            "reward_statistics": {key: float(a[0]) for key, a in self.reward_statistics.items()},
            "smallest_obs_variance": float(self.policy.normalizer["obs/var"].min(initial=np.inf)),
        }

    def _metrics(
        self, total: Sums, norms: list[tuple[float, float, float]], epochs: int, rate: float
    ) -> dict[str, float]:
        mean = dict(zip(SUMS, total / max(1.0, total[0]), strict=False))
        finite = [each for each in norms if math.isfinite(each[0])]
        norm, actor_norm, critic_norm = np.mean(finite, axis=0) if finite else (math.nan,) * 3
        metrics = {
            "ppo/policy_loss": mean["policy"],
            "ppo/value_loss": mean["value"],
            "ppo/approx_kl": mean["kl"],
            "ppo/clip_fraction": mean["clipped"],
            "ppo/entropy": mean["entropy"],
            "ppo/grad_norm": norm,
            "ppo/grad_norm_actor": actor_norm,
            "ppo/grad_norm_critic": critic_norm,
            "ppo/learning_rate": rate,
            "ppo/epochs": float(epochs),
            "ppo/skipped_updates": float(self.skipped),
        }
        entropies = total[len(SUMS) :] / max(1.0, total[0])
        metrics |= {f"entropy/{name}": float(value) for name, value in zip(self.heads, entropies, strict=True)}
        if self.config.teacher.weight != Constant(0.0):
            metrics["ppo/kl_teacher"] = mean["teacher"]
        if mean["magnet"]:
            metrics["ppo/kl_magnet"] = mean["magnet"]
        return {key: float(value) for key, value in metrics.items()}

    def become(self, other: Trainee) -> None:
        """Copy another trainee's policy and statistics; start with a fresh optimiser."""
        with torch.no_grad():
            self.policy.flat.copy_(other.policy.flat)
        for mine, theirs in (
            (self.policy.normalizer, other.policy.normalizer),
            (self.reward_statistics, other.reward_statistics),
        ):
            for key, array in mine.items():
                array[:] = theirs[key]
        self._adam.forget()
        self._bad_in_a_row = 0
        self.gradient.zero_()

    def state(self) -> dict[str, Array]:
        """Everything besides the weights and observation statistics that the next update depends on."""
        state: dict[str, Array] = dict(self.reward_statistics)
        state["counters"] = np.array([self.updates, self.skipped, self._bad_in_a_row, self.looking], np.int64)
        return state | self._adam.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from `state`."""
        for key, array in self.reward_statistics.items():
            array[:] = state[key]
        counters = (*state["counters"], 0)[:4]  # checkpoints of 0.1 have no fourth
        self.updates, self.skipped, self._bad_in_a_row, self.looking = (int(n) for n in counters)
        self._adam.restore(state)
