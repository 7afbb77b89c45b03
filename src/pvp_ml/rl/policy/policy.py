"""A policy for learning: weights, observation statistics and the differentiable half of acting. No optimiser, no I/O.

All weights lie in one flat buffer, actor first, then critic: shards map the same memory, gradients are summed as one
vector, and the numpy actor reads views of it. Shape letters as in `spec`; N stacked observation, B rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pvp_ml.match import FloatArray
from pvp_ml.model.actor import Actor, Array, empty_normalizer
from pvp_ml.model.network_config import NetworkConfig, is_critic, tensor_shapes
from pvp_ml.rl.policy.actions import HeadLayout, head_entropies, joint_log_prob, masked_log_probs
from pvp_ml.rl.policy.fused import fused_heads
from pvp_ml.rl.policy.sequences import Sequences
from pvp_ml.rl.policy.torch_network import Network, Scaling, scaling
from pvp_ml.spec import Interface


class PolicyOutput(NamedTuple):
    """What learning needs to know of taken actions."""

    log_prob: Tensor  # [B]
    entropy: Tensor  # [B,H]
    value: Tensor  # [B]
    log_probs: Tensor | None  # [B,H,X] padded, for a KL term; only when asked for
    win_logit: Tensor | None  # [B]


class Anchor(NamedTuple):
    """Weights and statistics of the same network at another time: a teacher, a magnet."""

    flat: Tensor
    normalizer: dict[str, Array]


class Policy(nn.Module):
    """Weights + observation statistics + action decoder."""

    def __init__(self, network: NetworkConfig, interface: Interface, flat: Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        self.interface = interface
        self.shapes = tensor_shapes(network, interface)
        self.size = sum(int(np.prod(shape)) for shape in self.shapes.values())
        self.critic_start = sum(int(np.prod(s)) for name, s in self.shapes.items() if not is_critic(name))
        self.flat = torch.zeros(self.size) if flat is None else flat
        self.normalizer: dict[str, Array] = empty_normalizer(network, interface)
        self.layout = HeadLayout.of(interface.head_sizes, self.flat.device)
        self._views = self.views(self.flat)
        for name, view in self._views.items():
            self.register_parameter(name, nn.Parameter(view))
        self.net = Network(network, interface, self.layout, is_compiled=self.device.type == "cpu")
        self._offset = np.concatenate([[0], np.cumsum(interface.head_sizes)]).astype(np.int32)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.flat.device

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Name → its part of a vector [size] that is laid out as the weights."""
        views, start = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            views[name] = flat[start : start + size].view(shape)
            start += size
        return views

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal layers (gain √2; 0.01 for logits, 1 for the value), embeddings of width 0.1, a table of zeros."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.zero_()
                if name.startswith("embedding/"):
                    parameter.normal_(0.0, 0.1, generator=generator)
                elif parameter.dim() == 2 and name != "table":
                    nn.init.orthogonal_(parameter, _gain(name, self.network), generator=generator)

    def bind_gradients(self, flat: Tensor) -> None:
        """Let backward passes accumulate into `flat` [size]."""
        for parameter, view in zip(self.parameters(), self.views(flat).values(), strict=True):
            parameter.grad = view

    def tensors(self) -> dict[str, FloatArray]:
        """Name → numpy view of the weights (CPU only); they change as the policy learns."""
        return {name: view.detach().numpy() for name, view in self._views.items()}

    def actor(self) -> Actor:
        """A numpy actor on this policy's own memory; call its `refresh` when the statistics change."""
        return Actor(self.network, self.interface, self.tensors(), self.normalizer)

    def evaluate(
        self,
        obs: Tensor,
        privileged: Tensor | None,
        legal: Tensor,
        actions: Tensor,
        memory: Tensor | Sequences | None = None,
        with_log_probs: bool = False,
    ) -> PolicyOutput:
        """Log-probability, entropies and value of actions [B,H] taken at obs [B,N] out of legal [B,A]."""
        parameters = dict(self.named_parameters(recurse=False))
        scale = self._scaling(self.normalizer)
        x = self.net.inputs(parameters, obs, scale)
        features = self.net.features(parameters, x, memory)
        value = self.net.value(
            parameters, x, features, privileged, scale
        ).float()  # of float32 nothing, of bfloat16 all
        win = self.net.win_logit(parameters, features.detach()).float() if self.network.win_head else None
        if self.network.heads != "mlp" and self.device.type == "cpu" and not with_log_probs:
            logits = self.net.plain_logits(parameters, x, features).float()
            log_prob, entropy = fused_heads(logits, parameters.get("table"), legal, actions, self._offset)
            return PolicyOutput(log_prob, entropy, value, None, win)
        picks = self.layout.one_hot(actions)
        logits = self.net.logits(parameters, x, features, picks, scale).float()
        log_probs = masked_log_probs(logits, self.layout.pad_legal(legal))
        return PolicyOutput(joint_log_prob(log_probs, actions), head_entropies(log_probs), value, log_probs, win)

    def win_logits(self, obs: Tensor, memory: Tensor | None = None) -> Tensor:
        """[B] log-odds of winning at obs [B,N] with the memory [B,G] before it."""
        parameters = dict(self.named_parameters(recurse=False))
        x = self.net.inputs(parameters, obs, self._scaling(self.normalizer))
        return self.net.win_logit(parameters, self.net.features(parameters, x, memory)).float()

    def memory_after(self, obs: Tensor, memory: Sequences) -> Tensor:
        """[B,G]: the memory after each row."""
        parameters = dict(self.named_parameters(recurse=False))
        return self.net.features(parameters, self.net.inputs(parameters, obs, self._scaling(self.normalizer)), memory)

    def _scaling(self, statistics: dict[str, Array]) -> Scaling:
        return scaling(self.network, self.interface, statistics, self.device)

    def anchor_log_probs(
        self, anchor: Anchor, obs: Tensor, legal: Tensor, actions: Tensor, memory: Sequences | None = None
    ) -> Tensor:
        """[B,H,X] log-probabilities that an anchor gives to the same choices; it starts from the policy's memory."""
        with torch.no_grad():
            parameters = self.views(anchor.flat)
            scale = self._scaling(anchor.normalizer)
            x = self.net.inputs(parameters, obs, scale)
            features = self.net.features(parameters, x, memory)
            logits = self.net.logits(parameters, x, features, self.layout.one_hot(actions), scale).float()
            return masked_log_probs(logits, self.layout.pad_legal(legal))


def _gain(name: str, network: NetworkConfig) -> float:
    if name.startswith("value/"):
        return 1.0
    last_head_layer = f"/{len(network.head_layers)}/weight"
    if name.startswith("pointer/") and name.endswith("/role/weight"):
        return 0.01
    if name == "head/weight" or (name.startswith("head/") and name.endswith(last_head_layer)) or name == "win/weight":
        return 0.01
    return math.sqrt(2.0)
