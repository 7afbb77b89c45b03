"""Memory that the trainer and its shards map together: weights, anchors, statistics, and one gradient per shard.

Only the trainer writes weights, anchors and statistics; each shard writes its own gradient.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.model.actor import Array, empty_normalizer
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes
from pvp_ml.rl.policy.policy import Anchor
from pvp_ml.spec import Interface

ANCHORS = ("teacher", "magnet")
Buffer = mmap.mmap | bytearray


@dataclass(frozen=True, slots=True)
class TraineeMemory:
    """Views of one trainee's part of the memory."""

    weights: torch.Tensor  # [size]
    statistics: dict[str, Array]
    anchors: dict[str, Anchor]
    gradients: list[torch.Tensor]  # per shard [size]


class Segment:
    """A file that several processes map, in the system's shared memory where that is large enough."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        with path.open("r+b") as file:
            self.buffer = mmap.mmap(file.fileno(), size)

    @classmethod
    def create(cls, size: int) -> Self:
        """A new file of zeros; removed when the run ends."""
        directory = _directory(size)
        remove_orphans(Path(directory or tempfile.gettempdir()))
        handle, name = tempfile.mkstemp(prefix=f"pvp-ml-{os.getpid()}-", suffix=".mem", dir=directory)
        try:
            os.ftruncate(handle, size)
            os.close(handle)
            return cls(Path(name), size)
        except BaseException:  # Ctrl-C too
            Path(name).unlink(missing_ok=True)
            raise

    def remove(self) -> None:
        """Remove the file; what is mapped stays valid until its process ends."""
        with contextlib.suppress(OSError):  # Windows refuses while it is mapped: the system cleans its temporary files
            self.path.unlink(missing_ok=True)


def remove_orphans(directory: Path) -> None:
    """Remove files whose creator is gone: a trainer and its shards that were all killed at once left them behind."""
    if os.name != "posix":  # elsewhere asking for a process by signal 0 would end it
        return
    for path in directory.glob("pvp-ml-*-*.mem"):
        pid = path.name.split("-")[2]
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError):
            with contextlib.suppress(OSError):
                path.unlink()
        except PermissionError:
            continue


def _directory(size: int) -> str | None:
    """Shared memory if the file fits twice, else None: the directory for temporary files (small /dev/shm, WSL)."""
    shared = "/dev/shm"  # noqa: S108
    return shared if os.path.isdir(shared) and shutil.disk_usage(shared).free > 2 * size else None


def memory_bytes(parts: list[tuple[NetworkConfig, Interface]], shards: int) -> int:
    """Bytes that these trainees need."""
    total = 0
    for network, interface in parts:
        total += 4 * _size(network, interface) * (1 + len(ANCHORS) + shards)
        total += 8 * _statistics_size(network, interface) * (1 + len(ANCHORS))
        total += 64
    return max(total, 64)


def lay_out(buffer: Buffer, parts: list[tuple[NetworkConfig, Interface]], shards: int) -> list[TraineeMemory]:
    """Cut the buffer into views; every process that maps it cuts it alike."""
    memories, offset = [], 0
    for network, interface in parts:
        offset = -(-offset // 64) * 64
        doubles, size = _statistics_size(network, interface), _size(network, interface)
        sets = []
        for _ in range(1 + len(ANCHORS)):
            flat = np.frombuffer(buffer, np.float64, doubles, offset)
            sets.append(_cut(network, interface, flat))
            offset += 8 * doubles
        flats = []
        for _ in range(1 + len(ANCHORS) + shards):
            flats.append(torch.from_numpy(np.frombuffer(buffer, np.float32, size, offset)))
            offset += 4 * size
        anchors = {name: Anchor(flats[1 + i], sets[1 + i]) for i, name in enumerate(ANCHORS)}
        memories.append(TraineeMemory(flats[0], sets[0], anchors, flats[1 + len(ANCHORS) :]))
    return memories


def fill_statistics(memory: TraineeMemory, network: NetworkConfig, interface: Interface) -> None:
    """Mean 0 and variance 1 everywhere; done once by the creator."""
    for target in (memory.statistics, *(anchor.normalizer for anchor in memory.anchors.values())):
        for key, array in empty_normalizer(network, interface).items():
            target[key][:] = array


def _cut(network: NetworkConfig, interface: Interface, flat: npt.NDArray[np.float64]) -> dict[str, Array]:
    views, start = {}, 0
    for key, array in empty_normalizer(network, interface).items():
        views[key] = flat[start : start + array.size]
        start += array.size
    return views


def _size(network: NetworkConfig, interface: Interface) -> int:
    return sum(int(np.prod(shape)) for shape in tensor_shapes(network, interface).values())


def _statistics_size(network: NetworkConfig, interface: Interface) -> int:
    return sum(array.size for array in empty_normalizer(network, interface).values())
