"""Running mean and variance, exact under merging, so that shards can count apart and add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.model.actor import Array


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and summed squared deviation of some rows; float64."""

    count: float
    mean: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]


def moments(rows: Array) -> Moments:
    """Moments of rows [B,D] over B; an empty array has count 0."""
    if len(rows) == 0:
        zeros = np.zeros(rows.shape[1], np.float64)
        return Moments(0.0, zeros, zeros)
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.square(rows - mean, dtype=np.float64).sum(axis=0)
    return Moments(float(len(rows)), mean, squares)


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
