"""`pvp-ml train`: start a run, or go on with it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from pvp_ml.cli import INTERRUPTED
from pvp_ml.errors import UserError
from pvp_ml.selfplay.tally import Evaluation

if TYPE_CHECKING:
    from pvp_ml.run.config import Config

Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


def train(*flags: Flags, preset: str = "", seeds: int = 1) -> int:
    """Train an agent, or go on with a run of the same name.

    Every setting is a flag: --name x --learning-rate 3e-4 --num-envs 256 --total-timesteps 1e7. `pvp-ml config options`
    lists all of them, `pvp-ml config show --preset NAME` prints what a run would use. Ctrl-C saves and leaves; the same
    command goes on.

    Args:
        preset: a preset's name or file (`pvp-ml config list`); without one, choose a game with --game
        seeds: train so many runs one after the other, NAME-seed0, NAME-seed1, …; `pvp-ml compare` joins them
    """
    from pvp_ml.run.config import load_config

    config = load_config(preset, flags, Path.cwd())
    require_torch()
    if seeds == 1:
        return train_one(config)
    for seed in range(seeds):
        named = {"name": f"{config.run.name}-seed{seed}", "seed": config.run.seed + seed}
        code = train_one(config.model_copy(update={"run": config.run.model_copy(update=named)}))
        if code:
            return code
    return 0


def train_one(config: Config) -> int:
    """One run, to its end or until it is stopped; returns the exit code."""
    from pvp_ml.run.session import final_evaluation, open_run
    from pvp_ml.run.trainer import train as loop

    console = Console()
    with open_run(config, console) as run:
        if not run.has_more():
            print(
                f"run '{config.run.name}' has its {run.progress.steps:,} steps; go on with a larger --total-timesteps"
            )
            return 0
        loop(run)
        reports = [] if run.is_stopping else final_evaluation(run)
        run.tracker.close()
        where = run.store.path / "model.zip"
    for line in results(reports):
        console.print(line, highlight=False)
    if run.is_stopping:
        console.print(f"saved at {run.progress.steps:,} steps; the same command goes on", highlight=False)
        return INTERRUPTED
    console.print(f"model: {where}\nmeasure it: pvp-ml eval --model {where}", highlight=False, soft_wrap=True)
    return 0


def require_torch() -> None:
    """Say how to get it, instead of failing somewhere inside."""
    if importlib.util.find_spec("torch") is None:
        raise UserError("training needs torch, which is not installed", "pip install 'pvp-ml[train]'")


def results(reports: Sequence[Evaluation]) -> list[str]:
    """A line per opponent: win rate with its interval."""
    lines = []
    for report in reports:
        low, high = report.total.interval
        rate = f"{100 * report.total.score:.1f} % ({100 * low:.1f}–{100 * high:.1f})"
        lines.append(f"win rate against {report.second}: {rate} over {report.total.matches} matches")
    return lines
