"""Adam over a policy's flat weights, in which a tensor may be left out: frozen weights do not move at all.

A gradient of zero is not enough to hold weights still, because Adam's momentum keeps moving
them. So the optimiser works on spans: runs of neighbouring tensors that learn and have made the same number of steps.
A tensor that is frozen keeps its moments and its number of steps, and continues from there when it learns again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.errors import UserError
from pvp_ml.model.actor import Array
from pvp_ml.model.network_config import is_critic
from pvp_ml.rl.policy.policy import Policy

PARTS = ("actor", "critic")


class FlatAdam:
    """Adam with one step size for the actor's weights and one for the critic's; reads `gradient` [size]."""

    def __init__(self, policy: Policy, gradient: torch.Tensor, frozen: tuple[str, ...], epsilon: float) -> None:
        self._flat = policy.flat
        self._gradient = gradient
        self._epsilon = epsilon
        sizes = [int(np.prod(shape)) for shape in policy.shapes.values()]
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._part = np.array([is_critic(name) for name in policy.shapes], np.int64)  # index into PARTS
        self._is_frozen = np.array([name.startswith(frozen) if frozen else False for name in policy.shapes])
        _check_prefixes(policy, frozen)
        if self._is_frozen.all():
            raise UserError("ppo.freeze leaves nothing to learn", "name fewer tensors")
        self._mean, self._square = (torch.zeros_like(gradient) for _ in range(2))
        self._open(np.zeros(len(sizes), np.float32))

    def _open(self, steps: npt.NDArray[np.float32]) -> None:
        """Build the spans of tensors that learn; `steps` [tensors] made so far."""
        self._steps = steps
        self._spans: list[tuple[list[int], torch.nn.Parameter]] = []
        learning = [i for i in range(len(steps)) if not self._is_frozen[i]]
        for _, run in groupby(enumerate(learning), lambda p: (p[1] - p[0], self._part[p[1]], float(steps[p[1]]))):
            tensors = [i for _, i in run]
            self._spans.append((tensors, torch.nn.Parameter(self._flat[self._range(tensors)])))
        groups = [[p for tensors, p in self._spans if self._part[tensors[0]] == k] for k in range(len(PARTS))]
        self._groups = [k for k, group in enumerate(groups) if group]
        self._adam = torch.optim.Adam(
            [{"params": groups[k]} for k in self._groups], lr=0.0, eps=self._epsilon, fused=True
        )
        for tensors, parameter in self._spans:
            where = self._range(tensors)
            self._adam.state[parameter] = {
                "step": torch.tensor(steps[tensors[0]], device=self._flat.device),
                "exp_avg": self._mean[where],
                "exp_avg_sq": self._square[where],
            }
        self.teach(True)

    def _range(self, tensors: list[int]) -> slice:
        return slice(int(self._starts[tensors[0]]), int(self._ends[tensors[-1]]))

    def set_rates(self, actor: float, critic: float) -> None:
        """Step sizes from now on."""
        for group, k in zip(self._adam.param_groups, self._groups, strict=True):
            group["lr"] = (actor, critic)[k]

    def teach(self, actor: bool) -> None:
        """Whether the actor learns too; while it does not, the optimiser does not even see it."""
        for tensors, parameter in self._spans:
            is_seen = actor or self._part[tensors[0]] == PARTS.index("critic")
            parameter.grad = self._gradient[self._range(tensors)] if is_seen else None

    def drop_unused(self) -> None:
        """Set the gradient to 0 where nothing learns, so that it does not count in norms."""
        used = np.zeros(len(self._starts), np.bool_)
        for tensors, parameter in self._spans:
            used[tensors] = parameter.grad is not None
        for i in np.flatnonzero(~used).tolist():
            self._gradient[self._range([i])] = 0.0

    def step(self) -> None:
        """Move the weights."""
        self._adam.step()

    def forget(self) -> None:
        """Start afresh."""
        self._mean.zero_()
        self._square.zero_()
        self._open(np.zeros_like(self._steps))

    def state(self) -> dict[str, Array]:
        """Arrays from which `restore` continues: per part the moments, and its number of steps (one per tensor where
        they differ); nothing of a part that has never learned.
        """
        steps = self._steps.copy()
        for tensors, parameter in self._spans:
            steps[tensors] = float(self._adam.state[parameter]["step"])
        state: dict[str, Array] = {}
        for k, name in enumerate(PARTS):
            own = np.flatnonzero(self._part == k)
            made = steps[own]
            if not made.any():
                continue
            where = self._range(own.tolist())
            state[f"adam/{name}/step"] = made[:1] if (made == made[0]).all() else made
            state[f"adam/{name}/exp_avg"] = self._mean[where].cpu().numpy().copy()
            state[f"adam/{name}/exp_avg_sq"] = self._square[where].cpu().numpy().copy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from `state`, whatever was frozen when it was written."""
        steps = np.zeros_like(self._steps)
        self._mean.zero_()
        self._square.zero_()
        for k, name in enumerate(PARTS):
            own = np.flatnonzero(self._part == k)
            if f"adam/{name}/step" not in state:
                continue
            where = self._range(own.tolist())
            steps[own] = state[f"adam/{name}/step"]
            for key, moments in (("exp_avg", self._mean), ("exp_avg_sq", self._square)):
                moments[where] = torch.as_tensor(state[f"adam/{name}/{key}"].copy(), device=moments.device)
        self._open(steps)


def _check_prefixes(policy: Policy, prefixes: tuple[str, ...]) -> None:
    """A prefix that fits nothing is a mistake."""
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in policy.shapes):
            known = sorted({name.split("/")[0] for name in policy.shapes})
            raise UserError(f"ppo.freeze: no tensor's name begins with '{prefix}'", f"they begin: {', '.join(known)}")


def clip_gradient(gradient: torch.Tensor, split: int, limit: float, apart: bool) -> tuple[float, float, float]:
    """Shorten a gradient whose norm is above `limit`: as a whole, or the actor's [:split] and the critic's apart.

    Returns the norms before: of all, the actor's, the critic's. One that is not finite leaves the gradient as it is.
    """
    parts = (gradient[:split], gradient[split:])
    actor, critic = (float(torch.linalg.vector_norm(part)) for part in parts)
    whole = float(np.hypot(actor, critic))
    if np.isfinite(whole):
        for part, norm in zip(parts, (actor, critic) if apart else (whole, whole), strict=True):
            if norm > limit:
                part *= limit / norm
    return whole, actor, critic
