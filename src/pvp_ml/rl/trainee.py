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

from pvp_ml.errors import UserError
from pvp_ml.model.actor import EPSILON, Array
from pvp_ml.rl.loss import SUMS, LossWeights, PpoConfig
from pvp_ml.rl.normalize import Moments, update
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
        self._bad_in_a_row = 0
        self._frozen = frozen_slices(policy, config.freeze)
        split = policy.critic_start
        self._parts = [torch.nn.Parameter(policy.flat[:split]), torch.nn.Parameter(policy.flat[split:])]
        for part, gradient in zip(self._parts, (self.gradient[:split], self.gradient[split:]), strict=True):
            part.grad = gradient
        self._adam = torch.optim.Adam(
            [{"params": [part]} for part in self._parts], lr=0.0, eps=config.adam_epsilon, fused=True
        )

    def reward_scale(self, batch: Moments) -> float:
        """Fold the rollout's discounted returns into the statistic; returns what rewards are multiplied by."""
        if not self.config.normalize_rewards:
            return 1.0
        update(self.reward_statistics, "reward", batch)
        mean, var = self.reward_statistics["reward/mean"][0], self.reward_statistics["reward/var"][0]
        size = math.sqrt(var + mean * mean)  # about zero, not about the mean: a constant reward keeps a finite scale
        return 1.0 / size if size > SMALLEST_RETURN else 1.0

    def forget_rewards(self) -> None:
        """Measure the size of returns anew: what is rewarded has changed."""
        for part, value in (("mean", 0.0), ("var", 1.0), ("count", EPSILON)):
            self.reward_statistics[f"reward/{part}"][0] = value

    def learn(self, source: GradientSource, progress: Progress) -> dict[str, float]:
        """All epochs over one rollout; returns the metrics."""
        config = self.config
        weights = LossWeights.at(config, self.heads, progress)
        rate = config.learning_rate.at(progress)
        critic_rate = rate if config.critic_learning_rate is None else config.critic_learning_rate.at(progress)
        for group, value in zip(self._adam.param_groups, (rate, critic_rate), strict=True):
            group["lr"] = value
        self._teach_actor(weights.policy > 0.0)
        limit = config.max_grad_norm.at(progress)
        target = config.target_kl.at(progress) if config.target_kl else math.inf
        parts = max(1, round(source.rows / config.batch_size))
        total = np.zeros(len(SUMS) + len(self.heads))
        norms: list[float] = []
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

    def _teach_actor(self, teach: bool) -> None:
        """While only the critic learns, the optimiser does not even see the actor: its moments stay untouched."""
        self._parts[0].grad = self.gradient[: self.policy.critic_start] if teach else None

    def _step(self, rows: float, limit: float) -> float:
        """Mean, clip, check, apply, clear. A gradient that is not finite is skipped and counted."""
        for frozen in self._frozen:
            self.gradient[frozen] = 0.0
        if self._parts[0].grad is None:
            self.gradient[: self.policy.critic_start] = 0.0
        self.gradient /= max(1.0, rows)
        norm = float(torch.linalg.vector_norm(self.gradient))
        if math.isfinite(norm):
            self._bad_in_a_row = 0
            if norm > limit:
                self.gradient *= limit / norm
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
        return norm

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

    def _metrics(self, total: Sums, norms: list[float], epochs: int, rate: float) -> dict[str, float]:
        mean = dict(zip(SUMS, total / max(1.0, total[0]), strict=False))
        finite = [norm for norm in norms if math.isfinite(norm)]
        metrics = {
            "ppo/policy_loss": mean["policy"],
            "ppo/value_loss": mean["value"],
            "ppo/approx_kl": mean["kl"],
            "ppo/clip_fraction": mean["clipped"],
            "ppo/entropy": mean["entropy"],
            "ppo/grad_norm": float(np.mean(finite)) if finite else math.nan,
            "ppo/learning_rate": rate,
            "ppo/epochs": float(epochs),
            "ppo/skipped_updates": float(self.skipped),
        }
        entropies = total[len(SUMS) :] / max(1.0, total[0])
        metrics |= {f"entropy/{name}": float(value) for name, value in zip(self.heads, entropies, strict=True)}
        counted = dict(zip(SUMS, total, strict=False))
        for name, top, bottom in (
            ("loss", "win", "win_rows"),
            ("held_out_loss", "win_held", "win_held_rows"),
            ("held_out_accuracy", "win_right", "win_decided"),
        ):
            if counted[bottom] > 0:
                metrics[f"win_head/{name}"] = counted[top] / counted[bottom]
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
        self._adam.state.clear()
        self._bad_in_a_row = 0
        self.gradient.zero_()

    def state(self) -> dict[str, Array]:
        """Everything besides the weights and observation statistics that the next update depends on."""
        state: dict[str, Array] = dict(self.reward_statistics)
        state["counters"] = np.array([self.updates, self.skipped, self._bad_in_a_row], np.int64)
        for name, part in zip(("actor", "critic"), self._parts, strict=True):
            for key, value in self._adam.state.get(part, {}).items():
                state[f"adam/{name}/{key}"] = value.detach().cpu().numpy().reshape(-1).copy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from `state`."""
        for key, array in self.reward_statistics.items():
            array[:] = state[key]
        self.updates, self.skipped, self._bad_in_a_row = (int(n) for n in state["counters"])
        for name, part in zip(("actor", "critic"), self._parts, strict=True):
            kept: dict[str, Any] = {}
            for key in ("step", "exp_avg", "exp_avg_sq"):
                if f"adam/{name}/{key}" in state:
                    tensor = torch.as_tensor(state[f"adam/{name}/{key}"].copy(), device=part.device)
                    kept[key] = tensor[0] if key == "step" else tensor
            if kept:
                self._adam.state[part] = kept


def frozen_slices(policy: Policy, prefixes: tuple[str, ...]) -> list[slice]:
    """Parts of the flat weights whose names begin so; a prefix that fits nothing is a mistake."""
    slices, start = [], 0
    for name, shape in policy.shapes.items():
        size = int(np.prod(shape))
        if name.startswith(prefixes):
            slices.append(slice(start, start + size))
        start += size
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in policy.shapes):
            known = sorted({name.split("/")[0] for name in policy.shapes})
            raise UserError(f"ppo.freeze: no tensor's name begins with '{prefix}'", f"they begin: {', '.join(known)}")
    return slices
