"""`pvp-ml sweep`: search for good settings with many short runs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from filelock import FileLock, Timeout
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from pvp_ml.cli.train import require_torch
from pvp_ml.data_files import RUNS
from pvp_ml.errors import UserError
from pvp_ml.run.machine import cores
from pvp_ml.run.store.run_store import check_run_name
from pvp_ml.sweep.scheduler import Sweep, ranking
from pvp_ml.sweep.space import SweepConfig, read_sweep
from pvp_ml.sweep.trials import Trial, read_trials

SWEEP_FILE = "sweep.yml"
SHOWN = 12


def sweep(
    file: Path, *, name: str, seconds: float = 1800.0, workers: int = 0, directory: str = RUNS, png: str = "",
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:  # fmt: skip
    """Search for good settings with many short runs; the weaker half is stopped at each rung. Rerun to resume.

    Example: pvp-ml sweep nh.yml --name nh-speed --seconds 1800 --png sweep.png

    Args:
        file: a YAML file with a preset and ranges; see docs/sweep.md
        name: the folder for the results; trials are ordinary runs, so `compare --directory experiments/NAME` works
        seconds: how long to search; 0 only shows the results so far
        workers: trials at the same time, each on one core; 0 = one per core
        directory: where runs are kept
        png: save a chart of strength against training seconds to this file
        as_json: print one JSON object: `trials`, best first
    """
    check_run_name(name)
    folder = Path(directory) / name
    config = _keep(file, folder)
    if seconds > 0:
        require_torch()
        _search(config, folder, workers or cores(), seconds, quiet=as_json)
    trials = read_trials(folder, config.goal, list(config.ranges))
    if as_json:
        print(
            json.dumps({"goal": config.goal, "trials": [_row(trial) for trial in ranking(trials, config.rung_seconds)]})
        )
    else:
        _tell(config, folder, trials)
    if png:
        from pvp_ml.cli.runs.plots import Dot, pareto

        dots = [Dot(t.name, point.seconds, point.score, t.is_reference) for t in trials for point in t.curve]
        label = "win rate (ties count half)" if config.goal == "eval/win_rate" else config.goal
        pareto(Path(png), dots, f"{name}: strength against training time, {len(trials)} trials", label)
        print(f"chart: {png}", file=sys.stderr)


def _keep(file: Path, folder: Path) -> SweepConfig:
    """The sweep file, checked and kept beside its trials; the ranges of a started sweep cannot change."""
    config = read_sweep(file)
    kept = folder / SWEEP_FILE
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)
    elif read_sweep(kept).ranges != config.ranges:
        raise UserError(f"'{folder}' holds a sweep over other ranges", "choose another --name")
    return config


def _search(config: SweepConfig, folder: Path, workers: int, seconds: float, quiet: bool) -> None:
    console = Console(stderr=True)
    search = Sweep(config, folder, workers)
    try:
        with FileLock(folder / "sweep.lock", timeout=0):
            if quiet or not console.is_terminal:
                search.run(seconds, News(lambda line: None if quiet else print(line, file=sys.stderr, flush=True)).show)
            else:
                with Live(console=console, transient=True) as live:
                    search.run(seconds, lambda trials: live.update(_table(config, trials)))
    except Timeout:
        raise UserError(
            f"another process is running the sweep in '{folder}'", "wait for it, or choose another --name"
        ) from None


class News:
    """What a log gets instead of a live table: a line whenever a trial starts or is measured."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._known: dict[str, int] = {}  # trial → measurements that were shown

    def show(self, trials: list[Trial]) -> None:
        """Tell what is new."""
        for trial in trials:
            shown = self._known.get(trial.name)
            if shown is None and not trial.curve:
                what = "the preset as it is" if trial.is_reference else _settings(trial)
                self._tell(f"{trial.name} started: {what}")
            for point in trial.curve[shown or 0 :]:
                self._tell(f"{trial.name} after {point.seconds:.0f} s: {point.score:.3f}")
            self._known[trial.name] = len(trial.curve)


def _short(value: object) -> str:
    """A setting that fits a column: three digits, lists without spaces."""
    if value is None:
        return "preset"
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace(" ", "")


def _settings(trial: Trial) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in trial.settings.items())


def _table(config: SweepConfig, trials: list[Trial]) -> Table:
    """The best trials, and the ones that are training."""
    best = ranking(trials, config.rung_seconds)[:SHOWN]
    rows = [*best, *(t for t in trials if t.is_running and t not in best)]
    title = f"{len(trials)} trials, {sum(t.is_running for t in trials)} training"
    names = [name.rpartition(".")[2] for name in config.ranges]
    goal = "win rate" if config.goal == "eval/win_rate" else config.goal
    table = Table("trial", "seconds", goal, *names, title=title, title_justify="left", box=box.SIMPLE_HEAD,
                  padding=(0, 1, 0, 0), pad_edge=False)  # fmt: skip
    for trial in rows:
        score = f"{trial.best:.3f}" if trial.curve else "–"
        mark = " ●" if trial.is_running else ""
        table.add_row(
            f"{trial.name}{mark}",
            f"{trial.seconds:.0f}",
            score,
            *(_short(value) for value in trial.settings.values()),
        )
    return table


def _tell(config: SweepConfig, folder: Path, trials: list[Trial]) -> None:
    Console().print(_table(config, trials))
    if best := ranking(trials, config.rung_seconds):
        preset = best[0].folder.with_suffix(".yml")
        print(f"best: {best[0].name}; train it longer: pvp-ml train --preset {preset} --name {folder.name}-best")
        own = next((trial for trial in best if trial.is_reference), None)
        if own is best[0]:
            print(f"nothing has beaten the preset as it is ({own.name}: {own.best:.3f}) yet")
        elif own is not None:
            print(f"the preset as it is ({own.name}): {own.best:.3f}; the best trial: {best[0].best:.3f}")
    else:
        print(f"no trial has been measured yet; logs are in {folder}/t001/logs")


def _row(trial: Trial) -> dict[str, object]:
    curve = [{"seconds": point.seconds, "score": point.score} for point in trial.curve]
    return {"trial": trial.name, "settings": trial.settings, "score": trial.best, "curve": curve}
