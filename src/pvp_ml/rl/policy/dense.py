"""Layers and encoders for learning on a processor: numpy's matrix products, and compiled steps between them.

Equal to torch's linear layers, embeddings and ReLU up to rounding; a test holds the two together. numpy's OpenBLAS was
faster than torch's MKL at these sizes on one thread, above all backwards (80 against 36 GFLOP/s by the inputs of an
encoder), and an encoder needs no gradient by the numbers that it reads, only by its embeddings. Shape letters as in
`spec`; M rows, N inputs, W outputs of a layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pvp_ml.match import FloatArray, IntArray
from pvp_ml.model.kernels import add_bias_relu
from pvp_ml.model.network_config import BlockLayout
from pvp_ml.rl.kernels.dense import cut_slopes, gather_columns, gather_embedded, scatter_embedded


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Where the numbers and the ids of a block's rows lie."""

    start: int
    count: int
    width: int  # columns of one row
    reals: IntArray
    ids: tuple[IntArray, ...]  # columns of each embedding table

    @classmethod
    def of(cls, layout: BlockLayout) -> BlockPlan:
        """The plan of one block."""
        block = layout.block
        ids = tuple(np.array(features, np.int32) for _, features in layout.tables)
        return cls(layout.start, block.count, len(block.features), np.array(layout.reals, np.int32), ids)


class RectifiedLayer(torch.autograd.Function):
    """x [M,N], weight [W,N], bias [W] → max(0, x·weightᵀ + bias) [M,W]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """One matrix product."""
        rows = x.detach().numpy()
        output = _rectified(rows, weight, bias)
        ctx.save_for_backward(x, weight, output)
        return output

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """By inputs, weights and bias."""
        x, weight, output = ctx.saved_tensors
        by_output, by_bias = _cut(slopes[0], output)
        by_weight = torch.from_numpy(np.dot(by_output.T, x.detach().numpy()))
        by_x = torch.from_numpy(np.dot(by_output, weight.detach().numpy())) if ctx.needs_input_grad[0] else None
        return by_x, by_weight, by_bias


class EncodedRows(torch.autograd.Function):
    """Normalised obs [B,N], a block's plan, the first layer of its encoder, its tables → [B·count, W], rectified."""

    @staticmethod
    def forward(ctx: Any, obs: Tensor, plan: BlockPlan, weight: Tensor, bias: Tensor, *tables: Tensor) -> Tensor:
        """Numbers and embeddings side by side, then one matrix product."""
        seen = obs.detach().numpy()
        rows = np.empty((len(seen) * plan.count, weight.shape[1]), np.float32)
        place = (seen, plan.start, plan.count, plan.width)
        gather_columns(*place, plan.reals, rows)
        at = len(plan.reals)
        for columns, table in zip(plan.ids, tables, strict=True):
            gather_embedded(*place, columns, table.detach().numpy(), rows, at)
            at += len(columns) * table.shape[1]
        output = _rectified(rows, weight, bias)
        ctx.save_for_backward(weight, output)
        ctx.place, ctx.plan, ctx.rows, ctx.tables = place, plan, rows, [table.shape for table in tables]
        return output

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        """By the layer and by the tables; nobody asks for the slopes of observations."""
        weight, output = ctx.saved_tensors
        by_output, by_bias = _cut(slopes[0], output)
        by_weight = torch.from_numpy(np.dot(by_output.T, ctx.rows))
        by_embedded = np.dot(by_output, weight.detach().numpy()[:, len(ctx.plan.reals) :])
        by_tables, at = [], 0
        for columns, shape in zip(ctx.plan.ids, ctx.tables, strict=True):
            by_table = torch.zeros(shape)
            scatter_embedded(*ctx.place, columns, by_table.numpy(), by_embedded, at)
            by_tables.append(by_table)
            at += len(columns) * shape[1]
        return None, None, by_weight, by_bias, *by_tables


def rectified_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[M,W] of x [M,N]; CPU, float32."""
    return RectifiedLayer.apply(x.contiguous(), weight, bias)  # type: ignore[no-untyped-call, no-any-return]


def encoded_rows(obs: Tensor, plan: BlockPlan, weight: Tensor, bias: Tensor, tables: list[Tensor]) -> Tensor:
    """[B·count, W] of normalised obs [B,N]; CPU, float32."""
    return EncodedRows.apply(obs.contiguous(), plan, weight, bias, *tables)  # type: ignore[no-untyped-call, no-any-return]


def _rectified(rows: FloatArray, weight: Tensor, bias: Tensor) -> Tensor:
    output = torch.empty(len(rows), len(weight))
    np.dot(rows, weight.detach().numpy().T, out=output.numpy())
    add_bias_relu(output.numpy(), bias.detach().numpy())
    return output


def _cut(by_output: Tensor, output: Tensor) -> tuple[FloatArray, Tensor]:
    """Slopes before the rectifier [M,W], and their sums over rows [W]."""
    slopes, by_bias = np.empty(output.shape, np.float32), torch.zeros(output.shape[1])
    cut_slopes(by_output.contiguous().numpy(), output.numpy(), slopes, by_bias.numpy())
    return slopes, by_bias
