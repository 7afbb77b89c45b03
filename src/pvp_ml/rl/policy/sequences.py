"""Rows in order, for policies with memory: cut into short sequences that never cross the border of a match.

A sequence starts from the state that was stored when its first row was acted; gradients flow back to there and no
further. Shapes: B rows of a minibatch, n sequences of at most L rows, G memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Ints = npt.NDArray[np.int64]


class Sequences(NamedTuple):
    """How B rows form n sequences."""

    steps: Tensor  # [L,n] int64: row of each step, B where a sequence is already over
    place: Tensor  # [B] int64: l·n + j of each row
    memory: Tensor  # [n,G] state before each sequence's first row


@dataclass(frozen=True, slots=True)
class Cuts:
    """Sequences as slices of an ordering of all rows."""

    order: Ints  # [B] positions of rows: lane after lane, in time
    start: Ints  # [n+1] slices of `order`


def cut(index: Ints, end: npt.NDArray[np.int8], seats: int, length: int) -> Cuts:
    """Cut rows given by flat indexes [B] into (time, match, seat); end [T,M] marks matches that stopped in a step."""
    matches = end.shape[1]
    time, lane = np.divmod(index, matches * seats)
    order = np.lexsort((time, lane))
    time, lane = time[order], lane[order]
    stops = np.concatenate([np.zeros((1, matches), np.int64), np.cumsum(end != 0, axis=0)])
    played = stops[time, lane // seats]  # matches that had stopped in the row's slot before it
    return cut_chains(order, lane * (len(stops) + 1) + played, length)


def cut_chains(order: Ints, chain: Ints, length: int) -> Cuts:
    """Sequences of at most `length` of rows in this order, new ones where `chain` [B] changes."""
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = chain[1:] != chain[:-1]
    first = np.flatnonzero(is_new)
    since = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    start = np.flatnonzero(since % length == 0)
    return Cuts(order, np.append(start, len(order)).astype(np.int64))


def gather(cuts: Cuts, chosen: Ints) -> tuple[Ints, npt.NDArray[np.int64], Ints]:
    """Rows [B] of the chosen sequences, `steps` [L,n] over them (B where over), and their `place` [B]."""
    low, high = cuts.start[chosen], cuts.start[chosen + 1]
    size = high - low
    rows = np.concatenate([cuts.order[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)])
    n, longest = len(chosen), int(size.max())
    step = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
    sequence = np.repeat(np.arange(n), size)
    steps = np.full((longest, n), len(rows), np.int64)
    steps[step, sequence] = np.arange(len(rows))
    return rows, steps, step * n + sequence


def run_memory(features: Tensor, sequences: Sequences, weights: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """[B,G]: the memory after each row, from features [B,W]; weights as `torch.gru_cell` takes them."""
    padded = torch.cat([features, features.new_zeros(1, features.shape[1])])
    state, states = sequences.memory, []
    for rows in sequences.steps:
        state = torch.gru_cell(padded[rows], state, *weights)
        states.append(state)
    return torch.cat(states)[sequences.place]
