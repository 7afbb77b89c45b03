"""Rows of a rollout as the layers of a plain policy read them: normalised, blocks encoded, in lasting buffers.

Shape letters as in `mlp`; R rows of a rollout, P privileged observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.actor import Array, inverse_deviation
from pvp_ml.model.kernels import gather_normal
from pvp_ml.model.network_config import NetworkConfig, input_width
from pvp_ml.rl.policy.blocks import BlockEncoder
from pvp_ml.spec import Interface

CHUNK = 512
"""Rows per matrix product."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlainRows:
    """The rows of a rollout as they were acted, R of them, and what each is to teach. Minibatches pick rows of it."""

    obs: FloatArray  # [R,D]
    past: FloatArray  # [R,N-D] earlier frames
    privileged: FloatArray  # [R,P]
    mask: BoolArray  # [R,A] legal choices, given the picks before them
    actions: IntArray  # [R,H]
    value: FloatArray  # [R]


class PlainInput:
    """Reads at most CHUNK rows at a time; `blocks` encodes them and knows the way back."""

    def __init__(
        self,
        weights: Mapping[str, FloatArray],
        slopes: Mapping[str, FloatArray],
        network: NetworkConfig,
        interface: Interface,
        with_privileged: bool,
    ) -> None:
        """Weights and slopes of the encoders by tensor name."""
        self._network = network
        self.width = input_width(network, interface)
        hidden = interface.privileged_size if with_privileged else 0
        self._hidden = ("privileged",) if with_privileged else ()
        self.rows = np.zeros((CHUNK, self.width + hidden), np.float32)
        self.blocks = BlockEncoder(weights, slopes, network, interface, CHUNK) if network.encoder else None
        stacked = len(network.frames) * interface.obs_size
        self._normal = self.rows if self.blocks is None else np.zeros((CHUNK, stacked), np.float32)

    def begin(self, statistics: Mapping[str, Array]) -> None:
        """Take the mean and variance of every column, which no one changes during a minibatch."""
        clip = self._network.clip
        self._obs = _scaling(statistics, "obs", len(self._network.frames), clip)
        self._privileged = [_scaling(statistics, name, 1, clip) for name in self._hidden]

    def read(self, rows: PlainRows, index: Ints) -> FloatArray:
        """[B,E+P] of the rows `index`: the actor reads the first E columns, a privileged critic all of them."""
        x, seen = self._normal[: len(index)], self.rows[: len(index)]
        mean, scale, limit = self._obs
        now = rows.obs.shape[1]
        gather_normal(rows.obs, index, mean[:now], scale[:now], limit[:now], x, 0)
        if rows.past.shape[1]:
            gather_normal(rows.past, index, mean[now:], scale[now:], limit[now:], x, now)
        if self.blocks is not None:
            self.blocks.forward(x, seen)
        for scaling in self._privileged:
            gather_normal(rows.privileged, index, *scaling, seen, self.width)
        return seen


def _scaling(
    statistics: Mapping[str, Array], name: str, times: int, clip: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, scale and limit of every column, over `times` frames."""
    mean = np.tile(statistics[f"{name}/mean"], times).astype(np.float32)
    scale = np.tile(inverse_deviation(statistics[f"{name}/var"]), times).astype(np.float32)
    return mean, scale, np.full(len(mean), clip, np.float32)
