"""A run's whole state as files, and back. What is in them decides everything that the run does next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import numpy as np
import safetensors.numpy

from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.shards import Shards
from pvp_ml.errors import UserError
from pvp_ml.match import MAIN
from pvp_ml.model.actor import Array
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.trainee import Trainee
from pvp_ml.run.learning import Learning
from pvp_ml.selfplay.plans import members_in

PROGRESS = "progress.json"
MATCHES = "matches.bin"
CLOCK = "clock.json"
"""The only file that depends on how fast the machine was."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a run's metrics and conditions look back on: the last matches, and the last value of every metric."""

    matches: Mapping[str, Any] = field(default_factory=dict)  # `MatchMetrics.state()`
    last: Mapping[str, float] = field(default_factory=dict)


def pack(
    learning: Learning, progress: Progress, seconds: float, extra: Mapping[str, Any], members: set[str], window: Window
) -> dict[str, bytes]:
    """File name → bytes. `extra` is JSON that the caller wants back (league, phase); `members`: of the league."""
    files: dict[str, bytes] = {}
    for i, (name, trainee) in enumerate(learning.trainees.items()):
        files |= _pack_trainee(_prefix(name), trainee, learning.shards.memories[i].anchors["magnet"].flat.numpy(),
                               learning.shards.memories[i].anchors["magnet"].normalizer)  # fmt: skip
    states = learning.shards.states()
    for rank, state in enumerate(states):
        files[f"shard-{rank}.bin"] = encode(state)
    playing = members_in(plan.lineup for state in states for plan in state.get("plans", ()))
    facts = {
        "steps": progress.steps,
        "rollouts": progress.rollouts,
        "shards": learning.shards.count,
        "members": sorted(members | playing),
        "extra": dict(extra),
    }
    files[MATCHES] = encode(dict(window.matches))
    files[PROGRESS] = json.dumps(facts, sort_keys=True, indent=1).encode()
    files[CLOCK] = json.dumps({"seconds": seconds, "last": dict(window.last)}).encode()
    return files


_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 60)]


class _Extra(msgspec.Struct, frozen=True):
    """What the trainer adds to `progress.json`; league and hunts are checked by those who take them."""

    phase: _Count
    phase_since: _Count
    results: dict[str, dict[str, Any]]
    competition: dict[str, Any]
    owes_milestone: bool = False


class _Facts(msgspec.Struct, frozen=True):
    """The shape of `progress.json`: what is in it decides what the run does next, and anybody may have written it."""

    steps: _Count
    rollouts: _Count
    shards: Annotated[int, msgspec.Meta(ge=1, le=4096)]
    extra: _Extra
    members: list[str] = []


class _Clock(msgspec.Struct, frozen=True):
    """The shape of `clock.json`."""

    seconds: Annotated[float, msgspec.Meta(ge=0, lt=1e12)]
    last: dict[str, float | None] = {}


def read_window(files: Mapping[str, bytes]) -> Window:
    """The window that `pack` was given; an empty one from older checkpoints."""
    last = {name: value for name, value in _clock(files).last.items() if value is not None}
    return Window(decode(files[MATCHES]) if MATCHES in files else {}, last)


def read_extra(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The JSON that the caller of `pack` added."""
    return msgspec.structs.asdict(_facts(files).extra)


def unpack(learning: Learning, files: Mapping[str, bytes], with_matches: bool = True) -> tuple[Progress, float]:
    """Continue from a checkpoint's files; returns progress and seconds trained so far."""
    facts = _facts(files)
    for i, (name, trainee) in enumerate(learning.trainees.items()):
        if f"{_prefix(name)}policy.safetensors" in files:
            _unpack_trainee(_prefix(name), trainee, files)
            magnet = learning.shards.memories[i].anchors["magnet"]
            kept = safetensors.numpy.load(files[f"{_prefix(name)}magnet.safetensors"])
            magnet.flat.numpy()[:] = kept.pop("flat")
            for key, array in magnet.normalizer.items():
                array[:] = kept[key]
    _restore_shards(learning.shards, files, facts.shards, with_matches)
    learning.shards.refresh()
    return Progress(facts.steps, facts.rollouts), _clock(files).seconds


def _facts(files: Mapping[str, bytes]) -> _Facts:
    return msgspec.convert(json.loads(files[PROGRESS]), _Facts)


def _clock(files: Mapping[str, bytes]) -> _Clock:
    return msgspec.convert(json.loads(files[CLOCK]), _Clock)


def _restore_shards(shards: Shards, files: Mapping[str, bytes], saved: int, with_matches: bool) -> None:
    """Matches in progress continue when the number of shards is the same; otherwise new ones start with later plans."""
    states = [decode(files[f"shard-{rank}.bin"]) for rank in range(saved)]
    if saved == shards.count and with_matches:
        shards.restore(states)
        return
    played = saved * max(state["drawn"] for state in states)  # ranks take turns; the fastest has come furthest
    shards.skip_plans(-(-played // shards.count))


def _prefix(name: str) -> str:
    return "" if name == MAIN else f"{name}."


def _pack_trainee(
    prefix: str, trainee: Trainee, magnet: Array, magnet_statistics: Mapping[str, Array]
) -> dict[str, bytes]:
    save = safetensors.numpy.save
    return {
        f"{prefix}policy.safetensors": save(
            {name: np.ascontiguousarray(a) for name, a in trainee.policy.tensors().items()}
        ),
        f"{prefix}normalizer.safetensors": save({name: a.copy() for name, a in trainee.policy.normalizer.items()}),
        f"{prefix}optimizer.safetensors": save(trainee.state()),
        f"{prefix}magnet.safetensors": save({"flat": magnet, **{k: a.copy() for k, a in magnet_statistics.items()}}),
    }


def _unpack_trainee(prefix: str, trainee: Trainee, files: Mapping[str, bytes]) -> None:
    weights = safetensors.numpy.load(files[f"{prefix}policy.safetensors"])
    own = trainee.policy.tensors()
    if {k: v.shape for k, v in weights.items()} != {k: v.shape for k, v in own.items()}:
        raise UserError(
            f"the checkpoint's weights of '{trainee.name}' have another shape than this network",
            "resume with the run's own config, or start a new run with --warm-start",
        )
    for name, array in own.items():
        array[:] = weights[name]
    statistics = safetensors.numpy.load(files[f"{prefix}normalizer.safetensors"])
    for name, array in trainee.policy.normalizer.items():
        array[:] = statistics[name]
    trainee.restore(safetensors.numpy.load(files[f"{prefix}optimizer.safetensors"]))
