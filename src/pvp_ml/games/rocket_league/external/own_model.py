"""The worked example of an external player: one of our own models as a program of its own.

    pvp-ml eval --model RocketRookie --against \
        'external:python -m pvp_ml.games.rocket_league.external.own_model RocketRookie'

A bot with its own weights replaces `Spectator.see` by its observation builder and `Spectator.controls` by its action
parser; the loop stays. It need not have pvp-ml installed: a turn is plain JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.external.state import Spectator
from pvp_ml.games.rocket_league.rlbot.pilot import fitting_config
from pvp_ml.model.bundle import read_bundle
from pvp_ml.players import BundlePlayer


class OwnModel:
    """Sees a turn, thinks, and gives controls: the likeliest choice."""

    def __init__(self, name: str, mode: str) -> None:
        path = data_files.find("models", name, (".zip",), Path.cwd())
        if path is None:
            raise UserError(f"there is no model '{name}'", "`pvp-ml model list`")
        bundle = read_bundle(path)
        config = fitting_config(bundle).model_copy(update={"mode": mode})
        self._spectator = Spectator(config)
        self._player = BundlePlayer(bundle, describe(config), True)

    def act(self, turn: dict[str, Any]) -> list[float]:
        """The eight controls."""
        serial, seat = np.array([turn["match"]]), np.array([turn["seat"]], np.int32)
        if turn["begins"]:
            self._player.begin(serial)
        obs, mask = self._spectator.see(turn["state"], turn["seat"])
        chosen = self._player.decide(serial, seat, obs[None], mask[None], np.zeros(1, np.uint64))
        return self._spectator.controls(chosen[0])


def main() -> None:
    """Answer line by line until the input ends."""
    model = OwnModel(sys.argv[1], json.loads(sys.stdin.readline())["mode"])
    print('{"ready": true}', flush=True)
    for line in sys.stdin:
        print(json.dumps({"controls": [model.act(turn) for turn in json.loads(line)["turns"]]}), flush=True)


if __name__ == "__main__":
    main()
