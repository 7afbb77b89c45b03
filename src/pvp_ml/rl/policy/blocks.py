"""What stands before a plain trunk: layers that the repetitions of a block share, and their pooling, with gradients.

The same function as `torch_network.Network.inputs` after normalising, for networks without ids; a test holds the two
together. B rows, K repetitions of a block, F features of one, W width of the encoder's last layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pvp_ml.match import FloatArray
from pvp_ml.model.kernels import pool
from pvp_ml.model.network_config import NetworkConfig, block_layouts, encoder_name
from pvp_ml.rl.kernels.mlp import pool_backward
from pvp_ml.rl.policy.layers import Layers
from pvp_ml.spec import Interface


@dataclass(frozen=True, slots=True)
class _Group:
    """One block of one frame that repeats."""

    source: slice  # columns of the normalised observation
    target: slice  # columns of what the trunk reads
    count: int  # K
    layers: Layers
    items: FloatArray  # [rows·K,F]
    by_items: FloatArray  # [rows·K,W]


class BlockEncoder:
    """Encodes at most `rows` rows at a time; `backward` belongs to the last `forward`."""

    def __init__(
        self,
        weights: Mapping[str, FloatArray],
        slopes: Mapping[str, FloatArray],
        network: NetworkConfig,
        interface: Interface,
        rows: int,
    ) -> None:
        """Weights and slopes by tensor name; the slopes are what `backward` adds to."""
        self._is_pooled = network.pooling == "mean_max"
        self._copies: list[tuple[slice, slice]] = []  # (target, source) of blocks that do not repeat
        self._groups: list[_Group] = []
        start = place = 0
        for _ in network.frames:
            for layout in block_layouts(network, interface):
                block = layout.block
                source, target = slice(start, start + block.width), slice(place, place + layout.width)
                start, place = source.stop, target.stop
                if block.count == 1:
                    self._copies.append((target, source))
                    continue
                many, depth = rows * block.count, len(network.encoder)
                layers = Layers(weights, slopes, encoder_name(block), depth, many)
                items = np.zeros((many, len(block.features)), np.float32)
                by_items = np.zeros((many, network.encoder[-1]), np.float32)
                self._groups.append(_Group(source, target, block.count, layers, items, by_items))

    def forward(self, x: FloatArray, out: FloatArray) -> None:
        """Normalised observations [B,N] → the first columns of `out`."""
        for target, source in self._copies:
            out[:, target] = x[:, source]
        for group in self._groups:
            items = group.items[: len(x) * group.count]
            items.reshape(len(x), -1)[:] = x[:, group.source]
            encoded = group.layers.forward(items).reshape(len(x), group.count, -1)
            if self._is_pooled:
                pool(encoded, out, group.target.start)
            else:
                out[:, group.target] = encoded.reshape(len(x), -1)

    def backward(self, by_out: FloatArray) -> None:
        """Add the gradient of every encoder, given the slope [B,E] of what `forward` wrote."""
        for group in self._groups:
            many = len(by_out) * group.count
            items, by_items = group.items[:many], group.by_items[:many]
            shaped = by_items.reshape(len(by_out), group.count, -1)
            if self._is_pooled:
                encoded = group.layers.output(many).reshape(shaped.shape)
                pool_backward(by_out, group.target.start, encoded, shaped)
            else:
                shaped.reshape(len(by_out), -1)[:] = by_out[:, group.target]
            group.layers.backward(items, by_items)
