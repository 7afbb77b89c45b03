"""The logits of heads that point at rows, for learning on a processor: see `pvp_ml.model.pointers`.

Equal to torch's way in `torch_network` up to rounding; a test holds the two together. What torch does per pair of head
and block is shared: the trunk's output meets the weights of the head and of all contexts in one matrix product, and
rows that several heads point at are read once. Shape letters as in `spec`; B rows of a minibatch, W width of the
trunk's output, E of an encoded row, K rows of a block that are pointed at, R roles, U units of the hidden layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pvp_ml.match import FloatArray
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.model.pointers import Pointer, pointers
from pvp_ml.rl.kernels.pointing import meet, part_slopes
from pvp_ml.spec import Interface


@dataclass(frozen=True, slots=True)
class PointedBlock:
    """The rows of a block that any head points at, and who points."""

    row: str  # names of its layers
    role: str
    columns: slice  # of the rows, in what the trunk reads
    low: int  # the first of them
    count: int  # K
    pointers: tuple[tuple[int, Pointer], ...]  # each with its place among all contexts


@dataclass(frozen=True, slots=True)
class PointingPlan:
    """All pointers of a network, block by block, and the tensors that they need."""

    blocks: tuple[PointedBlock, ...]
    names: tuple[str, ...]  # the head's weight and bias, all contexts, then row weight, row bias and role of each block
    contexts: int

    @classmethod
    def of(cls, network: NetworkConfig, interface: Interface) -> PointingPlan | None:
        """None for a network that does not point."""
        found = sorted(pointers(network, interface), key=lambda pointer: pointer.block)
        if not found:
            return None
        blocks, width = [], network.encoder[-1]
        for _, group in groupby(enumerate(found), key=lambda numbered: numbered[1].block):
            own = tuple(group)
            first = min((pointer for _, pointer in own), key=lambda pointer: pointer.low)
            count = max(pointer.high for _, pointer in own) - first.low
            columns = slice(first.start, first.start + count * width)
            blocks.append(PointedBlock(first.row, first.role, columns, first.low, count, own))
        names = ["head/weight", "head/bias", *(f"{pointer.context}/weight" for pointer in found)]
        for block in blocks:
            names += [f"{block.row}/weight", f"{block.row}/bias", f"{block.role}/weight"]
        return cls(tuple(blocks), tuple(names), len(found))


class PointedLogits(torch.autograd.Function):
    """What the trunk reads x [B,…], its output [B,W], a plan and its tensors → logits [B,A] before any picks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, features: Tensor, plan: PointingPlan, *tensors: Tensor) -> Tensor:
        """The plain head, to which every pointer adds what its rows say."""
        (head, bias, contexts, layers), seen = _tell_apart(plan, tensors), x.detach().numpy()
        read = np.concatenate([head, *contexts])  # [A + contexts · U, W]
        heard = np.dot(features.detach().numpy(), read.T)
        logits = heard[:, : len(head)] + bias
        met = []
        for block, (row, row_bias, role) in zip(plan.blocks, layers, strict=True):
            projected = np.dot(_rows(seen, block), row.T).reshape(len(seen), block.count, -1)
            for number, pointer in block.pointers:
                hidden = np.empty((len(seen), pointer.high - pointer.low, len(row)), np.float32)
                meet(projected, pointer.low - block.low, heard, _context(head, row, number), row_bias, hidden)
                said = np.dot(hidden.reshape(-1, len(row)), role.T).reshape(len(seen), -1)
                logits[:, pointer.columns] += np.dot(said, pointer.places)
                met.append(hidden)
        ctx.save_for_backward(x, features, *tensors)
        ctx.plan, ctx.read, ctx.met = plan, read, met
        return torch.from_numpy(logits)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        """By x, by features and by every tensor."""
        x, features, *tensors = ctx.saved_tensors
        plan, seen, by_logits = ctx.plan, x.detach().numpy(), np.ascontiguousarray(slopes[0].numpy())
        head, _, _, layers = _tell_apart(plan, tensors)
        by_heard = np.empty((len(seen), len(ctx.read)), np.float32)
        by_heard[:, : len(head)] = by_logits
        by_x, by_layers, met = np.zeros(seen.shape, np.float32), [], iter(ctx.met)
        for block, (row, row_bias, role) in zip(plan.blocks, layers, strict=True):
            by_projected = np.zeros((len(seen), block.count, len(row)), np.float32)
            by_role, by_bias = np.zeros_like(role), np.zeros_like(row_bias)
            for number, pointer in block.pointers:
                hidden = next(met)
                by_said = np.dot(by_logits[:, pointer.columns], pointer.places.T).reshape(-1, len(role))
                by_role += np.dot(by_said.T, hidden.reshape(-1, len(row)))
                by_hidden = np.dot(by_said, role).reshape(hidden.shape)
                place = _context(head, row, number)
                part_slopes(by_hidden, hidden, pointer.low - block.low, by_projected, by_heard, place)
                by_bias += by_heard[:, place : place + len(row)].sum(axis=0)
            flat = by_projected.reshape(-1, len(row))
            by_layers += [np.dot(flat.T, _rows(seen, block)), by_bias, by_role]
            by_x[:, block.columns] = np.dot(flat, row).reshape(len(seen), -1)
        by_read = np.dot(by_heard.T, features.detach().numpy())
        by_contexts = np.split(by_read[len(head) :], plan.contexts)
        by_tensors = (by_read[: len(head)], by_logits.sum(axis=0), *by_contexts, *by_layers)
        return (
            torch.from_numpy(by_x), torch.from_numpy(np.dot(by_heard, ctx.read)), None,
            *(torch.from_numpy(slope) for slope in by_tensors),
        )  # fmt: skip


def pointed_logits(x: Tensor, features: Tensor, plan: PointingPlan, parameters: Mapping[str, Tensor]) -> Tensor:
    """[B,A] logits before any picks; CPU, float32."""
    tensors = (parameters[name] for name in plan.names)
    return PointedLogits.apply(x.contiguous(), features.contiguous(), plan, *tensors)  # type: ignore[no-untyped-call, no-any-return]


Layer = tuple[FloatArray, FloatArray, FloatArray]


def _tell_apart(
    plan: PointingPlan, tensors: tuple[Tensor, ...] | list[Tensor]
) -> tuple[FloatArray, FloatArray, list[FloatArray], list[Layer]]:
    """The head's weight [A,W] and bias [A], contexts [U,W], and per block row weight [U,E], bias [U] and role [R,U]."""
    arrays = [tensor.detach().numpy() for tensor in tensors]
    at = 2 + plan.contexts
    layers = [(arrays[i], arrays[i + 1], arrays[i + 2]) for i in range(at, len(arrays), 3)]
    return arrays[0], arrays[1], arrays[2:at], layers


def _rows(seen: FloatArray, block: PointedBlock) -> FloatArray:
    """[B·K, E] of what the trunk reads."""
    return np.ascontiguousarray(seen[:, block.columns]).reshape(len(seen) * block.count, -1)


def _context(head: FloatArray, row: FloatArray, number: int) -> int:
    """First column of a pointer's context among what is heard of the trunk."""
    return len(head) + number * len(row)
