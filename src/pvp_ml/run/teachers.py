"""Clones and teachers: a cloned policy as a model file, and a model file as a run's teacher."""

from __future__ import annotations

import datetime
from pathlib import Path

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.model.bundle import Bundle, Training, make_bundle, read_bundle, require_fit, write_bundle
from pvp_ml.rl.policy.policy import Anchor, Policy
from pvp_ml.run.config.schema import Config
from pvp_ml.spec import GameSpec


def clone_bundle(path: Path, spec: GameSpec, policy: Policy, seed: int) -> None:
    """Write a cloned policy as a model file."""
    date = datetime.date.today().isoformat()
    training = Training(steps=0, seconds=0.0, run="clone", seed=seed, date=date, versions={})
    write_bundle(path, make_bundle(spec, policy.network, policy.tensors(), policy.normalizer, training, ()))


def find_model(name: str, spec: GameSpec, option: str = "") -> Bundle:
    """A model by name or path that plays this game; complaints begin with the option that named it."""
    path = data_files.find("models", name, (".zip",), Path.cwd())
    if path is None:
        named = f"{option}: " if option else ""
        raise UserError(f"{named}there is no model '{name}'", "`pvp-ml model list` shows all models")
    bundle = read_bundle(path)
    require_fit(bundle, spec)
    return bundle


def learner_of(bundle: Bundle) -> Policy:
    """A model as something that can learn on."""
    policy = Policy(bundle.network, bundle.interface)
    for target, source in ((policy.tensors(), bundle.tensors), (policy.normalizer, bundle.normalizer)):
        for key, array in target.items():
            array[:] = source[key]
    return policy


def load_policy(config: Config, model: str) -> Policy:
    """A model file as something that can learn; it must have the configured network."""
    bundle = find_model(model, config.env.spec)
    if bundle.network != config.network:
        raise UserError(f"the network of '{model}' differs from the preset's", "see `pvp-ml model inspect`")
    return learner_of(bundle)


def load_teacher(anchor: Anchor, policy: Policy, spec: GameSpec, name: str) -> None:
    """Fill a trainee's teacher from a model file; it must have the very same network."""
    bundle = find_model(name, spec, "ppo.teacher.model")
    if bundle.network != policy.network:
        raise UserError(f"ppo.teacher.model: the network of '{name}' differs from this run's",
                        "use the teacher's network settings (`pvp-ml model inspect`)")  # fmt: skip
    start = 0
    flat = anchor.flat.numpy()
    for key, shape in policy.shapes.items():
        array = bundle.tensors[key]
        flat[start : start + array.size] = array.reshape(-1)
        start += array.size
        assert array.shape == shape
    for key, array in anchor.normalizer.items():
        array[:] = bundle.normalizer[key]
