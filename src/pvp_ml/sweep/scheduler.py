"""Which trial runs next: the better half of each rung moves up to the next one, and new trials fill the free workers.

Everything is decided from what is on disk, so a killed sweep continues where it stopped: trials that are still training
are picked up, stopped ones are resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pvp_ml.run.jobs import read_job, start_detached, stop_job
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.sweep.search import propose
from pvp_ml.sweep.space import Settings, SweepConfig
from pvp_ml.sweep.trials import Trial, read_trials, write_trial

ENOUGH_TO_JUDGE = 4
"""Trials that must have reached a rung before any is stopped there."""
MAX_STARTS = 3
"""Starts of one trial without a new score after which it is given up."""
LOOK_EVERY_S = 1.0


class Sweep:
    """A sweep in its folder; `workers` trials train at a time, each on one core."""

    def __init__(self, config: SweepConfig, folder: Path, workers: int) -> None:
        self.config = config
        self.folder = folder
        self.workers = workers
        self._starts: dict[tuple[int, float], int] = {}  # (trial, rung) → starts in this session

    def trials(self) -> list[Trial]:
        """All trials as they are on disk now."""
        return read_trials(self.folder, self.config.goal, list(self.config.ranges))

    def run(
        self, seconds: float, show: Callable[[list[Trial]], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        """Search for so many seconds, then stop what still trains; rerun to continue."""
        end = now() + seconds
        try:
            while now() < end:
                trials = self.trials()
                show(trials)
                if not self.advance(trials):
                    return
                time.sleep(LOOK_EVERY_S)
        finally:
            for trial in self.trials():
                if trial.job is not None and trial.is_running:
                    stop_job(trial.job)
            show(self.trials())

    def advance(self, trials: list[Trial]) -> bool:
        """Start what may start; False when nothing trains and nothing is left to try."""
        running = [trial for trial in trials if trial.is_running]
        may_grow = len(trials) < self.config.max_trials
        free = self.workers - len(running)
        started = 0
        for trial in trials:
            rung = self.next_rung(trial, trials, judge_few=not may_grow)
            if rung and started < free and not trial.is_running and self._may_start(trial, rung):
                self._start(trial.number, rung)
                started += 1
        while started < free and len(trials) < self.config.max_trials:
            trials = [*trials, self._new(trials)]
            started += 1
        return bool(running or started)

    def next_rung(self, trial: Trial, trials: list[Trial], judge_few: bool) -> float:
        """Training seconds up to which a trial should be trained next; 0 when it is done, weak, or cannot be judged.

        Judged by those that reached the same rung; where they are too few it waits for more (`judge_few`: none come).
        """
        for rung in self.config.rung_seconds:
            score = trial.score_at(rung)
            if score is None:
                return rung
            if trial.is_reference:
                continue
            rivals = [found for other in trials if (found := other.score_at(rung)) is not None]
            if len(rivals) < ENOUGH_TO_JUDGE and not judge_few:
                return 0.0
            if score < float(np.median(rivals)):
                return 0.0
        return 0.0

    def _may_start(self, trial: Trial, rung: float) -> bool:
        return self._starts.get((trial.number, rung), 0) < MAX_STARTS

    def _new(self, trials: list[Trial]) -> Trial:
        number = 1 + max((trial.number for trial in trials), default=0)
        drawn = [trial for trial in trials if not trial.is_reference]
        tried = [(trial.settings, trial.best) for trial in drawn if trial.curve]
        settings: Settings = {}
        if number > 1 or not self.config.reference:
            settings = propose(self.config, number, tried, [trial.settings for trial in drawn if not trial.curve])
        write_trial(self.folder, self.config, number, settings)
        self._start(number, self.config.rung_seconds[0])
        known = {name: settings.get(name) for name in self.config.ranges}
        return Trial(number, known, self.folder / f"t{number:03d}")

    def _start(self, number: int, rung: float) -> None:
        name = f"t{number:03d}"
        self._starts[number, rung] = self._starts.get((number, rung), 0) + 1
        store = RunStore(self.folder, name)
        if store.path.is_dir() and read_job(store.path).process is not None:
            return
        words = ["--preset", str(self.folder / f"{name}.yml"), "--name", name, "--run.directory", str(self.folder)]
        words += ["--run.max-seconds", f"{rung:g}", "--run.shards", "1", "--tracking.view", "lines"]
        words += ["--tracking.tensorboard-directory", str(Path("tensorboard") / self.folder.name)]
        start_detached(store, words)


def ranking(trials: list[Trial], rungs: Sequence[float]) -> list[Trial]:
    """The best first: by the rungs that a trial reached, then by its last score.

    Not by seconds: a run ends with its rollout, so equal rungs differ by seconds, the more the busier the machine.
    """

    def reached(trial: Trial) -> int:
        return sum(trial.score_at(rung) is not None for rung in rungs)

    return sorted((t for t in trials if t.curve), key=lambda t: (reached(t), t.best), reverse=True)
