"""Models of the old trainer (`pvp-ml model import old.zip`): read, checked, and turned into a bundle.

The old actor had a flaw: with stacked frames and a privileged critic it read the first numbers of the flattened stack,
the opponent's hidden part included (layout `flat-prefix`). Such a network is imported as it plays without that part:
the old trainer fed zeros there when it was not training, and zeros are a constant, which goes into the bias.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pvp_ml.compat.old_archive import LegacyArchive, open_file
from pvp_ml.compat.old_pickle import read_pickle
from pvp_ml.compat.old_values import LegacyError, Record, TensorRef, show
from pvp_ml.games.contract import Contract, parse_contract

Array = npt.NDArray[Any]
Layout = Literal["per-frame", "flat-prefix"]
MAX_DEPTH = 12
MAX_FRAMES = 16
MAX_NUMBERS = 1 << 26
CONFIGS = ("feature_extractor_config", "actor_config", "critic_config", "action_head_configs")


@dataclass(frozen=True)
class LegacyModel:
    """What an old file holds, in plain values. `policy` has the old tensor names; statistics are float64."""

    name: str
    policy: Mapping[str, Array]
    win_rate: Mapping[str, Array]  # of the outcome predictor; empty when there is none
    params: Mapping[str, Any]
    frames: tuple[int, ...]
    mean: Array
    var: Array
    count: float
    steps: int
    rollouts: int
    updates: int
    contract: Contract
    contract_json: bytes
    environment: Mapping[str, Any]  # arguments of the old environment, schedules in today's form
    league: Mapping[str, Any]

    @property
    def heads(self) -> tuple[int, ...]:
        """Choices per head."""
        return tuple(self.params["action_head_sizes"])

    @property
    def layout(self) -> Layout:
        """How the actor's input is laid out."""
        has_hidden = self.params["critic_input_size"] > self.params["actor_input_size"]
        return "flat-prefix" if has_hidden and len(self.frames) > 1 else "per-frame"


def read_legacy(path: Path) -> LegacyModel:
    """Read an old model file; raises LegacyError, and allocates little, for anything that is not one."""
    try:
        return _read(path)
    except (TypeError, AttributeError, KeyError, IndexError, ValueError, OverflowError, RecursionError) as error:
        raise LegacyError(f"the file is not what an old model is: {type(error).__name__}") from error


def _read(path: Path) -> LegacyModel:
    with open_file(path) as file:
        archive = LegacyArchive(file)
        top = _mapping(read_pickle(archive.read("data.pkl")), "the file")
        unknown = sorted(str(key) for key in set(top) - {"policy", "optimizer", "policy_params", "meta", "extensions"})
        if unknown:
            raise LegacyError(f"the file holds '{unknown[0][:40]}', which old models do not")
        params = _state(top.get("policy_params"), "policy_params")
        meta = _state(top.get("meta"), "meta")
        data = _mapping(meta.get("custom_data", {}), "meta.custom_data")
        _check_params(params)
        statistics = _state(meta.get("running_observation_stats"), "running_observation_stats")
        environment = _mapping(plain(data.get("env_kwargs", {}), "env_kwargs"), "env_kwargs")
        contract_json = json.dumps(_contract(data.get("env_meta"))).encode()
        if not meta.get("normalized_observations", True):
            raise LegacyError("its observations are not normalised", "such a model cannot be imported")
        return LegacyModel(
            name=archive.top,
            policy=_tensors(archive, top.get("policy"), "policy"),
            win_rate=_win_rate(archive, top.get("extensions") or []),
            params=params,
            frames=_frames(environment.get("stack_frames", 1), params),
            mean=_vector(archive, statistics.get("mean"), "mean"),
            var=_vector(archive, statistics.get("var"), "var"),
            count=float(_number(statistics.get("count"), "count")),
            steps=int(_number(meta.get("trained_steps", 0), "trained_steps")),
            rollouts=int(_number(meta.get("trained_rollouts", 0), "trained_rollouts")),
            updates=int(_number(meta.get("num_updates", 0), "num_updates")),
            contract=parse_contract(contract_json, str(environment.get("env_name", "") or "imported")[:60]),
            contract_json=contract_json,
            environment=environment,
            league={key: plain(value, key) for key, value in data.items() if _is_league(key)},
        )


def _is_league(key: str) -> bool:
    return key == "past_self_play_league" or key.endswith(("_elo", "_match_outcome")) or key == "reference_rating"


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise LegacyError(f"{what} is {type(value).__name__}, not a mapping")
    return value


def _state(value: Any, what: str) -> dict[str, Any]:
    if isinstance(value, Record):
        return value.state
    raise LegacyError(f"{what} is {type(value).__name__}, not an object of the old trainer")


def _number(value: Any, what: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e18:
        raise LegacyError(f"{what} is {show(value)}")
    return float(value)


def _check_params(params: dict[str, Any]) -> None:
    for name in ("max_sequence_length", "actor_input_size", "critic_input_size"):
        value = params.get(name)
        if type(value) is not int or not 1 <= value <= 1 << 16:
            raise LegacyError(f"policy_params.{name} is {show(value)}")
    sizes: Any = params.get("action_head_sizes")
    if type(sizes) not in (list, tuple) or not 1 <= len(sizes) <= 256 or any(
        type(size) is not int or not 1 <= size <= 4096 for size in sizes
    ):  # fmt: skip
        raise LegacyError("policy_params.action_head_sizes is not a list of sizes")
    if params.get("append_future_action_masks"):
        raise LegacyError("it appends future action masks, which never worked and is not imported")
    for name in CONFIGS:
        params[name] = plain(params.get(name), name)
    if _layers(params["feature_extractor_config"]):
        raise LegacyError("it has a feature extractor, which is not imported")


def _frames(option: Any, params: Mapping[str, Any]) -> tuple[int, ...]:
    frames = tuple(range(option)) if type(option) is int and 0 < option <= MAX_FRAMES else option
    if type(frames) not in (list, tuple) or not all(type(f) is int and 0 <= f <= 256 for f in frames):
        raise LegacyError(f"stack_frames is {show(option)}")
    if len(frames) != params["max_sequence_length"] or list(frames) != sorted(set(frames)) or frames[0] != 0:
        raise LegacyError(f"frames {tuple(frames)} do not fit a sequence of {params['max_sequence_length']}")
    return tuple(frames)


def _tensors(archive: LegacyArchive, refs: Any, what: str) -> dict[str, Array]:
    """Named tensors; all are checked before the first is read."""
    refs = _mapping(refs, what)
    for name, ref in refs.items():
        if type(name) is not str or not re.fullmatch(r"[a-z_]+(\.[a-z_0-9]+){1,5}", name):
            raise LegacyError(f"{what} holds {show(name)}")
        if not isinstance(ref, TensorRef) or ref.storage.code != "<f4":
            raise LegacyError(f"{what} '{name}' is not a tensor of float32")
        archive.check_storage(ref.storage)
    if sum(max(ref.storage.count, math.prod(ref.size)) for ref in refs.values()) > MAX_NUMBERS:
        raise LegacyError(f"{what} holds more than {MAX_NUMBERS} numbers")  # each view re-reads its storage
    return {name: archive.tensor(ref) for name, ref in refs.items()}


def _vector(archive: LegacyArchive, ref: Any, what: str) -> Array:
    if not isinstance(ref, TensorRef) or len(ref.size) != 1 or not ref.storage.code.startswith("<f"):
        raise LegacyError(f"the observation statistics have no '{what}'")
    return archive.tensor(ref).astype(np.float64)


def _win_rate(archive: LegacyArchive, extensions: Any) -> dict[str, Array]:
    if type(extensions) is not list:
        raise LegacyError("extensions is not a list")
    for extension in extensions:
        fields = extension.state if isinstance(extension, Record) else extension
        if type(fields) is not dict or fields.get("name") != "winrate":
            raise LegacyError("it has an extension other than 'winrate'")
        classifier = _mapping(fields.get("params", {}), "winrate params").get("classifier_state")
        if classifier is not None:
            return _tensors(archive, classifier, "winrate")
    return {}


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """Values that JSON can hold: records become their fields, schedules today's form."""
    if depth > MAX_DEPTH:
        raise LegacyError(f"{what} is nested deeper than {MAX_DEPTH}")
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if not np.isfinite(value):
            raise LegacyError(f"{what} holds a number that is not finite")
        return value
    if isinstance(value, Record):
        return _schedule(value, what, depth) or plain(value.state, what, depth + 1)
    if type(value) is dict:
        return {str(key): plain(item, what, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [plain(item, what, depth + 1) for item in value]
    raise LegacyError(f"{what} holds a {type(value).__name__}")


_SCHEDULES = {
    "linear": ("_initial_value", "_final_value", "_change_over_time_steps", "_round_value", "_round_digits"),
    "log": ("_initial_value", "_final_value", "_change_over_time_steps", "_base"),
    "jump": ("_jumps",),
    "npboolarray": ("_size", "_true_indices", "_false_indices", "_default_value"),
    "expression": ("_expression", "_substitutions", "_defaults"),
}


def _schedule(record: Record, what: str, depth: int) -> Any:
    """A schedule as today's configuration writes it; None for any other record."""
    state = record.state
    if set(state) == {"_value"}:
        return plain(state["_value"], what, depth + 1)
    for kind, fields in _SCHEDULES.items():
        if state and set(state) <= set(fields) and fields[0] in state and not (kind == "linear" and "_base" in state):
            kept = {name[1:]: plain(item, what, depth + 1) for name, item in state.items()}
            return {"type": kind, **{name: item for name, item in kept.items() if item not in (None, {}, [], False)}}
    return None


def _contract(value: Any) -> dict[str, Any]:
    """The contract in the shape of a contract file."""
    meta = plain(value, "env_meta")
    if type(meta) is not dict or not {"actions", "observations"} <= set(meta):
        raise LegacyError("it does not say which observations and actions it was made for")
    return {
        "actions": [_head(head) for head in meta["actions"]],
        "observations": [_feature(o) for o in meta["observations"]],
    }


def _head(head: Any) -> dict[str, Any]:
    head = _mapping(head, "env_meta.actions")
    choices = []
    for choice in head.get("actions", []):
        choice = _mapping(choice, "env_meta.actions")
        needs = {key: names for key, names in (choice.get("dependencies") or {}).items() if names}
        made = {"id": choice.get("id"), "description": choice.get("description") or ""}
        choices.append({**made, "dependencies": needs} if needs else made)
    return {"id": head.get("id"), "description": head.get("description") or "", "actions": choices}


def _feature(feature: Any) -> dict[str, Any]:
    feature = _mapping(feature, "env_meta.observations")
    flags = {key: bool(feature.get(key)) for key in ("partial", "constant")}
    return {"id": feature.get("id"), "description": feature.get("description") or "", **flags}


def _layers(config: Any) -> list[dict[str, Any]]:
    """The layers of an MLP configuration, repeats written out."""
    if config in (None, {}, []):
        return []
    layers = config.get("layers", []) if type(config) is dict else config
    if type(layers) is not list:
        raise LegacyError("an MLP configuration has no list of layers")
    written = []
    for layer in layers:
        layer = _mapping(layer, "an MLP layer")
        repeat = layer.get("repeat") or 1
        if type(repeat) is not int or not 1 <= repeat <= 16:
            raise LegacyError(f"an MLP layer repeats {show(repeat)} times")
        written += [layer] * repeat
    return written


def linear_places(config: Any, what: str) -> list[int]:
    """Module indexes of the linear layers; only relu networks are imported, because old ones end in an extra relu."""
    places, at = [], 0
    for layer in _layers(config):
        if layer.get("dropout") is not None:
            at += 1
            continue
        if layer.get("activation") != "relu":
            raise LegacyError(f"{what} uses activation {show(layer.get('activation'))}", "only relu is imported")
        places.append(at)
        at += 2
    return places
