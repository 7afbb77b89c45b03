"""Pictures of results; the only module that imports matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError

FloatMatrix = npt.NDArray[np.float64]


def heat_map(path: Path, names: Sequence[str], rates: FloatMatrix, title: str) -> None:
    """Payoff table: rates[i,j] is the share of points that row i makes against column j; NaN where they never met."""
    figure, axes = _figure(1.6 + 0.55 * len(names), 1.4 + 0.5 * len(names))
    image = axes.imshow(rates, vmin=0.0, vmax=1.0, cmap="RdYlGn")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    for i, j in zip(*np.nonzero(np.isfinite(rates)), strict=True):
        axes.text(j, i, f"{100 * rates[i, j]:.0f}", ha="center", va="center", fontsize=7)
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="share of points")
    _save(figure, path)


def curves(
    path: Path, groups: Mapping[str, tuple[FloatMatrix, FloatMatrix, FloatMatrix, FloatMatrix]], metric: str
) -> None:
    """One line per group: (steps, middle, low, high)."""
    figure, axes = _figure(8.0, 4.5)
    for name, (steps, middle, low, high) in groups.items():
        (line,) = axes.plot(steps, middle, label=name)
        axes.fill_between(steps, low, high, alpha=0.2, color=line.get_color())
    axes.set_xlabel("environment steps")
    axes.set_ylabel(metric)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    _save(figure, path)


def scores(path: Path, lines: Sequence[tuple[str, float, float, float]], title: str) -> None:
    """One line per (label, score, low, high), the first on top; the middle of the scale is an even match."""
    figure, axes = _figure(7.0, 1.2 + 0.28 * len(lines))
    for row, (_, score, low, high) in enumerate(lines):
        axes.plot([low, high], [row, row], color="tab:blue", linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.plot([score], [row], "o", color="tab:blue", markersize=4)
    axes.axvline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(lines)), [label for label, *_ in lines], fontsize=8)
    axes.set_xlim(0.0, 1.0)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.grid(axis="x", alpha=0.3)
    _save(figure, path)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("drawing pictures needs matplotlib", "pip install 'pvp-ml[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
