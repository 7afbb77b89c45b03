"""The network in torch: the same function as `pvp_ml.forward`, differentiable. A test holds the two together.

Parameters are passed in by name, so that one network can be evaluated with other weights (a teacher, a magnet).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pvp_ml.forward import EPSILON, Array
from pvp_ml.network import BlockLayout, NetworkConfig, block_layouts, is_plain
from pvp_ml.rl.actions import HeadLayout
from pvp_ml.spec import Interface

Parameters = Mapping[str, Tensor]
Statistics = Mapping[str, Array]


class Network:
    """Pure functions of (parameters, statistics, observations) for one network configuration."""

    def __init__(self, network: NetworkConfig, interface: Interface, layout: HeadLayout) -> None:
        self.network = network
        self.interface = interface
        self.layout = layout
        self._blocks = block_layouts(network, interface)
        self._is_plain = is_plain(network, interface)
        self._is_id = np.array([f.kind == "id" for f in interface.features])

    def inputs(self, p: Parameters, obs: Tensor, statistics: Statistics) -> Tensor:
        """Stacked observation [B,N] → what the trunks read: normalised, clipped, ids embedded, blocks encoded."""
        frames = len(self.network.frames)
        scale = np.where(self._is_id, 1.0, 1.0 / np.sqrt(statistics["obs/var"] + EPSILON))
        shift = np.where(self._is_id, 0.0, -statistics["obs/mean"] * scale)
        limit = np.where(self._is_id, np.inf, self.network.clip)
        scale_t, shift_t, limit_t = (
            torch.as_tensor(np.tile(a, frames), dtype=torch.float32, device=obs.device) for a in (scale, shift, limit)
        )
        x = torch.addcmul(shift_t, obs, scale_t)
        return self._encoded(p, x.clamp_(-limit_t, limit_t))

    def features(self, p: Parameters, x: Tensor, memory: Tensor | None) -> Tensor:
        """[B,W]: what the heads read."""
        features = self._mlp(p, "actor", len(self.network.trunk), x)
        if not self.network.memory:
            return features
        if memory is None:
            memory = features.new_zeros(len(features), self.network.memory)
        return torch.gru_cell(
            features, memory, p["memory/input"], p["memory/hidden"], p["memory/input_bias"], p["memory/hidden_bias"]
        )

    def logits(self, p: Parameters, features: Tensor, picks: Tensor, statistics: Statistics) -> Tensor:
        """[B,H,X] padded logits given the picks [B,A] that each head's predecessors made."""
        if self.network.heads == "mlp":
            return self._head_mlps(p, features, picks, statistics)
        logits = functional.linear(
            features, self.layout.pad_rows(p["head/weight"]), self.layout.pad_rows(p["head/bias"])
        )
        if self.network.heads == "table":
            table = p["table"] * self.layout.later
            logits = logits + picks @ self.layout.pad_rows(table.T).T
        return logits.view(-1, self.layout.heads, self.layout.width)

    def value(
        self, p: Parameters, x: Tensor, features: Tensor, privileged: Tensor | None, statistics: Statistics
    ) -> Tensor:
        """[B] value in units of normalised reward."""
        if self.network.critic == "separate":
            if self.network.privileged:
                assert privileged is not None, "a privileged critic needs privileged features"
                x = torch.cat([x, self._standardise(privileged, statistics, "privileged")], dim=1)
            features = self._mlp(p, "critic", len(self.network.critic_layers), x)
        return functional.linear(features, p["value/weight"], p["value/bias"])[:, 0]

    def win_logit(self, p: Parameters, features: Tensor) -> Tensor:
        """[B] log-odds of winning."""
        return functional.linear(features, p["win/weight"], p["win/bias"])[:, 0]

    def _head_mlps(self, p: Parameters, features: Tensor, picks: Tensor, statistics: Statistics) -> Tensor:
        seen = self._standardise(picks, statistics, "pick")
        rows, start = [], 0
        for head in self.interface.heads:
            x = torch.cat([features, seen[:, :start]], dim=1)
            for i in range(len(self.network.head_layers)):
                x = self._activate(self._linear(p, f"head/{head.name}/{i}", x))
            logits = self._linear(p, f"head/{head.name}/{len(self.network.head_layers)}", x)
            rows.append(functional.pad(logits, (0, self.layout.width - head.size)))
            start += head.size
        return torch.stack(rows, dim=1)

    def _encoded(self, p: Parameters, x: Tensor) -> Tensor:
        if self._is_plain:
            return x
        frames = x.view(len(x), len(self.network.frames), -1)
        parts = [self._encode(p, frames[:, f], block) for f in range(frames.shape[1]) for block in self._blocks]
        return torch.cat(parts, dim=1)

    def _encode(self, p: Parameters, x: Tensor, layout: BlockLayout) -> Tensor:
        block = layout.block
        items = x[:, layout.start : layout.start + block.width].reshape(len(x), block.count, len(block.features))
        parts = [items[:, :, list(layout.reals)]]
        parts += [functional.embedding(items[:, :, i].long(), p[name]) for i, name in layout.ids]
        joined = torch.cat(parts, dim=2)
        if self.network.encoder and block.count > 1:
            for i in range(len(self.network.encoder)):
                joined = self._activate(self._linear(p, f"encoder/{block.name}/{i}", joined))
            if self.network.pooling == "mean_max":
                return torch.cat([joined.mean(dim=1), joined.amax(dim=1)], dim=1)
        return joined.reshape(len(x), -1)

    def _standardise(self, x: Tensor, statistics: Statistics, name: str) -> Tensor:
        mean, var = (
            torch.as_tensor(statistics[f"{name}/{part}"], dtype=torch.float32, device=x.device)
            for part in ("mean", "var")
        )
        return ((x - mean) * torch.rsqrt(var + EPSILON)).clamp_(-self.network.clip, self.network.clip)

    def _mlp(self, p: Parameters, name: str, layers: int, x: Tensor) -> Tensor:
        for i in range(layers):
            x = self._activate(self._linear(p, f"{name}/{i}", x))
        return x

    def _linear(self, p: Parameters, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, p[f"{name}/weight"], p[f"{name}/bias"])

    def _activate(self, x: Tensor) -> Tensor:
        match self.network.activation:
            case "relu":
                return torch.relu(x)
            case "tanh":
                return torch.tanh(x)
            case "silu":
                return functional.silu(x)
