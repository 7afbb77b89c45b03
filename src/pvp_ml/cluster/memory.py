"""Memory that the trainer and its shards map together: weights, anchors, statistics, and one gradient per shard.

Only the trainer writes weights, anchors and statistics; each shard writes its own gradient. Where shared memory is too
small (some containers and WSL), a file is mapped instead.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from dataclasses import dataclass
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.forward import Array, empty_normalizer
from pvp_ml.network import NetworkConfig, tensor_shapes
from pvp_ml.rl.policy import Anchor
from pvp_ml.spec import Interface

ANCHORS = ("teacher", "magnet")
Buffer = memoryview | mmap.mmap | bytearray


@dataclass(frozen=True, slots=True)
class TraineeMemory:
    """Views of one trainee's part of the memory."""

    weights: torch.Tensor  # [size]
    statistics: dict[str, Array]
    anchors: dict[str, Anchor]
    gradients: list[torch.Tensor]  # per shard [size]


class Segment:
    """A named block of memory; the process that creates it removes it."""

    def __init__(self, name: str | None, size: int) -> None:
        self._owner = name is None
        self._shared: shared_memory.SharedMemory | None = None
        self._path: Path | None = None
        if name is None:
            self._create(size)
        elif name.startswith("file:"):
            self._path = Path(name.removeprefix("file:"))
            self._map(size)
        else:
            self._shared = shared_memory.SharedMemory(name)
            # the tracker of a child would otherwise remove the block when the child ends
            resource_tracker.unregister(self._shared._name, "shared_memory")  # type: ignore[attr-defined]
            self.buffer: Buffer = _bytes(self._shared)

    @property
    def name(self) -> str:
        """What another process opens it by."""
        return self._shared.name if self._shared else f"file:{self._path}"

    def _create(self, size: int) -> None:
        if _shared_bytes_free() > 2 * size:
            try:
                self._shared = shared_memory.SharedMemory(create=True, size=size)
                self.buffer = _bytes(self._shared)
                return
            except OSError:
                self._shared = None
        handle, path = tempfile.mkstemp(prefix="pvp-ml-", suffix=".mem")
        os.ftruncate(handle, size)
        os.close(handle)
        self._path = Path(path)
        self._map(size)

    def _map(self, size: int) -> None:
        assert self._path is not None
        with self._path.open("r+b") as file:
            self.buffer = mmap.mmap(file.fileno(), size)

    def close(self) -> None:
        """Remove the block from the system if this process created it; mapped views stay valid until they are gone."""
        if not self._owner:
            return
        self._owner = False
        if self._shared:
            self._shared.unlink()
        elif self._path:
            self._path.unlink(missing_ok=True)


def _bytes(block: shared_memory.SharedMemory) -> memoryview:
    assert block.buf is not None, "the block is open"
    return block.buf


def _shared_bytes_free() -> int:
    return shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 2**62  # noqa: S108


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
