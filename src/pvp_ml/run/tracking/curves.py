"""Learning curves of several runs: aligned, and summarised as far as the number of seeds allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.run.tracking.tracker import read_metrics

FloatArray = npt.NDArray[np.float64]
POINTS = 100
RESAMPLES = 1000
FEW = 5
"""Below so many seeds a bootstrap band is too narrow to be honest: the range is shown instead."""


@dataclass(frozen=True, slots=True)
class CurveBand:
    """Runs of one group on a common axis of steps: interquartile mean, and a band around it."""

    steps: FloatArray  # [N]
    middle: FloatArray  # [N]
    low: FloatArray  # [N]
    high: FloatArray  # [N]
    seeds: FloatArray  # [R,N] each run's own curve

    @property
    def runs(self) -> int:
        """How many seeds."""
        return len(self.seeds)

    @property
    def meaning(self) -> str:
        """What `low` and `high` are."""
        if self.runs == 1:
            return "1 seed: no band"
        return f"{self.runs} seeds: range" if self.runs < FEW else f"{self.runs} seeds: 95 % bootstrap band"


def group_name(run: str) -> str:
    """Runs that differ only in their seed belong together: `x-seed3` → `x`."""
    return re.sub(r"-seed\d+$", "", run)


def read_curve(folder: Path, metric: str) -> tuple[FloatArray, FloatArray]:
    """(steps, values) of one run's metric."""
    rows = [row for row in read_metrics(folder / "metrics.jsonl") if isinstance(row.get(metric), int | float)]
    if not rows:
        raise UserError(f"run '{folder.name}' has no metric '{metric}'", "see docs/metrics.md for the names")
    return np.array([row["steps"] for row in rows], float), np.array([row[metric] for row in rows], float)


def band(curves: Sequence[tuple[FloatArray, FloatArray]], rng: np.random.Generator) -> CurveBand:
    """Join runs on a common axis that ends where the shortest ends."""
    start = max(steps[0] for steps, _ in curves)
    axis = np.linspace(start, max(start, min(steps[-1] for steps, _ in curves)), POINTS)
    values = np.stack([np.interp(axis, steps, numbers) for steps, numbers in curves])
    if len(values) < FEW:
        return CurveBand(axis, interquartile_mean(values), values.min(axis=0), values.max(axis=0), values)
    picks = rng.integers(0, len(values), (RESAMPLES, len(values)))
    samples = np.stack([interquartile_mean(values[pick]) for pick in picks])
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    return CurveBand(axis, interquartile_mean(values), low, high, values)


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Mean over runs [R,…] of the middle half; of fewer than 4 runs, of all."""
    count = len(values)
    cut = count // 4
    ordered = np.sort(values, axis=0)
    return np.asarray(ordered[cut : count - cut].mean(axis=0))
