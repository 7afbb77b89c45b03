"""A `training.yaml` of the old Rocket League trainer, read as a preset of today.

Its shape: algorithm, seed, total_timesteps, n_envs, save_every_steps, checkpoint_dir; env: map, frame_skip, team_size,
state_setter, reward: name, params: scale; obs: normalize, clip_obs; policy: hidden_sizes, activation, action_space.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pvp_ml.errors import UserError

SIGNS = ("algorithm", "n_envs", "save_every_steps", "checkpoint_dir")
"""Keys at the top by which the shape is known."""

PHASES = {
    "1": "ball-touching",
    "balltouching": "ball-touching",
    "2": "bronze-skills-1",
    "bronzeskills1": "bronze-skills-1",
    "3": "silver-skills-1",
    "silverskills1": "silver-skills-1",
    "4": "silver-skills-2",
    "silverskills2": "silver-skills-2",
    "goldskills1": "silver-skills-2",
}
WHOLE = ("", "default", "combined", "curriculum")
SETTERS = {
    "default": "kickoff",
    "kickoff": "kickoff",
    "random": "random",
    "randomground": "random_ground",
    "randomoneside": "random_one_side",
    "turtled": "turtled",
    "trainingpack": "training_pack",
    "wall": "wall",
    "airdribble": "air_dribble",
    "flipreset": "flip_reset",
    "jump": "jump",
}
ACTIONS = {
    "rlgym": "rlgym",
    "lookup": "rlgym",
    "lookuptable": "rlgym",
    "discrete": "rlgym",
    "hybrid": "hybrid",
    "simplehybriddiscrete": "hybrid",
    "hybriddiscrete": "hybrid",
    "multidiscrete": "heads",
    "heads": "heads",
}
TERMS = {
    "event": "touch",
    "negativevelocitytowardowngoal": "velocity_toward_own_goal",
    "badorientationpenalty": "bad_orientation",
    "savereward": "goal_line_save",
    "punishifinnet": "in_net",
    "basicwallhit": "wall_hit",
}
"""Rewards whose names changed; the others only lost their capitals."""

Place = tuple[str, ...]
MOVED: dict[Place, Place] = {
    ("seed",): ("run", "seed"),
    ("total_timesteps",): ("run", "total_steps"),
    ("n_envs",): ("env", "matches"),
    ("save_every_steps",): ("run", "checkpoint_every"),
    ("checkpoint_dir",): ("run", "directory"),
    ("env", "frame_skip"): ("env", "tick_skip"),
    ("obs", "normalize"): ("ppo", "normalize_observations"),
    ("obs", "clip_obs"): ("network", "clip"),
    ("policy", "hidden_sizes"): ("network", "trunk"),
}
"""Keys whose values mean the same today."""


def is_training_yaml(data: Mapping[str, Any]) -> bool:
    """Whether a file has the old shape: two of its keys, or one that is nothing else's and an `env` without a name."""
    found = [key for key in SIGNS if key in data]
    env = data.get("env")
    return len(found) >= 2 or (bool(found) and not (isinstance(env, Mapping) and "name" in env))


def translate(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The same as a preset; keys that are not of the old shape, and what has no counterpart, are refused by name."""
    preset: dict[str, Any] = {}
    for place, value in sorted(_leaves(data, source), key=lambda leaf: len(leaf[0])):  # a reward before its scale
        if place in MOVED:
            _put(preset, MOVED[place], value)
        elif place in CHANGED:
            try:
                CHANGED[place](preset, value)
            except UserError as error:
                raise UserError(f"{source}: {'.'.join(place)}: {error.message}", error.hint) from None
        else:
            known = [".".join(p) for p in (*MOVED, *CHANGED)]
            close = difflib.get_close_matches(".".join(place), known, 1)
            raise UserError(
                f"{source}: there is no '{'.'.join(place)}' in a training.yaml",
                f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}",
            )
    preset.setdefault("extends", "rocket_league/training")
    return preset


def _leaves(data: Mapping[str, Any], source: str, above: Place = ()) -> list[tuple[Place, Any]]:
    found: list[tuple[Place, Any]] = []
    for key, value in data.items():
        if not isinstance(key, str):
            raise UserError(f"{source}: {key!r} is not a name", "keys of a training.yaml are words")
        place = (*above, key)
        found += _leaves(value, source, place) if isinstance(value, Mapping) and len(place) < 4 else [(place, value)]
    return found


def _put(preset: dict[str, Any], place: Place, value: Any) -> None:
    for key in place[:-1]:
        preset = preset.setdefault(key, {})
    preset[place[-1]] = value


def _algorithm(preset: dict[str, Any], value: Any) -> None:
    if str(value).lower() not in ("ppo", "maskable_ppo"):
        raise UserError(f"'{value}' is not there", "it is always ppo")


def _map(preset: dict[str, Any], value: Any) -> None:
    if _plain(value) in ("hoops", "dropshot", "heatseeker", "snowday", "thevoid"):
        raise UserError(f"'{value}' is not played here", "soccar is; all its maps have the same field")


def _team_size(preset: dict[str, Any], value: Any) -> None:
    if value not in (1, 2, 3):
        raise UserError(f"{value!r} cars a side", "1, 2 or 3")
    _put(preset, ("env", "mode"), f"{value}v{value}")


def _state_setter(preset: dict[str, Any], value: Any) -> None:
    name = re.sub("(state|setter|start)+$", "", _plain(value)) or "default"
    _put(preset, ("env", "setters"), {_known(name, SETTERS, "state setter"): 1.0})


def _reward_name(preset: dict[str, Any], value: Any) -> None:
    """A phase's name or number, the whole curriculum, or one term."""
    name = _plain(value)
    if name in PHASES or name in WHOLE:
        preset["extends"] = f"rocket_league/{PHASES.get(name, 'training')}"
        return
    from pvp_ml.games.rocket_league.rewards.table import TERMS as OURS

    bare = name.removesuffix("reward")
    by_name = {_plain(term): term for term in OURS}
    term = TERMS.get(name) or TERMS.get(bare) or by_name.get(bare) or _known(name, by_name, "reward")
    preset["extends"] = "rocket_league/learner"
    _put(preset, ("env", "rewards"), [term])
    _put(preset, ("reward", "weights"), {term: 1.0})


def _reward_scale(preset: dict[str, Any], value: Any) -> None:
    """The weight of a single term. Phases have weights of their own, and rewards are brought to one size anyway."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UserError(f"{value!r} is not a number")
    if preset.get("extends") == "rocket_league/learner":
        weights = preset["reward"]["weights"]
        weights[next(iter(weights))] = float(value)


def _activation(preset: dict[str, Any], value: Any) -> None:
    names = {"relu": "relu", "tanh": "tanh", "silu": "silu", "swish": "silu"}
    _put(preset, ("network", "activation"), _known(_plain(value), names, "activation"))


def _action_space(preset: dict[str, Any], value: Any) -> None:
    _put(preset, ("env", "actions"), _known(_plain(value), ACTIONS, "action space"))


CHANGED: dict[Place, Callable[[dict[str, Any], Any], None]] = {
    ("algorithm",): _algorithm,
    ("env", "map"): _map,
    ("env", "team_size"): _team_size,
    ("env", "state_setter"): _state_setter,
    ("env", "reward", "name"): _reward_name,
    ("env", "reward", "params", "scale"): _reward_scale,
    ("policy", "activation"): _activation,
    ("policy", "action_space"): _action_space,
}
"""Keys whose values are written differently today."""


def _plain(value: Any) -> str:
    return re.sub("[^a-z0-9]", "", str(value).lower())


def _known(name: str, names: Mapping[str, str], what: str) -> str:
    if name not in names:
        close = difflib.get_close_matches(name, names, 1)
        raise UserError(f"there is no {what} '{name}'", f"did you mean '{close[0]}'?" if close else ", ".join(names))
    return names[name]
