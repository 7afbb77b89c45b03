"""Where a run begins: an explicit checkpoint, a milestone, its own newest checkpoint, or from scratch — in that order.

Another run's state is only ever taken when it is named. What does not fit is refused with the difference; a warm start
takes what fits and says what it left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import safetensors.numpy

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.model.actor import Array
from pvp_ml.model.bundle import read_bundle
from pvp_ml.model.network_config import is_critic
from pvp_ml.rl.rewards import RewardConfig
from pvp_ml.rl.trainee import Trainee
from pvp_ml.run.config.schema import Config
from pvp_ml.run.store.manifest import checking
from pvp_ml.run.store.run_store import Checkpoint, RunStore, load


@dataclass(frozen=True, slots=True)
class Start:
    """What the user asked for; empty = the run's own newest checkpoint, if there is one."""

    checkpoint: str = ""
    milestone: str = ""
    warm_start: str = ""
    bc_model: str = ""  # a warm start from a clone: everything but the critic, which starts from scratch

    @property
    def source(self) -> str:
        """What a new run begins with; empty = fresh weights."""
        return self.bc_model or self.warm_start

    def unless_named(self, warm_start: str) -> Start:
        """A new run begins with that model where the user named nothing."""
        return self if self.source else replace(self, warm_start=warm_start)


def check_sources(start: Start, config: Config) -> None:
    """Refuse files that do not exist before any process starts; what is in them is checked when it is read."""
    if start.checkpoint:
        _checkpoint_folder(start.checkpoint)
    if start.source:
        _find_source(start.source, Path(config.run.directory))
    if config.ppo.teacher.model and data_files.find("models", config.ppo.teacher.model, (".zip",), Path.cwd()) is None:
        raise UserError(
            f"ppo.teacher.model: there is no model '{config.ppo.teacher.model}'", "`pvp-ml model list` shows all models"
        )


def _checkpoint_folder(name: str) -> Path:
    path = Path(name)
    if not path.is_dir():
        raise UserError(f"there is no checkpoint folder '{path}'", "name a folder inside the checkpoints/ of a run")
    return path


def _find_source(name: str, runs: Path) -> Path | None:
    """The model file to start from; None where the name means a checkpoint folder or a run."""
    if any((run / "checkpoints").is_dir() for run in (Path(name), runs / name)) or Path(name).is_dir():
        return None
    path = data_files.find("models", name, (".zip",), Path.cwd())
    if path is None:
        raise UserError(
            f"there is no model or checkpoint '{name}' to start from", "`pvp-ml model list` shows all models"
        )
    return path


def find_checkpoint(store: RunStore, start: Start) -> Checkpoint | None:
    """The state to continue from, or None for a new run."""
    if start.checkpoint:
        return load(_checkpoint_folder(start.checkpoint))
    if start.milestone:
        return store.milestone(start.milestone)
    return store.latest()


def differences(files: Mapping[str, bytes], config: Config) -> list[str]:
    """Settings of the game and the network in which a checkpoint's configuration differs from this one."""
    try:
        saved = json.loads(files["config.json"])
    except (KeyError, ValueError):
        return []
    now = config.model_dump(mode="json")
    changed = []
    for section in ("env", "network"):
        before, after = saved.get(section, {}), now[section]
        keys = sorted((set(before) | set(after)) - {"matches", "scenarios"})
        changed += [
            f"{section}.{key}: {before.get(key)!r} → {after.get(key)!r}"
            for key in keys
            if before.get(key) != after.get(key)
        ]
    return changed


def is_rewarded_otherwise(files: Mapping[str, bytes], config: Config) -> bool:
    """Whether a checkpoint's rewards were others than this configuration's; what cannot be read counts as the same."""
    try:
        return RewardConfig.model_validate(json.loads(files["config.json"])["reward"]) != config.reward
    except (KeyError, ValueError):
        return False


def warm_start(trainee: Trainee, start: Start, runs: Path) -> list[str]:
    """Copy the weights and statistics that fit from a bundle, a checkpoint folder or a run in the folder `runs`.

    Returns what was left out.
    """
    name = start.source
    weights, statistics = _read(name, runs)
    if start.bc_model:
        weights = {key: array for key, array in weights.items() if not is_critic(key)}
    left = []
    for target, source in ((trainee.policy.tensors(), weights), (trainee.policy.normalizer, statistics)):
        for key, array in target.items():
            if key in source and source[key].shape == array.shape:
                array[:] = source[key]
            else:
                have = source[key].shape if key in source else "nothing"
                left.append(f"{key} (wants {array.shape}, there is {have})")
    if len(left) == len(trainee.policy.tensors()) + len(trainee.policy.normalizer):
        raise UserError(f"nothing in '{name}' fits this network", "see `pvp-ml model inspect`")
    return left


def _newest(name: str, runs: Path) -> Checkpoint | None:
    """A checkpoint folder itself, or the newest checkpoint of a run given by folder or name; None for anything else."""
    folder = Path(name)
    for run in (folder, runs / name):
        if (run / "checkpoints").is_dir() and (found := RunStore(run.parent, run.name).latest()) is not None:
            return found
    return load(folder) if folder.is_dir() else None


def _read(name: str, runs: Path) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    found = _newest(name, runs)
    if found is not None:
        with checking(found.path):
            return (
                safetensors.numpy.load(found.files["policy.safetensors"]),
                safetensors.numpy.load(found.files["normalizer.safetensors"]),
            )
    path = _find_source(name, runs)
    if path is None:
        raise UserError(f"run '{name}' has no checkpoint yet", "train it until its first checkpoint")
    bundle = read_bundle(path)
    return bundle.tensors, bundle.normalizer
