"""Figures that players talk about, gathered from the folded signals of many matches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pvp_ml.match import LOSS, WIN
from pvp_ml.spec import Figure, GameSpec, SpecError

Z95 = 1.959963984540054
_RESULTS = {"won": WIN, "lost": LOSS}


class FigureSums:
    """Numerators and denominators of F figures for `sides` contestants."""

    def __init__(self, spec: GameSpec, figures: Sequence[Figure], sides: int = 2) -> None:
        names = [signal.name for signal in spec.signals]
        self.figures = tuple(figures)
        self._of, self._over = np.zeros((2, len(figures), len(names)))
        for row, figure in enumerate(figures):
            if unknown := sorted({*figure.of, *figure.over} - set(names)):
                raise SpecError(f"figure '{figure.name}': game '{spec.name}' has no signal '{unknown[0]}'")
            self._of[row, [names.index(name) for name in figure.of]] = 1.0
            self._over[row, [names.index(name) for name in figure.over]] = 1.0
        self._per_match = np.array([not figure.over for figure in figures], np.float64)
        self._only = np.array([_RESULTS.get(figure.when, 0) for figure in figures])
        self._always = np.array([figure.when == "always" for figure in figures], np.bool_)
        self._parts = np.zeros((2, sides, len(figures)))
        self._squares = np.zeros((3, sides, len(figures)))  # a², ab, b² of each seat's part above and below
        self._rows = np.zeros(sides)

    def add(self, side: int, signals: npt.NDArray[np.float32], results: npt.NDArray[np.integer]) -> None:
        """Matches of seats of that side: their folded signals [n,K] and results [n]."""
        counts = self._always | (self._only == results[:, None])
        above = counts * (signals @ self._of.T)
        below = counts * (signals @ self._over.T + self._per_match)
        self._parts[:, side] += above.sum(0), below.sum(0)
        self._squares[:, side] += (above * above).sum(0), (above * below).sum(0), (below * below).sum(0)
        self._rows[side] += len(signals)

    def values(self, side: int) -> dict[str, float]:
        """Figure → value, without those that nothing was counted for."""
        above, below = self._parts[:, side]
        return {f.name: float(a / b) for f, a, b in zip(self.figures, above, below, strict=True) if b > 0.0}

    def intervals(self, side: int, share: float = 1.0) -> dict[str, tuple[float, float]]:
        """Figure → 95 % interval of the ratio of sums, by how much matches differ from it (delta method).

        share: of matches that add information. A single match has no interval.
        """
        above, below = self._parts[:, side]
        aa, ab, bb = self._squares[:, side]
        rows = self._rows[side]
        found: dict[str, tuple[float, float]] = {}
        for i, figure in enumerate(self.figures):
            if below[i] <= 0.0 or rows < 2:
                continue
            ratio = above[i] / below[i]
            spread = max(0.0, aa[i] - 2.0 * ratio * ab[i] + ratio * ratio * bb[i]) * rows / (rows - 1)
            half = Z95 * math.sqrt(spread / max(share, 1e-9)) / below[i]
            found[figure.name] = (float(ratio - half), float(ratio + half))
        return found
