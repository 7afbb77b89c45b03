"""Adam over a policy's flat weights, in which a tensor may be left out: frozen weights do not move at all.

A gradient of zero is not enough to hold weights still, because Adam's momentum keeps moving
them. So the optimiser works on spans: runs of neighbouring tensors that learn and have made the same number of steps.
A tensor that is frozen keeps its moments and its number of steps, and continues from there when it learns again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.optim.adam import adam

from pvp_ml.errors import UserError
from pvp_ml.model.actor import Array
from pvp_ml.model.network_config import is_critic
from pvp_ml.rl.policy.policy import Policy

PARTS = ("actor", "critic")


class _Span(NamedTuple):
    """Neighbouring tensors that learn together: views into the flat arrays, and the number of steps they have made."""

    tensors: list[int]
    part: int
    weights: torch.Tensor
    gradient: torch.Tensor
    mean: torch.Tensor
    square: torch.Tensor
    made: torch.Tensor


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
        self._rates = (0.0, 0.0)
        self._open(np.zeros(len(sizes), np.float32))

    def _open(self, steps: npt.NDArray[np.float32]) -> None:
        """Build the spans of tensors that learn; `steps` [tensors] made so far."""
        self._steps = steps
        self._spans: list[_Span] = []
        learning = [i for i in range(len(steps)) if not self._is_frozen[i]]
        for _, run in groupby(enumerate(learning), lambda p: (p[1] - p[0], self._part[p[1]], float(steps[p[1]]))):
            tensors = [i for _, i in run]
            where, part = self._range(tensors), int(self._part[tensors[0]])
            made = torch.tensor(steps[tensors[0]], device=self._flat.device)
            arrays = (self._flat[where], self._gradient[where], self._mean[where], self._square[where])
            self._spans.append(_Span(tensors, part, *arrays, made))
        self.teach(True)

    def _range(self, tensors: list[int]) -> slice:
        return slice(int(self._starts[tensors[0]]), int(self._ends[tensors[-1]]))

    def set_rates(self, actor: float, critic: float) -> None:
        """Step sizes from now on."""
        self._rates = (actor, critic)

    def teach(self, actor: bool) -> None:
        """Whether the actor learns too; while it does not, its moments and its number of steps stay as they are."""
        self._taught = [span for span in self._spans if actor or PARTS[span.part] == "critic"]

    def drop_unused(self) -> None:
        """Set the gradient to 0 where nothing learns, so that it does not count in norms."""
        used = np.zeros(len(self._starts), np.bool_)
        for span in self._taught:
            used[span.tensors] = True
        for i in np.flatnonzero(~used).tolist():
            self._gradient[self._range([i])] = 0.0

    def step(self) -> None:
        """Move the weights."""
        for part, rate in enumerate(self._rates):
            spans = [span for span in self._taught if span.part == part]
            if spans:
                _adam(spans, rate, self._epsilon)

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
        for span in self._spans:
            steps[span.tensors] = float(span.made)
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


@torch.no_grad()
def _adam(spans: list[_Span], rate: float, epsilon: float) -> None:
    """One step of torch's fused Adam. Its class `torch.optim.Adam` would import torch's compiler, which takes 1.4 s."""
    adam(
        [span.weights for span in spans],
        [span.gradient for span in spans],
        [span.mean for span in spans],
        [span.square for span in spans],
        max_exp_avg_sqs=[],
        state_steps=[span.made for span in spans],
        fused=True,
        amsgrad=False,
        beta1=0.9,
        beta2=0.999,
        lr=rate,
        weight_decay=0.0,
        eps=epsilon,
        maximize=False,
    )


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
