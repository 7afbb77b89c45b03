"""The network in torch: the same function as `pvp_ml.model.actor`, differentiable. A test holds the two together.

Parameters are passed in by name, so that one network can be evaluated with other weights (a teacher, a magnet).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pvp_ml.model.actor import Array, inverse_deviation
from pvp_ml.model.network_config import BlockLayout, NetworkConfig, block_layouts, columns, encoder_name, is_plain
from pvp_ml.model.pointers import Pointer, pointers
from pvp_ml.rl.policy.actions import HeadLayout
from pvp_ml.rl.policy.dense import BlockPlan, encoded_rows, rectified_layer
from pvp_ml.rl.policy.pointing import PointingPlan, pointed_logits
from pvp_ml.rl.policy.sequences import Sequences, run_memory
from pvp_ml.spec import Interface

Parameters = Mapping[str, Tensor]
Statistics = Mapping[str, Array]


class Scaling(NamedTuple):
    """Running statistics as tensors: what is taken off, what is multiplied by. Ids stay as they are."""

    mean: Tensor  # [N]
    scale: Tensor  # [N]
    limit: Tensor  # [N]
    privileged: tuple[Tensor, Tensor] | None  # mean, scale [P]
    pick: tuple[Tensor, Tensor] | None  # mean, scale [A]


def scaling(network: NetworkConfig, interface: Interface, statistics: Statistics, device: torch.device) -> Scaling:
    """Read the statistics as they are now."""
    is_id = np.array([f.kind == "id" for f in interface.features])
    limit = np.where(is_id, np.inf, network.clip)
    mean = np.where(is_id, 0.0, statistics["obs/mean"])
    scale = np.where(is_id, 1.0, inverse_deviation(statistics["obs/var"]))

    def tensor(array: Array, times: int = 1) -> Tensor:
        return torch.as_tensor(np.tile(array, times), dtype=torch.float32, device=device)

    def pair(name: str) -> tuple[Tensor, Tensor] | None:
        if f"{name}/mean" not in statistics:
            return None
        return tensor(statistics[f"{name}/mean"]), tensor(inverse_deviation(statistics[f"{name}/var"]))

    frames = len(network.frames)
    return Scaling(tensor(mean, frames), tensor(scale, frames), tensor(limit, frames), pair("privileged"), pair("pick"))


class Network:
    """Pure functions of (parameters, statistics, observations) for one network configuration."""

    def __init__(
        self, network: NetworkConfig, interface: Interface, layout: HeadLayout, is_compiled: bool = False
    ) -> None:
        """`is_compiled`: layers with ReLU by `dense`, for a processor; not for exports."""
        self.network = network
        self._is_compiled = is_compiled and network.activation == "relu"
        self.interface = interface
        self.layout = layout
        self._blocks = block_layouts(network, interface)
        self._widths = [block.width for block in self._blocks] * len(network.frames)
        self._starts = [sum(self._widths[:i]) for i in range(len(self._widths))]
        self._plans = [BlockPlan.of(block) for block in self._blocks]
        self._is_plain = is_plain(network, interface)
        self._pointers = tuple(
            (pointer, torch.as_tensor(pointer.places, device=layout.later.device))
            for pointer in pointers(network, interface)
        )
        self._pointing = PointingPlan.of(network, interface)

    def inputs(self, p: Parameters, obs: Tensor, scaling: Scaling) -> Tensor:
        """Stacked observation [B,N] → what the trunks read: normalised, clipped, ids embedded, blocks encoded."""
        x = (obs - scaling.mean).mul_(scaling.scale).clamp_(-scaling.limit, scaling.limit)
        return self._encoded(p, x)

    def features(self, p: Parameters, x: Tensor, memory: Tensor | Sequences | None) -> Tensor:
        """[B,W]: what the heads read. Memory: the state before each row [B,G], or rows that follow each other."""
        features = self._mlp(p, "actor", len(self.network.trunk), x)
        if not self.network.memory:
            return features
        features = features.float()  # a memory is kept in full precision
        weights = p["memory/input"], p["memory/hidden"], p["memory/input_bias"], p["memory/hidden_bias"]
        if isinstance(memory, Sequences):
            return run_memory(features, memory, weights)
        if memory is None:
            memory = features.new_zeros(features.shape[0], self.network.memory)
        return torch.gru_cell(features, memory, *weights)

    def logits(self, p: Parameters, x: Tensor, features: Tensor, picks: Tensor, scaling: Scaling) -> Tensor:
        """[B,H,X] padded logits given the picks [B,A] that each head's predecessors made."""
        if self.network.heads == "mlp":
            return self._head_mlps(p, features, picks, scaling)
        if self._pointers:
            logits = self.layout.pad_columns(self.plain_logits(p, x, features))
        else:
            weight, bias = self.layout.pad_rows(p["head/weight"]), self.layout.pad_rows(p["head/bias"])
            logits = functional.linear(features, weight, bias)
        if self.network.heads == "table":
            table = p["table"] * self.layout.later
            logits = logits + picks @ self.layout.pad_rows(table.T).T
        return logits.view(-1, self.layout.heads, self.layout.width)

    def plain_logits(self, p: Parameters, x: Tensor, features: Tensor) -> Tensor:
        """[B,A] logits before any picks, for heads that are one linear layer; x is what the trunk reads."""
        if self._pointing is not None and self._runs_compiled(x):
            return pointed_logits(x, features, self._pointing, p)
        logits = functional.linear(features, p["head/weight"], p["head/bias"])
        if not self._pointers:
            return logits
        blocks = dict(zip(self._starts, torch.split(x, self._widths, dim=1), strict=True))
        for pointer, places in self._pointers:
            said = self._point(p, pointer, blocks[self._block_of(pointer)], features) @ places
            logits = logits + functional.pad(said, (pointer.columns.start, logits.shape[1] - pointer.columns.stop))
        return logits

    def _block_of(self, pointer: Pointer) -> int:
        """First column of the pointer's block in what the trunk reads."""
        return pointer.start - pointer.low * self.network.encoder[-1]

    def _point(self, p: Parameters, pointer: Pointer, block: Tensor, features: Tensor) -> Tensor:
        """[B, rows · roles]: what each row of an encoded block that a head points at says in each role."""
        count, width = pointer.high - pointer.low, self.network.encoder[-1]
        start = pointer.low * width
        rows = block[:, start : start + count * width].reshape(block.shape[0], count, width)
        context = functional.linear(features, p[f"{pointer.context}/weight"])
        hidden = self._activate(self._linear(p, pointer.row, rows) + context[:, None])
        return functional.linear(hidden, p[f"{pointer.role}/weight"]).flatten(1)

    def value(self, p: Parameters, x: Tensor, features: Tensor, privileged: Tensor | None, scaling: Scaling) -> Tensor:
        """[B] value in units of normalised reward."""
        if self.network.critic == "separate":
            if self.network.privileged:
                assert privileged is not None, "a privileged critic needs privileged features"
                x = torch.cat([x, self._standardise(privileged, scaling.privileged)], dim=1)
            features = self._mlp(p, "critic", len(self.network.critic_layers), x)
        return functional.linear(features, p["value/weight"], p["value/bias"])[:, 0]

    def win_logit(self, p: Parameters, features: Tensor) -> Tensor:
        """[B] log-odds of winning."""
        return functional.linear(features, p["win/weight"], p["win/bias"])[:, 0]

    def head_logits(self, p: Parameters, h: int, features: Tensor, seen: Tensor) -> Tensor:
        """[B, size] logits of one head with an MLP of its own; `seen` [B, columns before it] are normalised picks."""
        name = f"head/{self.interface.heads[h].name}"
        x = torch.cat([features, seen], dim=1)
        for i in range(len(self.network.head_layers)):
            x = self._layer(p, f"{name}/{i}", x)
        return self._linear(p, f"{name}/{len(self.network.head_layers)}", x)

    def normal_picks(self, picks: Tensor, scaling: Scaling) -> Tensor:
        """[B,A] one-hot picks as the heads' MLPs read them."""
        return self._standardise(picks, scaling.pick)

    def _head_mlps(self, p: Parameters, features: Tensor, picks: Tensor, scaling: Scaling) -> Tensor:
        seen = self.normal_picks(picks, scaling)
        rows, start = [], 0
        for h, head in enumerate(self.interface.heads):
            logits = self.head_logits(p, h, features, seen[:, :start])
            rows.append(functional.pad(logits, (0, self.layout.width - head.size)))
            start += head.size
        return torch.stack(rows, dim=1)

    def _encoded(self, p: Parameters, x: Tensor) -> Tensor:
        if self._is_plain:
            return x
        frames = x.view(x.shape[0], len(self.network.frames), -1)  # not len(x): exports keep the number of rows open
        blocks = list(zip(self._blocks, self._plans, strict=True))
        parts = [self._encode(p, frames[:, f], *block) for f in range(frames.shape[1]) for block in blocks]
        return torch.cat(parts, dim=1)

    def _encode(self, p: Parameters, x: Tensor, layout: BlockLayout, plan: BlockPlan) -> Tensor:
        block = layout.block
        if self.network.encoder and block.count > 1:
            joined = self._encoded_rows(p, x, layout, plan)
            if self.network.pooling == "mean_max":
                return torch.cat([joined.mean(dim=1), joined.amax(dim=1)], dim=1)
            return joined.reshape(x.shape[0], -1)
        return self._items(p, x, layout).reshape(x.shape[0], -1)

    def _encoded_rows(self, p: Parameters, x: Tensor, layout: BlockLayout, plan: BlockPlan) -> Tensor:
        """[B,count,E]: each of a block's rows after its encoder."""
        name, first = encoder_name(layout.block), 0
        if self._runs_compiled(x):
            tables = [p[table] for table, _ in layout.tables]
            joined = encoded_rows(x, plan, p[f"{name}/0/weight"], p[f"{name}/0/bias"], tables)
            joined, first = joined.view(x.shape[0], plan.count, -1), 1
        else:
            joined = self._items(p, x, layout)
        for i in range(first, len(self.network.encoder)):
            joined = self._layer(p, f"{name}/{i}", joined)
        return joined

    def _items(self, p: Parameters, x: Tensor, layout: BlockLayout) -> Tensor:
        """[B,count,I]: numbers and embedded ids of each of a block's rows."""
        block = layout.block
        items = x[:, layout.start : layout.start + block.width].reshape(x.shape[0], block.count, len(block.features))
        parts = [items[:, :, columns(layout.reals)]]
        parts += [
            functional.embedding(items[:, :, columns(features)].long(), p[name]).flatten(2)
            for name, features in layout.tables
        ]
        return torch.cat(parts, dim=2)

    def _standardise(self, x: Tensor, pair: tuple[Tensor, Tensor] | None) -> Tensor:
        assert pair is not None, "statistics of these features are missing"
        mean, scale = pair
        return ((x - mean) * scale).clamp_(-self.network.clip, self.network.clip)

    def _mlp(self, p: Parameters, name: str, layers: int, x: Tensor) -> Tensor:
        for i in range(layers):
            x = self._layer(p, f"{name}/{i}", x)
        return x

    def _layer(self, p: Parameters, name: str, x: Tensor) -> Tensor:
        if not self._runs_compiled(x):
            return self._activate(self._linear(p, name, x))
        output = rectified_layer(x.reshape(-1, x.shape[-1]), p[f"{name}/weight"], p[f"{name}/bias"])
        return output.view(*x.shape[:-1], output.shape[-1])

    def _runs_compiled(self, x: Tensor) -> bool:
        return self._is_compiled and x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")

    def _linear(self, p: Parameters, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, p[f"{name}/weight"], p[f"{name}/bias"])

    def _activate(self, x: Tensor) -> Tensor:
        match self.network.activation:
            case "relu":
                return torch.relu_(x)  # in place: the input is always a fresh product
            case "tanh":
                return torch.tanh(x)
            case "silu":
                return functional.silu(x)
