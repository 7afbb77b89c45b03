"""Running mean and variance, exact under merging, so that shards can count apart and add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.model.actor import Array
from pvp_ml.rl.kernels.moments import row_moments


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and summed squared deviation of some rows; float64."""

    count: float
    mean: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]


def moments(rows: Array, index: npt.NDArray[np.int64] | None = None) -> Moments:
    """Moments of rows [B,D] over B, or of those that `index` picks; none have count 0."""
    index = np.arange(len(rows)) if index is None else index
    mean, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    if len(index):
        row_moments(rows, index, mean, squares)
    return Moments(float(len(index)), mean, squares)


def combine(a: Moments, b: Moments) -> Moments:
    """Moments of both sets together (Chan et al.)."""
    count = a.count + b.count
    if count == 0:
        return a
    delta = b.mean - a.mean
    return Moments(
        count,
        a.mean + delta * (b.count / count),
        a.squares + b.squares + np.square(delta) * (a.count * b.count / count),
    )


def update(statistics: dict[str, Array], name: str, batch: Moments) -> None:
    """Fold a batch into `name/mean`, `name/var`, `name/count` in place."""
    mean, var, count = (statistics[f"{name}/{part}"] for part in ("mean", "var", "count"))
    total = combine(Moments(float(count[0]), mean, var * count[0]), batch)
    if total.count == 0:
        return
    mean[:] = total.mean
    var[:] = total.squares / total.count
    count[0] = total.count
