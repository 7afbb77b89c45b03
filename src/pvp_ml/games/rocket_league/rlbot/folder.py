"""Writing a folder that RLBot v5 can start: bot.toml, loadout, match file, run script, model and golden states."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena.field import PADS
from pvp_ml.games.rocket_league.rlbot.pilot import GOLDEN, MODEL, SETTINGS, BotSettings, Pilot, think
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle, pack_bundle

STATES = 8
OCTANE = 23

BOT = """\
[settings]
name = {name}
agent_id = {agent_id}
loadout_file = "loadout.toml"
run_command = "python run.py"
run_command_linux = "python3 run.py"

[details]
description = {description}
developer = "PvP-ML"
language = "Python"
tags = ["1v1", "teamplay"]
"""
LOADOUT = """\
[blue_loadout]
team_color_id = 29
car_id = {car}

[orange_loadout]
team_color_id = 1
car_id = {car}
"""
MATCH = """\
[rlbot]
launcher = "Steam"

[match]
game_mode = "Soccar"
game_map_upk = "Stadium_P"

[[cars]]
config_file = "bot.toml"
team = 0

[[cars]]
type = "Human"
team = 1
"""
RUN = '''\
"""Started by RLBot; needs `pip install "pvp-ml[rlbot]"`."""

from pathlib import Path

from pvp_ml.games.rocket_league.rlbot.process import main

if __name__ == "__main__":
    main(Path(__file__).parent)
'''
README = """\
# {name}

A bot for offline and custom matches with RLBot v5, written by `pvp-ml model export --rlbot`.

    pip install "pvp-ml[rlbot]"        # numpy, no torch
    python run.py                      # checks the golden states, then waits for RLBot

Start it from RLBot's own window by adding this folder, or with `rlbot.toml`. `{settings}` holds the rhythm of
decisions and whether the bot plays its likeliest choice or samples.
"""


def write_folder(bundle: Bundle, name: str, folder: Path, settings: BotSettings | None = None) -> list[str]:
    """Write the folder; refuses one that has something in it. Returns the names of the files."""
    chosen = settings or BotSettings()
    pilot = Pilot(bundle, chosen.model_copy(update={"greedy": True}))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"'{folder}' is not an empty folder", "name a new one")
    files = {
        "bot.toml": BOT.format(
            name=_quoted(name),
            agent_id=_quoted(f"pvp-ml/{re.sub('[^a-z0-9-]+', '-', name.lower()).strip('-') or 'bot'}"),
            description=_quoted(f"{bundle.metadata.training.steps} steps, policy {bundle.content_hash[:12]}"),
        ).encode(),
        "loadout.toml": LOADOUT.format(car=OCTANE).encode(),
        "rlbot.toml": MATCH.encode(),
        "run.py": RUN.encode(),
        "README.md": README.format(name=name, settings=SETTINGS).encode(),
        SETTINGS: (chosen.model_dump_json(indent=1) + "\n").encode(),
        MODEL: pack_bundle(bundle),
        GOLDEN: json.dumps({"format": 2, "states": golden_states(pilot, bundle)}).encode(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (folder / file).write_bytes(data)
    return sorted(files)


def golden_states(pilot: Pilot, bundle: Bundle) -> list[dict[str, Any]]:
    """Made-up packets and what the policy makes of them; the same for every export of a model."""
    actor = Actor(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)
    states = []
    for number in range(STATES):
        packet = made_up(np.random.default_rng(number), orange=number % 4)
        state = {"packet": packet, "index": number % len(packet["players"])}
        thought = think(pilot, actor, state)
        states.append({**state, "obs": thought.obs, "probs": thought.probs, "controls": list(thought.controls)})
    return states


def made_up(rng: np.random.Generator, orange: int) -> dict[str, Any]:
    """A packet as JSON data with one blue car and so many orange ones, all numbers within the game's."""

    def vector(*limits: float) -> dict[str, float]:
        return {axis: round(float(rng.uniform(-limit, limit)), 3) for axis, limit in zip("xyz", limits, strict=True)}

    def physics(top: float) -> dict[str, Any]:
        angles = {name: round(float(rng.uniform(-1.5, 1.5)), 4) for name in ("pitch", "yaw", "roll")}
        place = {**vector(3500.0, 4500.0, 0.0), "z": round(float(rng.uniform(20.0, top)), 3)}
        return {
            "location": place,
            "rotation": angles,
            "velocity": vector(1300.0, 1300.0, 700.0),
            "angular_velocity": vector(3.0, 3.0, 3.0),
        }

    def player(team: int) -> dict[str, Any]:
        jumped, state = bool(rng.random() < 0.5), int(rng.integers(0, 5))
        return {
            "team": team,
            "physics": physics(1500.0),
            "boost": round(float(rng.uniform(0.0, 100.0)), 2),
            "air_state": state,
            "has_jumped": jumped,
            "has_double_jumped": state == 2,
            "has_dodged": state == 3,
            "dodge_timeout": round(float(rng.uniform(0.0, 1.25)), 3) if jumped else -1.0,
            "demolished_timeout": -1.0,
            "is_supersonic": bool(rng.random() < 0.2),
        }

    active = rng.random(len(PADS)) < 0.7
    timers = rng.uniform(0.0, 4.0, len(PADS))
    return {
        "players": [player(0), *(player(1) for _ in range(orange))],
        "balls": [{"physics": physics(1800.0)}],
        "boost_pads": [
            {"is_active": bool(there), "timer": 0.0 if there else round(float(timer), 3)}
            for there, timer in zip(active, timers, strict=True)
        ],
        "match_info": {
            "match_phase": 3,
            "frame_num": int(rng.integers(0, 30_000)),
            "game_time_remaining": round(float(rng.uniform(0.0, 300.0)), 2),
            "is_overtime": False,
            "is_unlimited_time": False,
        },
        "teams": [{"score": int(rng.integers(0, 4))} for _ in range(2)],
    }


def _quoted(text: str) -> str:
    """A TOML string: JSON's escapes are TOML's, too."""
    return json.dumps(text[:200])
