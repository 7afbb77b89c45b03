"""A run from its configuration: opened on disk, resumed if it was begun before, tracked, and closed again."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from pvp_ml.errors import UserError
from pvp_ml.match import MAIN
from pvp_ml.model.actor import Array
from pvp_ml.model.bundle import pack_bundle
from pvp_ml.run.coached_start import coached_start
from pvp_ml.run.config.schema import Config
from pvp_ml.run.machine import free_bytes
from pvp_ml.run.resume import Start, check_sources
from pvp_ml.run.store.disk_budget import check_room
from pvp_ml.run.store.links import refuse_links
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.threads import threads
from pvp_ml.run.tracking.alarms import Alarms, warn_at_start
from pvp_ml.run.tracking.debug import Teller
from pvp_ml.run.tracking.live_view import History, make_view
from pvp_ml.run.tracking.tensorboard import TensorBoard
from pvp_ml.run.tracking.tracker import JsonLines, Tracker
from pvp_ml.run.tracking.weights_and_biases import WeightsAndBiases
from pvp_ml.run.trainer import Run
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.selfplay.tally import Evaluation

log = logging.getLogger(__name__)


@contextlib.contextmanager
def open_run(config: Config, console: Console, start: Start | None = None) -> Iterator[Run]:
    """A run that may train: locked, resumed from its newest checkpoint, with every sink attached.

    Nothing is written before the configuration has proved that it can be played.
    """
    for name in (*config.eval.opponents, *config.eval.references):
        find_contestant(name, config.env.spec, Path.cwd())
    start = (start or Start()).unless_named(config.run.warm_start)
    check_sources(start, config)
    store = RunStore(Path(config.run.directory), config.run.name, config.run.keep_checkpoints)
    refuse_links(store.path)
    need = check_room(config, config.env.spec, store.path)
    warn_at_start(config, free_bytes())
    config, start = coached_start(config, store, start)
    with contextlib.closing(Run(config, store, Tracker())) as run:
        limits = ", ".join(f"{name}={value}" for name, value in threads().items())
        counted = "1 shard" if run.learning.shards.count == 1 else f"{run.learning.shards.count} shards"
        log.info("%s, %s; will need about %s of disk", counted, limits, need.text())
        store.create()
        with store.lock(time.time()):
            if run.resume(start):
                log.info("resuming run '%s' at %d steps", config.run.name, run.progress.steps)
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
            shown = (lambda: distributions(run)) if tracking.histograms else None
            run.tracker.add("TensorBoard", TensorBoard(folder, steps, shown))
        except (UserError, OSError) as error:
            log.warning("no TensorBoard: %s; training continues, metrics are in %s", error, run.store.metrics)
    if tracking.wandb:
        run.tracker.add("W&B", WeightsAndBiases(tracking.wandb, run.store.path, run.config.to_data()))
    run.tracker.add("alarms", Alarms(run.config.ppo.normalize_rewards))
    if tracking.debug:
        run.tracker.add("debug", Teller(run))
    title = f"{run.config.run.name} · {run.spec.name} · {run.config.env.matches} matches"
    history = History(run.config.run.total_steps, run.config.run.max_seconds)
    wanted = "lines" if tracking.debug and tracking.view == "auto" else tracking.view  # a live panel hides lines
    view = make_view(wanted, title, history, console, time.monotonic)
    if view is not None:
        run.tracker.add("view", view)


def distributions(run: Run) -> dict[str, Array]:
    """What TensorBoard shows as histograms: the main policy's weights, and the first shard's rewards of a rollout."""
    arrays = {f"weights/{name}": array for name, array in run.learning.trainees[MAIN].policy.tensors().items()}
    own = getattr(run.learning.shards, "own", None)
    if own is not None:
        arrays["rollout/reward"] = own.collector.rollout.reward
    return arrays


def final_evaluation(run: Run) -> list[Evaluation]:
    """Measure the finished policy, and put the results into its model file."""
    reports = run.evaluate_once()
    run.store.try_export("model.zip", pack_bundle(run.bundle()))
    return reports
