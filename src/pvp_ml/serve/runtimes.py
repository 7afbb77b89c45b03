"""How a served policy is computed: numpy, onnxruntime or torch behind one call; the fastest for each number of rows.

Every runtime chooses alike from the same keys. What is fastest depends on the network's shape, the machine and the
batch: it is measured when a model is loaded, by the same function that `pvp-ml bench serve` prints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.model.actor import Keys, Program
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.decision import Decision
from pvp_ml.model.sampling.heads import Heads, gumbel_noise, legal_given
from pvp_ml.players import actor_of

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Rows at which runtimes are compared; a batch takes the winner at the next size."""
_MEASURED_S = 0.01


class Runtime(Protocol):
    """One way to run a policy; `pvp_ml.model.actor.Actor` is one as it is."""

    def act(self, obs: FloatArray, mask: BoolArray, keys: Keys, greedy: BoolArray, out: Decision, *,
            memory: FloatArray | None) -> int:  # fmt: skip
        """Choose for obs [B,N] as `Actor.act` does; returns the first row whose head has no choice, or -1."""


@dataclass(frozen=True, slots=True)
class RuntimeType:
    """A named way to make runtimes."""

    name: str
    make: Callable[[Bundle], Runtime]


NUMPY = RuntimeType("numpy", actor_of)


class ProgramRuntime:
    """A program that takes noise as an input, acting from keys like `Actor`."""

    def __init__(self, heads: Heads, program: Program) -> None:
        self._heads = heads
        self._program = program

    def act(self, obs: FloatArray, mask: BoolArray, keys: Keys, greedy: BoolArray, out: Decision, *,
            memory: FloatArray | None = None) -> int:  # fmt: skip
        """As `Runtime` says; `out.log_prob` is not filled: callers that need it use numpy."""
        noise = np.zeros(mask.shape, np.float32)
        gumbel_noise(keys, mask, noise)
        noise[greedy] = 0.0
        out.actions[:], after = self._program(obs, mask, noise, memory)
        if memory is not None and after is not None:
            memory[:] = after
        out.legal[:] = legal_given(self._heads, mask, out.actions)
        is_empty = ~np.take_along_axis(out.legal, self._heads.offset[:-1] + out.actions, axis=1).all(axis=1)
        return int(is_empty.argmax()) if is_empty.any() else -1


def seconds_per_call(runtime: Runtime, bundle: Bundle, rows: int,
                     clock: Callable[[], float] = time.perf_counter) -> float:  # fmt: skip
    """The fastest of several calls with this many rows: interruptions by other programs do not count."""
    rng = np.random.default_rng(0)
    interface, network = bundle.interface, bundle.network
    obs = rng.random((rows, len(network.frames) * interface.obs_size), np.float32)
    obs[:, np.tile([f.kind == "id" for f in interface.features], len(network.frames))] = 0.0
    mask = np.ones((rows, interface.mask_size), np.bool_)
    keys = rng.integers(0, 2**63, rows).astype(np.uint64)
    memory = np.zeros((rows, network.memory), np.float32) if network.memory else None
    out = Heads.compile(interface.heads).decision(rows)
    greedy = np.zeros(rows, np.bool_)
    best, end = float("inf"), clock() + _MEASURED_S
    for calls in range(1000):
        started = clock()
        runtime.act(obs, mask, keys, greedy, out, memory=memory)
        now = clock()
        best = min(best, now - started) if calls else best  # the first call warms up
        if calls >= 3 and now > end:
            break
    return best


def fastest(runtimes: Sequence[Runtime], bundle: Bundle, batch: int) -> list[int]:
    """For each of SIZES up to a batch, which of the runtimes is the fastest; without a choice nothing is measured."""
    sizes = [size for size in SIZES if size < 2 * batch]
    if len(runtimes) == 1:
        return [0] * len(sizes)
    return [int(np.argmin([seconds_per_call(runtime, bundle, size) for runtime in runtimes])) for size in sizes]


def size_index(rows: int) -> int:
    """Which of SIZES a batch belongs to; larger ones to the last."""
    return min((rows - 1).bit_length(), len(SIZES) - 1)
