"""Runs for the site: what each of them says, and the two things that can be done to one. See SECURITY.md."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from pvp_ml.documents.plain_file import read_end
from pvp_ml.errors import UserError
from pvp_ml.run.desk import folder as files
from pvp_ml.run.desk.curves import Curves
from pvp_ml.run.jobs import Job, read_state, read_trainer, start_detached, stop_job
from pvp_ml.run.store.run_store import RunStore, check_run_name, is_run_name
from pvp_ml.selfplay.tally import wilson

SHOWN_RUNS = 100
MAX_PHASES = 50
WIN_RATES = ("eval/win_rate", "match/win_rate")


class Desk:
    """The runs of one directory. Curves are kept between requests, so that each reads only what is new."""

    def __init__(self, experiments: Path, working_directory: Path | None = None) -> None:
        self._experiments = experiments
        self._here = working_directory or Path.cwd()
        self._curves: dict[str, Curves] = {}
        self._lock = threading.Lock()  # requests come from several threads

    def summaries(self) -> list[dict[str, Any]]:
        """Every run, those that train now first, then the newest."""
        try:
            entries = [e for e in os.scandir(self._experiments) if e.is_dir(follow_symlinks=False) and _is_run(e)]
        except OSError:
            return []
        entries.sort(key=lambda entry: -entry.stat().st_mtime)
        found = [self._summary(entry.name) for entry in entries[:SHOWN_RUNS]]
        return sorted(found, key=lambda run: run["state"] != "running")

    def report(self, name: str) -> dict[str, Any]:
        """Everything about one run but its curves."""
        folder = self._folder(name)
        data, facts = files.settings(folder), files.progress(folder)
        phases = files.at(data, "phases")
        names = [files.text(files.at(p, "name")) for p in phases[:MAX_PHASES]] if isinstance(phases, list) else []
        return {
            **self._summary(name),
            "description": files.text(files.at(data, "run", "description")),
            "seed": files.at(data, "run", "seed") if isinstance(files.at(data, "run", "seed"), int) else None,
            "phases": names,
            "phase": int(files.number(files.at(facts, "extra", "phase"))),
            "saved_steps": files.number(facts.get("steps")),
            "milestones": files.milestones(folder),
            "league": files.league(facts),
            "eval_matches": int(files.number(files.at(data, "eval", "matches"))),
            "differs": files.differences(data, self._here),
            "log": self._log(folder),
        }

    def curves(self, name: str) -> dict[str, Any]:
        """Metrics over steps; scores of evaluations come with their 95 % interval."""
        folder = self._folder(name)
        matches = int(files.number(files.at(files.settings(folder), "eval", "matches")))
        with self._lock:
            curves = self._followed(name, folder).facts()
        bands = {}
        for metric, (steps, values) in curves.items():
            is_score = metric == "eval/win_rate" or (metric.startswith("eval/") and metric.endswith("/score"))
            if is_score and matches and all(0.0 <= value <= 1.0 for value in values):
                ends = [wilson(value * matches, matches) for value in values]
                bands[metric] = [steps, [round(low, 4) for low, _ in ends], [round(high, 4) for _, high in ends]]
        return {"curves": curves, "bands": bands}

    def stop(self, name: str) -> str:
        """Through the path that checks who holds the lock; what does not leave in time is killed."""
        return f"stopped {name}" if stop_job(self._job(name)) else f"{name} is not running"

    def resume(self, name: str) -> str:
        """Train on with the run's own settings, which are checked as a preset is: they start and reach nothing.

        Name and folder are given as flags, so that the settings cannot lead the run elsewhere.
        """
        job = self._job(name)
        if job.process is not None:
            raise UserError(f"run '{name}' is training already (process {job.process.pid})")
        store = RunStore(self._experiments, name)
        config = store.path / "config.yml"
        if files.read_limited(config, files.MAX_CONFIG_BYTES) is None:
            raise UserError(f"run '{name}' has no config.yml to continue with", "start it again with `pvp-ml train`")
        words = ["--preset", str(config), "--run.name", name, "--run.directory", str(self._experiments),
                 "--tracking.view", "lines", "--tracking.tensorboard-directory", "tensorboard"]  # fmt: skip
        started = start_detached(store, words)
        return f"{name} trains on as process {started.process.pid if started.process else '?'}"

    def _job(self, name: str) -> Job:
        """Without its metrics, which may hold anything."""
        folder = self._folder(name)
        process, command = read_trainer(folder)
        return Job(name, folder, "running" if process else "stopped", process, command, 0, 0.0)

    def _folder(self, name: str) -> Path:
        folder = self._experiments / check_run_name(name)
        if not (folder / "checkpoints").is_dir() or folder.is_symlink():
            raise UserError(f"there is no run '{name[:100]}' in '{self._experiments}'", "see `pvp-ml jobs list`")
        return folder

    def _followed(self, name: str, folder: Path) -> Curves:
        followed = self._curves.setdefault(name, Curves(folder / "metrics.jsonl"))
        followed.refresh()
        return followed

    def _summary(self, name: str) -> dict[str, Any]:
        folder = self._experiments / name
        data = files.settings(folder)
        with self._lock:
            curves = self._followed(name, folder)
            last, speed = dict(curves.last), curves.steps_per_s
            metric = next((m for m in WIN_RATES if m in last), "")
            line = curves.curve(metric)[-120:] if metric else []
        total, limit = (files.number(files.at(data, "run", key)) for key in ("total_steps", "max_seconds"))
        steps, seconds = last.get("steps", 0.0), last.get("seconds", 0.0)
        state = read_state(folder, int(steps))
        left = [max(0.0, limit - seconds)] if limit else []
        left += [max(0.0, total - steps) / speed] if total and speed > 0 else []
        return {
            "name": name,
            "game": files.text(files.at(data, "env", "name")),
            "state": state,
            "steps": steps,
            "total_steps": total,
            "seconds": seconds,
            "steps_per_s": round(speed, 1),
            "seconds_left": round(min(left), 1) if left and state == "running" else None,
            "metric": metric,
            "win_rate": last.get(metric) if metric else None,
            "line": line,
            "has_model": (folder / "model.zip").is_file(),
        }

    def _log(self, folder: Path) -> str:
        """The end of what a detached run printed."""
        try:
            return read_end(folder / "logs" / "train.log", 4000).decode("utf-8", "replace")
        except OSError:
            return ""


def _is_run(entry: os.DirEntry[str]) -> bool:
    return is_run_name(entry.name) and os.path.isdir(os.path.join(entry.path, "checkpoints"))
