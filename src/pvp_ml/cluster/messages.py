"""What passes between the trainer and a rollout worker on another machine: requests there, rollouts back.

Small things travel as messages (`codec`); weights and rollouts as plain arrays, which nobody copies twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.cluster.memory import TraineeMemory
from pvp_ml.rl.rollout import NOBODY, Rollout
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.selfplay.collect.collector import Report
from pvp_ml.selfplay.plans import LineupMix

Arrays = list[npt.NDArray[Any]]

_WITH_NEXT = ("obs", "owner", "seated", "value")
_STEPS = ("past", "memory", "mask", "actions", "log_prob", "reward", "end", "result", "held_out", "final_value")


@dataclass(frozen=True, slots=True)
class RolloutRequest:
    """Play one rollout. It says everything that a worker must know, so a new one needs nothing else."""

    number: int
    content_hash: str  # of the weights to act with
    mix: LineupMix
    progress: Progress
    drawn: int  # plans of this rank that were played before
    state: dict[str, Any] | None = None  # continue from here first


@dataclass(frozen=True, slots=True)
class Delivery:
    """What comes with a rollout. `fetches` counts how often this worker got weights over the network."""

    number: int
    report: Report
    drawn: int
    fetches: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What must be the same on every node, and where a worker is."""

    package: str
    ray: str
    game_digest: str
    blueprint_hash: str
    host: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """Who plays a task: a bot or player by name, or the policy in the task's bundle of that index."""

    name: str
    bundle: int = -1
    greedy: bool = False


@dataclass(frozen=True, slots=True)
class EvalTask:
    """Matches that somebody else may play: an evaluation. Its result depends on nothing but this and the bundles."""

    game: str
    game_config: dict[str, Any]
    first: Side
    second: Side
    matches: int
    seed: int
    scenarios: tuple[str, ...] = ()


def weight_arrays(memories: Sequence[TraineeMemory]) -> Arrays:
    """What a worker acts with: weights and observation statistics of every trainee, as views."""
    arrays: Arrays = []
    for memory in memories:
        arrays += [memory.weights.numpy(), *memory.statistics.values()]
    return arrays


def hash_of(arrays: Sequence[npt.NDArray[Any]]) -> str:
    """Content hash of arrays, bit for bit."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def pack_rollout(rollout: Rollout, with_privileged: bool) -> Arrays:
    """The part of a rollout that learning reads, as views; index 0 stays with the learner."""
    last = int(rollout.length.max())
    privileged = rollout.privileged[1:last] if with_privileged else rollout.privileged[1:1]
    arrays = [getattr(rollout, name)[1 : last + 1] for name in _WITH_NEXT]
    return [rollout.length, privileged, *arrays, *(getattr(rollout, name)[1:last] for name in _STEPS)]


def unpack_rollout(arrays: Sequence[npt.NDArray[Any]], rollout: Rollout) -> None:
    """Copy a packed rollout into the learner's; raises ValueError when it has other shapes."""
    if len(arrays) != 2 + len(_WITH_NEXT) + len(_STEPS):
        raise ValueError(f"a rollout of {len(arrays)} arrays")
    length, privileged, *rest = arrays
    last = int(length.max(initial=0))
    if length.shape != rollout.length.shape or not 1 <= int(length.min(initial=1)) <= last <= rollout.shape.steps + 1:
        raise ValueError(f"a rollout of {length.shape} matches and up to {last} steps")
    rollout.clear()
    rollout.length[:] = length
    if len(privileged):
        rollout.privileged[1:last] = privileged
    for name, array in zip((*_WITH_NEXT, *_STEPS), rest, strict=True):
        end = last + 1 if name in _WITH_NEXT else last
        target = getattr(rollout, name)[1:end]
        if array.shape != target.shape or array.dtype != target.dtype:
            raise ValueError(f"rollout.{name}: {array.dtype}{array.shape}, expected {target.dtype}{target.shape}")
        np.copyto(target, array)
    rollout.owner[last + 1 :] = rollout.seated[last + 1 :] = NOBODY
