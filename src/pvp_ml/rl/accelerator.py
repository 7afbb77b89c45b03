"""Where minibatches are judged: on the processor, or on a GPU in mixed precision.

Weights, optimiser and statistics stay in the processor's memory, where shards and actors see them; a GPU holds a twin
of the policy that is brought up to date before every minibatch and gives its gradient back. No GPU was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from pvp_ml.errors import UserError
from pvp_ml.rl.loss import LossWeights, Minibatch, ppo_loss
from pvp_ml.rl.policy.policy import Anchor, Policy, PolicyOutput
from pvp_ml.rl.policy.sequences import Sequences
from pvp_ml.rl.ppo_config import Device, Precision


class Judged(NamedTuple):
    """Results of a minibatch's backward pass."""

    sums: Tensor  # [len(SUMS)+H]
    win_logit: Tensor | None  # [B]


def backward(policy: Policy, batch: Minibatch, anchors: Mapping[str, Anchor], weights: LossWeights) -> Judged:
    """Add the gradient of a minibatch's summed loss to those of `bind_gradients`; returns the numbers to report."""
    near = {
        key: policy.anchor_log_probs(anchor, batch.obs, batch.legal, batch.actions, batch.memory)
        for key, anchor in anchors.items()
        if getattr(weights, key) > 0.0
    }
    new = judge(policy, batch, with_log_probs=bool(near))
    loss, sums = ppo_loss(new, batch, weights, near.get("teacher"), near.get("magnet"))
    torch.autograd.backward(loss)
    return Judged(sums, None if new.win_logit is None else new.win_logit.detach())


def judge(policy: Policy, batch: Minibatch, with_log_probs: bool = False) -> PolicyOutput:
    """What a policy now thinks of the rows' actions."""
    return policy.evaluate(batch.obs, batch.privileged, batch.legal, batch.actions, batch.memory, with_log_probs)


class Accelerator:
    """A policy's twin on a device; mixed: matrix products in bfloat16, everything else in float32."""

    def __init__(self, policy: Policy, device: torch.device, is_mixed: bool) -> None:
        self.is_mixed = is_mixed
        self._policy = policy
        self._device = device
        self._twin = Policy(policy.network, policy.interface, torch.zeros(policy.size, device=device))
        self._gradient = torch.zeros(policy.size, device=device)
        self._twin.bind_gradients(self._gradient)

    def backward(self, batch: Minibatch, anchors: Mapping[str, Anchor], weights: LossWeights, out: Tensor) -> Judged:
        """As the function `backward`, the gradient written to `out` [size]; both results are on the processor."""
        self._follow()
        self._gradient.zero_()
        near = {key: self._there(anchor) for key, anchor in anchors.items() if getattr(weights, key) > 0.0}
        with self._precision():
            judged = backward(self._twin, _moved(batch, self._device), near, weights)
        out.copy_(self._gradient)
        return Judged(judged.sums.cpu(), None if judged.win_logit is None else judged.win_logit.cpu())

    def log_prob(self, batch: Minibatch) -> Tensor:
        """[B] log-probability of the rows' actions in this precision."""
        self._follow()
        with torch.no_grad(), self._precision():
            return judge(self._twin, _moved(batch, self._device)).log_prob.cpu()

    def _follow(self) -> None:
        with torch.no_grad():
            self._twin.flat.copy_(self._policy.flat)
        self._twin.normalizer = self._policy.normalizer

    def _there(self, anchor: Anchor) -> Anchor:
        return Anchor(anchor.flat.to(self._device), anchor.normalizer)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self.is_mixed)


def _moved(batch: Minibatch, device: torch.device) -> Minibatch:
    memory = batch.memory
    if memory is not None:
        memory = Sequences(*(part.to(device) for part in memory))
    tensors = {
        name: value.to(device, non_blocking=True)
        for name, value in batch._asdict().items()
        if isinstance(value, Tensor)
    }
    return batch._replace(**tensors, memory=memory)


def accelerator_for(policy: Policy, device: Device, precision: Precision) -> Accelerator | None:
    """What the options ask for and the machine has; None: the processor in full precision, without a detour."""
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise UserError(
            "ppo.device is cuda, but torch finds no GPU", "use --ppo.device auto, or install torch for CUDA"
        )
    chosen = "cuda" if has_gpu and device != "cpu" else "cpu"
    is_mixed = precision == "mixed" or (precision == "auto" and chosen == "cuda" and torch.cuda.is_bf16_supported())
    if chosen == "cpu" and not is_mixed:
        return None
    return Accelerator(policy, torch.device(chosen), is_mixed)
