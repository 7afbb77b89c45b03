"""Training from a script: `train` works like `pvp-ml train`, on the same folders, and returns the run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.data_files import RUNS
from pvp_ml.errors import UserError
from pvp_ml.run.config.schema import Config, load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import read_metrics
from pvp_ml.scripting.matches import LoadedModel, evaluate, load
from pvp_ml.selfplay.tally import Evaluation

SECTIONS = frozenset(Config.model_fields)


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """A run on disk, finished or not."""

    name: str
    folder: Path

    @property
    def model(self) -> LoadedModel:
        """The newest policy, ready to decide; its file is `model_file`."""
        return load(self.model_file)

    @property
    def model_file(self) -> Path:
        """The model file of the newest checkpoint."""
        path = self.folder / "model.zip"
        if not path.is_file():
            raise UserError(f"run '{self.name}' has no model yet", "train it until its first checkpoint")
        return path

    @property
    def metrics(self) -> dict[str, npt.NDArray[np.float64]]:
        """Every metric as a column, NaN where a row lacks it; `pandas.DataFrame(run.metrics)` makes a frame of it."""
        rows = list(read_metrics(self.folder / "metrics.jsonl"))
        names = dict.fromkeys(key for row in rows for key, value in row.items() if isinstance(value, int | float))
        return {name: np.array([_number(row.get(name)) for row in rows], np.float64) for name in names}

    def evaluate(self, opponent: str = "random", matches: int = 400, **options: Any) -> Evaluation:
        """The newest policy against an opponent; options as in `pvp_ml.evaluate`."""
        return evaluate(self.model_file, opponent, matches=matches, **options)


def train(preset: str = "", name: str = "", *, view: str = "lines", **settings: Any) -> TrainedRun:
    """Train until the run has its steps, or resume it: the same name and directory continue where it stopped.

    preset: as in `pvp-ml config list`, or a file; without one, give game="connect4"
    settings: any setting of the run, by short name (learning_rate=3e-4, total_steps=1e6, game="connect4") or by section
        (ppo={"learning_rate": 3e-4}, env={"matches": 64})
    view: "lines", "live" or "off"

    Ctrl-C saves and returns.
    """
    from rich.console import Console

    from pvp_ml.run.resume import Start
    from pvp_ml.run.session import final_evaluation, open_run
    from pvp_ml.run.trainer import train as loop

    words = flags({**({"name": name} if name else {}), "tracking": {"view": view}} | settings)
    config = load_config(preset, words, Path.cwd())
    with open_run(config, Console(), Start()) as run:
        if run.has_more():
            loop(run)
            if not run.is_stopping:
                final_evaluation(run)
    return find(config.run.name, config.run.directory)


def find(name: str, directory: str | Path = RUNS) -> TrainedRun:
    """A run that exists."""
    folder = RunStore(Path(directory), name).path
    if not folder.is_dir():
        raise UserError(f"there is no run '{name}' in '{directory}'", "train it first (`pvp-ml jobs list` shows runs)")
    return TrainedRun(name, folder)


def flags(settings: dict[str, Any]) -> list[str]:
    """Keyword settings as command-line words; a section's settings come as a mapping."""
    words = []
    for key, value in settings.items():
        inside = value.items() if key in SECTIONS and isinstance(value, dict) else None
        for path, one in ((f"{key}.{part}", own) for part, own in inside) if inside is not None else ((key, value),):
            words.append(f"--{path.replace('_', '-')}={_text(one)}")
    return words


def _text(value: Any) -> str:
    if isinstance(value, str | Path):
        return str(value)
    return json.dumps(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
