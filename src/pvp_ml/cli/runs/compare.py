"""`pvp-ml compare`: learning curves of several runs, seeds joined, as a table and a picture."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from pvp_ml.data_files import RUNS
from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_yaml import MAX_BYTES, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.run.tracking.curves import CurveBand, band, group_name, read_curve


def compare(
    *runs: str, metric: str = "eval/win_rate", directory: str = RUNS, png: str = "",
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:  # fmt: skip
    """Compare runs. Runs named `x-seed0`, `x-seed1`, … are joined: interquartile mean with a 95 % bootstrap band, or
    the range if there are fewer than five seeds.

    Args:
        runs: names of runs, or of groups of seeds; none = all
        metric: what to compare; see docs/metrics.md
        directory: where runs are kept
        png: save a chart of the curves to this file
        as_json: print one JSON object with the final values of each run
    """
    folders = sorted(path.parent for path in Path(directory).glob("*/metrics.jsonl"))
    chosen = [f for f in folders if not runs or f.name in runs or group_name(f.name) in runs]
    if not chosen:
        known = ", ".join(folder.name for folder in folders)
        hint = f"runs: {known}" if known else "there are no runs yet; `pvp-ml train` starts one"
        raise UserError(f"no run in '{directory}' is called {' or '.join(runs) or 'anything'}", hint)
    groups: dict[str, list[Path]] = {}
    for folder in chosen:
        groups.setdefault(group_name(folder.name), []).append(folder)
    bands = {
        name: band([read_curve(folder, metric) for folder in members], np.random.default_rng(0))
        for name, members in groups.items()
    }
    if as_json:
        print(json.dumps({name: _final(curve) for name, curve in bands.items()}))
    else:
        table = Table("run", "steps", metric, "low – high", "band", box=box.SIMPLE_HEAD)
        for name, curve in bands.items():
            last = _final(curve)
            table.add_row(
                name,
                f"{last['steps']:,.0f}",
                f"{last['value']:.4g}",
                f"{last['low']:.4g} – {last['high']:.4g}" if curve.runs > 1 else "–",
                curve.meaning,
            )
        Console().print(table)
    if png:
        from pvp_ml.cli.runs.plots import curves

        curves(Path(png), bands, label(metric, chosen[0]))


def label(metric: str, folder: Path) -> str:
    """The metric as an axis says it; a win rate names the opponent of the run's evaluation."""
    if metric != "eval/win_rate":
        return metric
    with contextlib.suppress(OSError, UserError, ValueError, KeyError, TypeError, IndexError):
        opponent = read_yaml(read_plain(folder / "config.yml", MAX_BYTES))["eval"]["opponents"][0]
        return f"win rate against {opponent} (ties count half)"
    return "win rate (ties count half)"


def _final(curve: CurveBand) -> dict[str, float | str]:
    return {
        "seeds": curve.runs,
        "band": curve.meaning,
        "steps": float(curve.steps[-1]),
        "value": float(curve.middle[-1]),
        "low": float(curve.low[-1]),
        "high": float(curve.high[-1]),
    }
