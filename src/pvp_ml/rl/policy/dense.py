"""Layers and encoders for learning on a processor: numpy's matrix products, and compiled steps between them.

Equal to torch's linear layers, embeddings and ReLU up to rounding; a test holds the two together. numpy's OpenBLAS was
faster than torch's MKL at these sizes on one thread, above all backwards (80 against 36 GFLOP/s by the inputs of an
encoder), and an encoder needs no gradient by the numbers that it reads, only by its embeddings. Shape letters as in
`spec`; M rows, N inputs, W outputs of a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pvp_ml.match import FloatArray, IntArray
from pvp_ml.model.kernels import add_bias_relu
from pvp_ml.model.network_config import BlockLayout
from pvp_ml.rl.kernels.dense import add_looked_up, cut_slopes, gather_columns, scatter_looked_up


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
    """Normalised obs [B,N], a block's plan, the first layer of its encoder, its tables → [B·count, W], rectified.

    The layer is applied to whole tables before ids are looked up in them: a table has fewer rows than a minibatch has
    ids. Letters: R numbers of a row, C columns of ids of a table, V its rows, E its width.
    """

    @staticmethod
    def forward(ctx: Any, obs: Tensor, plan: BlockPlan, weight: Tensor, bias: Tensor, *tables: Tensor) -> Tensor:
        """A matrix product of the numbers, to which each id adds its row of a product."""
        seen, by_row = obs.detach().numpy(), weight.detach().numpy()
        rows = np.empty((len(seen) * plan.count, len(plan.reals)), np.float32)
        place = (seen, plan.start, plan.count, plan.width)
        gather_columns(*place, plan.reals, rows)
        output = torch.empty(len(rows), len(weight))
        np.dot(rows, by_row[:, : len(plan.reals)].T, out=output.numpy())
        for columns, table, part in _parts(plan, by_row, tables):
            add_looked_up(*place, columns, np.dot(table, _by_id(part, len(columns))), output.numpy())
        add_bias_relu(output.numpy(), bias.detach().numpy())
        ctx.save_for_backward(weight, output, *tables)
        ctx.place, ctx.plan, ctx.rows = place, plan, rows
        return output

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        """By the layer and by the tables; nobody asks for the slopes of observations."""
        weight, output, *tables = ctx.saved_tensors
        by_output, by_bias = _cut(slopes[0], output)
        by_weight = torch.empty(weight.shape)
        by_weight.numpy()[:, : len(ctx.plan.reals)] = np.dot(by_output.T, ctx.rows)
        by_tables = []
        parts = _parts(ctx.plan, weight.detach().numpy(), tables)
        for (columns, table, part), (_, _, by_part) in zip(
            parts, _parts(ctx.plan, by_weight.numpy(), tables), strict=True
        ):
            by_lookup = np.zeros((len(table), len(columns) * len(weight)), np.float32)
            scatter_looked_up(*ctx.place, columns, by_lookup, by_output)
            by_tables.append(torch.from_numpy(np.dot(by_lookup, _by_id(part, len(columns)).T)))
            by_columns = np.dot(table.T, by_lookup).reshape(-1, len(columns), len(weight))  # [E,C,W]
            by_part[:] = by_columns.transpose(2, 1, 0).reshape(by_part.shape)
        return None, None, by_weight, by_bias, *by_tables


def _parts(
    plan: BlockPlan, weight: FloatArray, tables: Sequence[Tensor]
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Of each table: its columns [C], its rows [V,E], and the part [W, C·E] of the layer's weights that reads them."""
    at = len(plan.reals)
    for columns, table in zip(plan.ids, tables, strict=True):
        wide = len(columns) * table.shape[1]
        yield columns, table.detach().numpy(), weight[:, at : at + wide]
        at += wide


def _by_id(part: FloatArray, columns: int) -> FloatArray:
    """[E, C·W] of weights [W, C·E]: what a table is multiplied by."""
    wide = part.reshape(len(part), columns, -1)
    return np.ascontiguousarray(wide.transpose(2, 1, 0)).reshape(wide.shape[2], -1)


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
