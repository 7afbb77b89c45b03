"""An old model as a bundle: its tensors under today's names and layout, its facts in a report beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.compat.old_model import LegacyModel, linear_places
from pvp_ml.compat.old_values import LegacyError
from pvp_ml.games import registry
from pvp_ml.model.bundle import Bundle, Training, make_bundle
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.spec import GameSpec

EPSILON = 1e-8
CLIP = 5.0
Array = npt.NDArray[Any]
KNOWN_GAMES = ("nh", "dharok")
CONTRACT_GAME = "remote"


@dataclass(frozen=True)
class Imported:
    """The bundle, and what it could not hold."""

    bundle: Bundle
    report: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def needs_contract(self) -> bool:
        """Whether no game here has these features and heads, so that the contract must be kept beside the model."""
        return self.bundle.metadata.game == CONTRACT_GAME


@dataclass(frozen=True)
class _Stack:
    """A trunk of the old network: weights and biases, layer by layer."""

    weights: list[Array]
    biases: list[Array]

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(len(bias) for bias in self.biases)


def convert(model: LegacyModel) -> Imported:
    """The bundle of an old model; raises LegacyError when its tensors do not fit its description."""
    spec = _spec(model)
    notes: list[str] = []
    own, hidden, sizes = spec.obs_size, spec.privileged_size, spec.head_sizes
    _check_sizes(model, own, hidden, sizes)
    has_hidden = model.params["critic_input_size"] > own
    taken: set[str] = {"actor.action_mean", "actor.action_var", "actor.action_count"}
    trunk = _stack(model, "actor.hidden", model.params["actor_config"], len(model.frames) * own, taken)
    critic_width = len(model.frames) * (own + (hidden if has_hidden else 0))
    critic = _stack(model, "critic.hidden", model.params["critic_config"], critic_width, taken)
    heads = [_head(model, i, trunk.widths[-1], taken) for i in range(len(sizes))]
    if len({head.widths[:-1] for head in heads}) > 1:
        raise LegacyError("its heads have hidden layers of different sizes", "such a model is not imported")
    value = (_take(model, "critic.head.weight", (1, critic.widths[-1]), taken),
             _take(model, "critic.head.bias", (1,), taken))  # fmt: skip
    if extra := sorted(set(model.policy) - taken):
        raise LegacyError(f"it holds a tensor '{extra[0]}' that its description does not have")
    network = NetworkConfig(
        trunk=trunk.widths, critic="separate", critic_trunk=critic.widths, privileged=has_hidden, heads="mlp",
        head_layers=heads[0].widths[:-1], frames=model.frames, clip=CLIP,
    )  # fmt: skip
    tensors: dict[str, Array] = {}
    _first_layers(model, spec, trunk, critic, tensors, notes)
    for name, stack in (("actor", trunk), ("critic", critic)):
        for i in range(1, len(stack.weights)):
            tensors[f"{name}/{i}/weight"], tensors[f"{name}/{i}/bias"] = stack.weights[i], stack.biases[i]
    for head, stack in zip(spec.heads, heads, strict=True):
        for i in range(len(stack.weights)):
            tensors[f"head/{head.name}/{i}/weight"], tensors[f"head/{head.name}/{i}/bias"] = (
                stack.weights[i],
                stack.biases[i],
            )
    tensors["value/weight"], tensors["value/bias"] = value
    if model.win_rate:
        notes.append("the outcome predictor has a network of its own and is left behind")
    bundle = make_bundle(
        spec, network, tensors, _statistics(model, own, has_hidden), Training(steps=model.steps, run=model.name),
        card=_card(model, spec, notes),
    )  # fmt: skip
    return Imported(bundle, _report(model, notes), tuple(notes))


def _spec(model: LegacyModel) -> GameSpec:
    """The game whose observations and actions these are; else the contract as a remote game."""
    contract = model.contract
    for name in KNOWN_GAMES:
        game = registry.find(name)
        spec = game.spec(game.config())
        same_features = [f.name for f in spec.features] == [f.name for f in contract.features]
        if same_features and spec.heads == contract.heads:
            return spec
    hidden = contract.hidden
    game = registry.find(CONTRACT_GAME)
    base = game.spec(game.config())
    return GameSpec(
        name=CONTRACT_GAME,
        version=1,
        teams=base.teams,
        blocks=(contract.observation,),
        privileged=(hidden,) if hidden.features else (),
        heads=contract.heads,
        rewards=base.rewards,
        max_steps=base.max_steps,
    )


def _check_sizes(model: LegacyModel, own: int, hidden: int, sizes: tuple[int, ...]) -> None:
    params = model.params
    if model.heads != sizes or params["actor_input_size"] != own:
        raise LegacyError(
            f"its network has {params['actor_input_size']} inputs and heads {model.heads}",
            f"its contract has {own} and {sizes}",
        )
    if params["critic_input_size"] not in (own, own + hidden):
        raise LegacyError(f"its critic reads {params['critic_input_size']} numbers, not {own} or {own + hidden}")
    if model.mean.shape != model.var.shape or len(model.mean) != params["critic_input_size"] or (model.var < 0).any():
        raise LegacyError(f"its statistics have {len(model.mean)} features, its critic {params['critic_input_size']}")


def _take(model: LegacyModel, name: str, shape: tuple[int, ...], taken: set[str]) -> Array:
    array = model.policy.get(name)
    if array is None or array.shape != shape:
        found = "missing" if array is None else f"of shape {array.shape}"
        raise LegacyError(f"tensor '{name}' is {found}, not of shape {shape}")
    taken.add(name)
    return array


def _stack(model: LegacyModel, name: str, config: Any, width: int, taken: set[str]) -> _Stack:
    weights, biases = [], []
    for place in linear_places(config, name):
        found = model.policy.get(f"{name}.{place}.bias")
        if found is None or found.ndim != 1 or not 1 <= len(found) <= 8192:
            raise LegacyError(f"tensor '{name}.{place}.bias' is missing or misshapen")
        biases.append(_take(model, f"{name}.{place}.bias", found.shape, taken))
        weights.append(_take(model, f"{name}.{place}.weight", (len(found), width), taken))
        width = len(found)
    if not weights:
        raise LegacyError(f"'{name}' has no layers", "a trunk needs at least one")
    return _Stack(weights, biases)


def _head(model: LegacyModel, i: int, width: int, taken: set[str]) -> _Stack:
    """Head i reads the trunk and, when it is autoregressive, all picks before it."""
    sizes, picked = model.heads, sum(model.heads[:i])
    is_chained = bool(model.params.get("autoregressive_actions", True))
    configs = model.params["action_head_configs"]
    config = configs[i] if type(configs) is list and len(configs) == len(sizes) else configs
    places = linear_places(config, f"head {i}")
    reads = width + (picked if is_chained else 0)
    hidden = _stack(model, f"actor.heads.{i}.0", config, reads, taken) if places else _Stack([], [])
    last = hidden.widths[-1] if places else reads
    weights = [*hidden.weights, _take(model, f"actor.heads.{i}.1.weight", (sizes[i], last), taken)]
    biases = [*hidden.biases, _take(model, f"actor.heads.{i}.1.bias", (sizes[i],), taken)]
    if not is_chained:
        weights[0] = np.concatenate([weights[0], np.zeros((len(weights[0]), picked), np.float32)], axis=1)
    return _Stack(weights, biases)


def _first_layers(
    model: LegacyModel, spec: GameSpec, trunk: _Stack, critic: _Stack, tensors: dict[str, Array], notes: list[str]
) -> None:
    """The layers that read observations, with their columns in today's order: all frames' own part, then hidden."""
    own, count = spec.obs_size, len(model.frames)
    hidden = spec.privileged_size if model.params["critic_input_size"] > own else 0
    frame = own + hidden
    weight, bias = trunk.weights[0], trunk.biases[0]
    if model.layout == "flat-prefix":
        unseen = _absent(model, own)
        weight, bias = _from_prefix(weight, bias, own, frame, count, unseen)
        notes.append(
            "actor input layout 'flat-prefix': the network was trained to see the opponent's hidden features; "
            "it plays here as the old trainer let it play outside of training, with zeros in their place"
        )
    tensors["actor/0/weight"], tensors["actor/0/bias"] = weight, bias
    columns = [f * frame + i for f in range(count) for i in range(own)] + [own + i for i in range(hidden)]
    tensors["critic/0/weight"], tensors["critic/0/bias"] = critic.weights[0][:, columns], critic.biases[0]
    if hidden and count > 1:
        unseen = _absent(model, own)
        for f in range(1, count):
            part = critic.weights[0][:, f * frame + own : (f + 1) * frame]
            tensors["critic/0/bias"] = tensors["critic/0/bias"] + (part.astype(np.float64) @ unseen).astype(np.float32)
        notes.append("the critic sees hidden features of the newest frame only; older ones count as zeros")


def _absent(model: LegacyModel, own: int) -> Array:
    """Hidden features that are zero before normalisation, as the network saw them outside of training."""
    unseen: Array = -model.mean[own:] / np.sqrt(model.var[own:] + EPSILON)
    return np.clip(unseen, -CLIP, CLIP)


def _from_prefix(weight: Array, bias: Array, own: int, frame: int, count: int, unseen: Array) -> tuple[Array, Array]:
    """Columns of the flat prefix moved to where each frame's own features are; the hidden ones go into the bias."""
    moved = np.zeros((len(weight), count * own), np.float32)
    shift = np.zeros(len(weight), np.float64)
    for column in range(count * own):
        f, i = divmod(column, frame)
        if i < own:
            moved[:, f * own + i] = weight[:, column]
        else:
            shift += weight[:, column].astype(np.float64) * unseen[i - own]
    return moved, (bias + shift).astype(np.float32)


def _statistics(model: LegacyModel, own: int, has_hidden: bool) -> dict[str, Array]:
    count = np.array([model.count])
    parts = {"obs": (model.mean[:own], model.var[:own], count)}
    if has_hidden:
        parts["privileged"] = (model.mean[own:], model.var[own:], count)
    picks = sum(model.heads)
    seen: set[str] = set()
    if model.params.get("normalize_autoregressive_actions", True):
        mean, var = (_take(model, f"actor.action_{part}", (picks,), seen) for part in ("mean", "var"))
        parts["pick"] = (mean, var, _take(model, "actor.action_count", (1,), seen))
    else:
        parts["pick"] = (np.zeros(picks), np.ones(picks), np.array([EPSILON]))
    names = ("mean", "var", "count")
    return {
        f"{key}/{n}": np.asarray(a, np.float64)
        for key, arrays in parts.items()
        for n, a in zip(names, arrays, strict=True)
    }


def _card(model: LegacyModel, spec: GameSpec, notes: list[str]) -> str:
    lines = [
        f"# A policy for {spec.name}, imported from the old trainer",
        "",
        f"Was '{model.name}': {model.steps:,} steps.",
    ]
    lines += [
        "",
        f"Actor input layout of the old file: {model.layout}.",
        *(["", *(f"- {n}" for n in notes)] if notes else []),
    ]
    return "\n".join(lines) + "\n"


def _report(model: LegacyModel, notes: list[str]) -> dict[str, Any]:
    """What was converted besides the network."""
    return {
        "name": model.name,
        "trained": {"steps": model.steps, "rollouts": model.rollouts, "updates": model.updates},
        "actor_input_layout": model.layout,
        "frames": list(model.frames),
        "environment": dict(model.environment),
        "league": dict(model.league),
        "notes": list(notes),
    }
