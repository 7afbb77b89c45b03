"""Pictures of results; the only module that imports matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.run.tracking.curves import CurveBand

BLUE, RED = "#0072B2", "#D55E00"
COLOURS = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Colours that colour-blind readers tell apart, and that survive a black-and-white printer."""
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
    for (name, curve), colour in zip(groups.items(), cycle(COLOURS), strict=False):
        axes.plot(curve.steps, curve.middle, linewidth=2, color=colour, label=f"{name} ({curve.meaning})")
        axes.fill_between(curve.steps, curve.low, curve.high, alpha=0.18, color=colour, linewidth=0)
        for seed in curve.seeds if curve.runs > 1 else ():
            axes.plot(curve.steps, seed, linewidth=0.6, alpha=0.5, color=colour)
    if "win rate" in label:
        axes.set_ylim(0.0, 1.0)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter(_steps)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(label)
    _finish(axes, ", ".join(groups))
    axes.legend(fontsize=8, frameon=False, loc="best")
    _save(figure, path)


def learning_curve(path: Path, points: Sequence[tuple[float, float, float, float]], title: str) -> None:
    """One run: (training seconds, win rate, low, high) of each measurement, with its 95 % interval as a band."""
    figure, axes = _figure(7.0, 4.0)
    seconds, rates, lows, highs = zip(*points, strict=True)
    axes.plot(seconds, rates, marker="o", linewidth=2, color=BLUE)
    axes.fill_between(seconds, lows, highs, alpha=0.2, linewidth=0, color=BLUE)
    axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("training seconds")
    axes.set_ylabel("win rate, 95 % interval")
    _finish(axes, title)
    _save(figure, path)


@dataclass(frozen=True, slots=True)
class Dot:
    """One measurement of one trial of a sweep; `is_reference`: the trial is the preset as it is."""

    trial: str
    seconds: float
    score: float
    is_reference: bool = False


def pareto(path: Path, dots: Sequence[Dot], title: str, metric: str) -> None:
    """Every measurement, the preset's own curve, and the line of those that nothing beats in less time."""
    figure, axes = _figure(7.0, 4.2)
    tried = [dot for dot in dots if not dot.is_reference]
    own = sorted((dot for dot in dots if dot.is_reference), key=lambda dot: dot.seconds)
    axes.scatter([d.seconds for d in tried], [d.score for d in tried], s=16, alpha=0.4, color=BLUE, label="trials")
    if own:
        axes.plot([d.seconds for d in own], [d.score for d in own], "D--", color="black", linewidth=1, markersize=5,
                  label=f"the preset as it is ({own[0].trial})")  # fmt: skip
    best = front(dots)
    axes.step([d.seconds for d in best], [d.score for d in best], where="post", color=RED, label="Pareto front")
    longest = max((d.seconds for d in dots), default=1.0)
    for dot, after in zip_longest(best, best[1:]):
        if after is not None and after.seconds - dot.seconds < 0.03 * longest:
            continue  # names would lie on one another
        axes.annotate(dot.trial, (dot.seconds, dot.score), xytext=(3, 4), textcoords="offset points", fontsize=7)
    axes.set_xlim(left=0.0)
    if "win rate" in metric:
        axes.set_ylim(0.0, 1.0)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_xlabel("training seconds of the trial")
    axes.set_ylabel(metric)
    _finish(axes, title)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    _save(figure, path)


def front(dots: Sequence[Dot]) -> list[Dot]:
    """The measurements that none equals or beats in less or equal time, by seconds."""
    found: list[Dot] = []
    for dot in sorted(dots, key=lambda dot: (dot.seconds, -dot.score)):
        if not found or dot.score > found[-1].score:
            found.append(dot)
    return found


def scores(path: Path, lines: Sequence[tuple[str, float, float, float]], title: str) -> None:
    """One line per (label, score, low, high), the first on top; the middle of the scale is an even match."""
    figure, axes = _figure(7.0, 1.2 + 0.28 * len(lines))
    for row, (_, score, low, high) in enumerate(lines):
        axes.plot([low, high], [row, row], color=BLUE, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.plot([score], [row], "o", color=BLUE, markersize=4)
    axes.axvline(0.5, color="grey", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(lines)), [label for label, *_ in lines], fontsize=8)
    axes.set_xlim(0.0, 1.0)
    axes.invert_yaxis()
    _finish(axes, title)
    _save(figure, path)


def _finish(axes: Any, title: str) -> None:
    """What all charts share: a title, a light grid, no box."""
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _steps(value: float, position: int) -> str:
    """20,000 → `20 k`, 1,500,000 → `1.5 M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


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
    figure.savefig(path, dpi=160)
