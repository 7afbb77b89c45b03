"""Figures that players talk about, gathered from the folded signals of many matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pvp_ml.match import LOSS, WIN
from pvp_ml.spec import Figure, GameSpec, SpecError

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

    def add(self, side: int, signals: npt.NDArray[np.float32], results: npt.NDArray[np.integer]) -> None:
        """Matches of seats of that side: their folded signals [n,K] and results [n]."""
        counts = self._always | (self._only == results[:, None])
        self._parts[0, side] += (counts * (signals @ self._of.T)).sum(0)
        self._parts[1, side] += (counts * (signals @ self._over.T + self._per_match)).sum(0)

    def values(self, side: int) -> dict[str, float]:
        """Figure → value, without those that nothing was counted for."""
        above, below = self._parts[:, side]
        return {f.name: float(a / b) for f, a, b in zip(self.figures, above, below, strict=True) if b > 0.0}
