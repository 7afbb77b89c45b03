"""A run from its configuration: opened on disk, resumed if it was begun before, tracked, and closed again."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from pvp_ml.bundle import pack_bundle
from pvp_ml.errors import UserError
from pvp_ml.run.config import Config
from pvp_ml.run.progress import History, make_view
from pvp_ml.run.resume import Start
from pvp_ml.run.store import RunStore
from pvp_ml.run.tensorboard import TensorBoard
from pvp_ml.run.tracking import JsonLines, Tracker
from pvp_ml.run.trainer import Run
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.selfplay.tally import Evaluation

log = logging.getLogger(__name__)


@contextlib.contextmanager
def open_run(config: Config, console: Console, start: Start | None = None) -> Iterator[Run]:
    """A run that may train: locked, resumed from its newest checkpoint, with every sink attached.

    Nothing is written before the configuration has proved that it can be played.
    """
    for name in config.eval.opponents:
        find_contestant(name, config.env.spec, Path.cwd())
    store = RunStore(Path(config.run.directory), config.run.name, config.run.keep_checkpoints)
    with contextlib.closing(Run(config, store, Tracker())) as run:
        store.create()
        with store.lock(time.time()):
            if run.resume(start):
                log.info("going on with run '%s' at %d steps", config.run.name, run.progress.steps)
            store.export("config.yml", config.to_yaml().encode())
            attach_sinks(run, console)
            yield run


def attach_sinks(run: Run, console: Console) -> None:
    """Metrics file, TensorBoard and the view, each from where the run is now."""
    tracking, steps = run.config.tracking, run.progress.steps
    run.tracker.add("metrics.jsonl", JsonLines(run.store.metrics, steps))
    if tracking.tensorboard:
        folder = Path(tracking.tensorboard_directory) / run.config.run.name
        try:
            run.tracker.add("TensorBoard", TensorBoard(folder, steps))
        except (UserError, OSError) as error:
            log.warning("no TensorBoard: %s; training goes on, metrics are in %s", error, run.store.metrics)
    title = f"{run.config.run.name} · {run.spec.name} · {run.config.env.matches} matches"
    history = History(run.config.run.total_steps, run.config.run.max_seconds)
    view = make_view(tracking.view, title, history, console, time.monotonic)
    if view is not None:
        run.tracker.add("view", view)


def final_evaluation(run: Run) -> list[Evaluation]:
    """Measure the finished policy, and put the results into its model file."""
    reports = run.evaluate()
    run.store.export("model.zip", pack_bundle(run.bundle()))
    return reports
