"""What seats remember inside a match: earlier observations for stacked frames, and the state of a policy's memory.

Both are empty when a match starts and move on only when the seat itself decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.match import FloatArray
from pvp_ml.model.network_config import NetworkConfig

Rows = npt.NDArray[np.intp]


def is_forgetful(network: NetworkConfig) -> bool:
    """Whether decisions depend on the present observation alone."""
    return not network.memory and len(network.frames) == 1


class FrameMemory:
    """Grows with the deciders that need it; costs nothing while none does."""

    def __init__(self, rows: int, obs_size: int) -> None:
        self._rows = rows
        self._obs_size = obs_size
        self._past: FloatArray = np.zeros((0, rows, obs_size), np.float32)  # [0] = one decision ago
        self._memory: dict[int, FloatArray] = {}  # G → [rows, G]; a row is held by one decider at a time

    def grow(self, rows: int) -> None:
        """Make room for so many rows; new ones remember nothing."""
        missing = rows - self._rows
        self._rows = rows
        self._past = np.pad(self._past, ((0, 0), (0, missing), (0, 0)))
        self._memory = {units: np.pad(memory, ((0, missing), (0, 0))) for units, memory in self._memory.items()}

    def forget(self, rows: Rows) -> None:
        """Matches start in these rows."""
        if not len(self._past) and not self._memory:
            return
        self._past[:, rows] = 0.0
        for memory in self._memory.values():
            memory[rows] = 0.0

    def stacked(self, network: NetworkConfig, rows: Rows, obs: FloatArray) -> FloatArray:
        """[n, F·D]: the observation obs [n,D] and the earlier ones that the network reads, newest first."""
        if len(network.frames) == 1:
            return obs
        depth = network.frames[-1]
        if depth > len(self._past):
            missing = np.zeros((depth - len(self._past), self._rows, self._obs_size), np.float32)
            self._past = np.concatenate([self._past, missing])
        return np.concatenate([obs, *(self._past[f - 1, rows] for f in network.frames[1:])], axis=1)

    def memory(self, network: NetworkConfig, rows: Rows) -> FloatArray | None:
        """[n,G]: a copy of the deciders' state in these rows, or None for a network without memory."""
        if not network.memory:
            return None
        if network.memory not in self._memory:
            self._memory[network.memory] = np.zeros((self._rows, network.memory), np.float32)
        return self._memory[network.memory][rows]

    def decided(self, network: NetworkConfig, rows: Rows, obs: FloatArray, memory: FloatArray | None) -> None:
        """These rows decided at obs [n,D]: it becomes the past, and `memory` the state from now on."""
        if len(network.frames) > 1:
            for age in range(len(self._past) - 1, 0, -1):
                self._past[age, rows] = self._past[age - 1, rows]
            self._past[0, rows] = obs
        if memory is not None:
            self._memory[network.memory][rows] = memory

    def state(self) -> dict[str, FloatArray]:
        """What a resumed run needs."""
        return {"past": self._past.copy()} | {f"memory/{size}": m.copy() for size, m in self._memory.items()}

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Continue from `state`."""
        self._past = np.array(state["past"], np.float32)
        self._memory = {
            int(key.removeprefix("memory/")): np.array(memory, np.float32)
            for key, memory in state.items()
            if key.startswith("memory/")
        }
