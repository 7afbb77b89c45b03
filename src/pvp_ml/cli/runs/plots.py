"""Pictures of results; the only module that imports matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.run.tracking.curves import CurveBand

FloatMatrix = npt.NDArray[np.float64]


def heat_map(path: Path, names: Sequence[str], rates: FloatMatrix, title: str) -> None:
    """Payoff table: rates[i,j] is the win rate of row i against column j, ties half; NaN where they never met."""
    figure, axes = _figure(1.6 + 0.55 * len(names), 1.4 + 0.5 * len(names))
    image = axes.imshow(rates, vmin=0.0, vmax=1.0, cmap="RdYlGn")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    for i, j in zip(*np.nonzero(np.isfinite(rates)), strict=True):
        axes.text(j, i, f"{100 * rates[i, j]:.0f}", ha="center", va="center", fontsize=7)
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="win rate (ties count half)")
    _save(figure, path)


def curves(path: Path, groups: Mapping[str, CurveBand], label: str) -> None:
    """Thick line: interquartile mean; thin lines: seeds; shade: what the legend says. Win rates run from 0 to 1."""
    figure, axes = _figure(7.0, 4.2)
    for name, curve in groups.items():
        (line,) = axes.plot(curve.steps, curve.middle, linewidth=2, label=f"{name} ({curve.meaning})")
        axes.fill_between(curve.steps, curve.low, curve.high, alpha=0.18, color=line.get_color(), linewidth=0)
        for seed in curve.seeds if curve.runs > 1 else ():
            axes.plot(curve.steps, seed, linewidth=0.6, alpha=0.5, color=line.get_color())
    if "win rate" in label:
        axes.set_ylim(0.0, 1.0)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_title(", ".join(groups), fontsize=11)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="best")
    _save(figure, path)


def learning_curve(path: Path, points: Sequence[tuple[float, float, float, float]], title: str) -> None:
    """One run: (training seconds, win rate, low, high) of each measurement, with its 95 % interval as a band."""
    figure, axes = _figure(7.0, 4.0)
    seconds, rates, lows, highs = zip(*points, strict=True)
    axes.plot(seconds, rates, marker="o", linewidth=2)
    axes.fill_between(seconds, lows, highs, alpha=0.2, linewidth=0)
    axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("training seconds")
    axes.set_ylabel("win rate, 95 % interval")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    _save(figure, path)


def pareto(path: Path, points: Sequence[tuple[str, float, float]], title: str, metric: str) -> None:
    """(label, seconds, score): every measurement, and the line of those that nothing beats in less time."""
    figure, axes = _figure(8.0, 4.5)
    axes.scatter([seconds for _, seconds, _ in points], [score for *_, score in points], s=14, alpha=0.45)
    front, best = [], -np.inf
    for label, seconds, score in sorted(points, key=lambda point: (point[1], -point[2])):
        if score > best:
            front.append((label, seconds, score))
            best = score
    axes.step([seconds for _, seconds, _ in front], [score for *_, score in front], where="post", color="tab:red")
    for label, seconds, score in front:
        axes.annotate(label, (seconds, score), xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set_xlabel("training seconds of the trial")
    axes.set_ylabel(metric)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
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
        raise UserError("charts need matplotlib", pip_install("plot")) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
