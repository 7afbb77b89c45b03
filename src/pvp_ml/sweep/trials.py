"""Trials on disk: `t003.yml` holds the settings, the run folder `t003/` the results. Nothing else is stored."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_yaml import MAX_BYTES, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.run.jobs import Job, read_job
from pvp_ml.run.tracking.tracker import read_metrics
from pvp_ml.sweep.space import Settings, SweepConfig, preset_data

_FILE = re.compile(r"^t(\d{3,6})\.yml$")
SLACK_S = 0.5
"""A run stops after the rollout in which its time is over; its clock is rounded."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One point of a trial's learning curve."""

    seconds: float
    score: float


@dataclass(frozen=True, slots=True)
class Trial:
    """One point of the search."""

    number: int
    settings: Settings
    folder: Path
    curve: tuple[Measured, ...] = ()
    job: Job | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    @property
    def is_reference(self) -> bool:
        """Whether it changes nothing: the preset as it is."""
        return all(value is None for value in self.settings.values())

    @property
    def is_running(self) -> bool:
        """Whether a process trains it now."""
        return self.job is not None and self.job.state == "running"

    @property
    def best(self) -> float:
        """The last score; −∞ before the first."""
        return self.curve[-1].score if self.curve else float("-inf")

    @property
    def seconds(self) -> float:
        """Training seconds so far."""
        return self.job.seconds if self.job is not None else 0.0

    def score_at(self, seconds: float) -> float | None:
        """The first score measured after so many training seconds, or at the run's end."""
        for point in self.curve:
            if point.seconds >= seconds - SLACK_S:
                return point.score
        ended = self.job is not None and self.job.state == "finished"
        return self.curve[-1].score if ended and self.curve else None


def read_trials(folder: Path, goal: str, names: Sequence[str]) -> list[Trial]:
    """All trials of a sweep, by number; `names` are the settings that the sweep searches."""
    found = sorted((int(match[1]), path) for path in folder.glob("t*.yml") if (match := _FILE.match(path.name)))
    return [_read(number, path, goal, names) for number, path in found]


def write_trial(folder: Path, config: SweepConfig, number: int, settings: Settings) -> None:
    """Decide on a trial: from now on it is part of the sweep, whatever happens to this process."""
    path = folder / f"t{number:03d}.yml"
    beside = path.with_suffix(".tmp")
    with beside.open("w", encoding="utf-8") as file:
        yaml.safe_dump(preset_data(config, settings), file, sort_keys=False, allow_unicode=True)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _read(number: int, path: Path, goal: str, names: Sequence[str]) -> Trial:
    try:
        data = read_yaml(read_plain(path, MAX_BYTES))
    except OSError as error:
        raise UserError(f"trial '{path}' cannot be read: {error.strerror}", "delete it") from error
    run = path.with_suffix("")
    settings = {name: _value(data, name) for name in names}
    if not run.is_dir():
        return Trial(number, settings, run)
    rows = read_metrics(run / "metrics.jsonl")
    curve = [
        Measured(float(row.get("seconds", 0.0)), float(row[goal]))
        for row in rows
        if isinstance(row.get(goal), int | float)
    ]
    return Trial(number, settings, run, tuple(curve), read_job(run))


def _value(data: Any, name: str) -> Any:
    """The setting of that name; None where the trial leaves it to the preset."""
    for key in name.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data
