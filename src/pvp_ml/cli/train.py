"""`pvp-ml train`: start a run, or resume it."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from pvp_ml.cli import INTERRUPTED
from pvp_ml.errors import UserError, pip_install
from pvp_ml.selfplay.tally import Evaluation

if TYPE_CHECKING:
    from pvp_ml.run.config.schema import Config
    from pvp_ml.run.resume import Start

Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


Preset = Annotated[str, Parameter(alias="--config")]
Resume = Annotated[str, Parameter(alias=("--load-file", "--custom-ckpt-path", "--CUSTOM_CKPT_PATH"))]
WarmStart = Annotated[str, Parameter(alias="--bootstrap-from-experiment")]


def train(
    *flags: Flags, preset: Preset = "", seeds: int = 1, detach: bool = False, resume: Resume = "", milestone: str = "",
    warm_start: WarmStart = "", bc_model: str = "",
) -> int:  # fmt: skip
    """Train an agent, or resume the run of the same name.

    `train cleanup --name X` stops that run (`--name all`: every run), `train show` lists them, `train tensorboard`
    starts TensorBoard.

    Every setting is a flag: --name x --learning-rate 3e-4 --num-envs 256 --total-timesteps 1e7. `pvp-ml config options`
    lists all of them, `pvp-ml config show --preset NAME` prints what a run would use. Ctrl-C saves and quits; rerun to
    resume.

    Args:
        preset: a preset's name or file (`pvp-ml config list`), or the old Rocket League trainer's training.yaml;
            without one, choose a game with --game
        seeds: train this many runs one after the other: NAME-seed0, NAME-seed1, …; `pvp-ml compare` joins them
        detach: keep training when the terminal closes; see `pvp-ml jobs`
        resume: continue from this checkpoint folder instead of the newest checkpoint
        milestone: continue from this milestone of the run (`Phase1-BallTouching/025M`); `pick` shows a list
        warm_start: start a new run with the weights that fit from this model, checkpoint or run; lists the rest
        bc_model: start a new run from this clone (`pvp-ml bc train`), without its value head; it is also the teacher
            (`ppo.teacher.weight`); `ppo.critic_warmup` lets the critic catch up first
    """
    if flags and flags[0] in ACTIONS:
        return ACTIONS[flags[0]](flags[1:])
    from pvp_ml.run.config.schema import load_config

    if bc_model:
        flags = (*flags, "--ppo.teacher.model", bc_model)
    config = load_config(preset, flags, Path.cwd())
    require_torch()
    from pvp_ml.run.resume import Start

    start = Start(resume, chosen_milestone(config, milestone), warm_start, bc_model)
    if detach:
        given = (("--preset", preset), ("--resume", start.checkpoint), ("--milestone", start.milestone),
                 ("--warm-start", warm_start), ("--bc-model", bc_model), ("--seeds", str(seeds)))  # fmt: skip
        words = [word for name, value in given if value for word in (name, value)]
        return train_detached(config, [*words, *flags, "--tracking.view", "lines"])
    if seeds == 1:
        return train_one(config, start)
    for seed in range(seeds):
        named = {"name": f"{config.run.name}-seed{seed}", "seed": config.run.seed + seed}
        code = train_one(config.model_copy(update={"run": config.run.model_copy(update=named)}), start)
        if code:
            return code
    return 0


def chosen_milestone(config: Config, asked: str) -> str:
    """The milestone's label; `pick` asks, on a terminal."""
    if asked != "pick":
        return asked
    from pvp_ml.run.store.milestones import pick_milestone
    from pvp_ml.run.store.run_store import RunStore

    store = RunStore(Path(config.run.directory), config.run.name)
    if not sys.stdin.isatty():
        known = ", ".join(store.milestone_names()) or "none"
        raise UserError("--milestone pick needs a terminal", f"name one; there are: {known}")
    return pick_milestone(store, input, print)


def train_detached(config: Config, words: Sequence[str]) -> int:
    """`train WORDS` in a process of its own, and TensorBoard beside it; returns at once."""
    from pvp_ml.run.jobs import read_job, start_detached
    from pvp_ml.run.store.run_store import RunStore

    store = RunStore(Path(config.run.directory), config.run.name)
    if store.path.is_dir() and (running := read_job(store.path).process):
        raise UserError(f"run '{config.run.name}' is training already (process {running.pid})", "choose another --name")
    job = start_detached(store, words)
    print(f"run '{job.name}' is training in the background")
    print(f"  log: pvp-ml jobs logs {job.name} --follow\n  stop: pvp-ml jobs stop {job.name}")
    if config.tracking.tensorboard and importlib.util.find_spec("tensorboard") is not None:
        from pvp_ml.cli.runs.tensorboard import tensorboard

        tensorboard(logdir=config.tracking.tensorboard_directory)
    return 0


def _cleanup(flags: Sequence[str]) -> int:
    from pvp_ml.cli.runs.jobs import app

    words = [word for word in flags if word != "--name"]
    if "--name" not in flags or not words:
        raise UserError("cleanup needs a run", "train cleanup --name NAME, or --name all")
    app(["stop", *words], exit_on_error=False, print_error=False, result_action="return_value")
    return 0


def _show(flags: Sequence[str]) -> int:
    from pvp_ml.cli.runs.jobs import app

    app(["list", *flags], exit_on_error=False, print_error=False, result_action="return_value")
    return 0


def _tensorboard(flags: Sequence[str]) -> int:
    from pvp_ml.cli import run

    return run(["tensorboard", *flags])


ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {
    "cleanup": _cleanup,
    "show": _show,
    "tensorboard": _tensorboard,
}
"""What the original's `train` did besides training."""


def train_one(config: Config, start: Start) -> int:
    """One run, to its end or until it is stopped; returns the exit code."""
    from pvp_ml.run.session import final_evaluation, open_run
    from pvp_ml.run.trainer import train as loop

    console = Console()
    with ending_on_sigterm(), open_run(config, console, start) as run:
        if not run.has_more():
            done = f"run '{config.run.name}' has finished its {run.progress.steps:,} steps"
            print(f"{done}; give a larger --total-timesteps to continue")
            return 0
        loop(run)
        reports = [] if run.is_stopping else final_evaluation(run)
        run.tracker.close()
        where = run.store.path / "model.zip"
    for line in results(reports):
        console.print(line, highlight=False)
    if run.is_stopping:
        console.print(f"saved at {run.progress.steps:,} steps; rerun to resume", highlight=False)
        return INTERRUPTED
    console.print(f"model: {where}\nmeasure it: pvp-ml eval --model {where}", highlight=False, soft_wrap=True)
    return 0


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C, so that everything is closed; while it trains, the run handles both itself."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def require_torch() -> None:
    """Say how to get it, instead of failing somewhere inside."""
    if importlib.util.find_spec("torch") is None:
        raise UserError("training needs torch, which is not installed", pip_install("train"))


def results(reports: Sequence[Evaluation]) -> list[str]:
    """A line per opponent: win rate with its interval."""
    lines = []
    for report in reports:
        low, high = report.total.interval
        rate = f"{100 * report.total.score:.1f} % ({100 * low:.1f}–{100 * high:.1f})"
        lines.append(f"win rate against {report.second}: {rate} over {report.total.matches} matches")
    return lines
