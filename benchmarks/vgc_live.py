"""A model against a player of poke-env on a local Showdown server, both with teams drawn from the same.

    export PVP_ML_POKE_ENV_PYTHON=poke-env-venv/bin/python
    python benchmarks/vgc_live.py MODEL.zip BATTLES [TEAMS …]

TEAMS as `teams` of the game takes them; without them the shipped ones. Open sheets; the model plays its preferred
choices.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.games.vgc.bench import BASELINE_PYTHON
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.live import client
from pvp_ml.games.vgc.live.showdown_server import local_server
from pvp_ml.games.vgc.teams import load_teams
from pvp_ml.model.bundle import read_bundle
from pvp_ml.players import BundlePlayer
from pvp_ml.selfplay.tally import wilson

RIVAL = Path(__file__).parents[1] / "tests" / "games" / "vgc" / "live_rival.py"
PLAYER = "SimpleHeuristicsPlayer"
US = "Our Model"
GOODBYE_S = 120.0


def main(model: Path, battles: int, teams: tuple[str, ...]) -> dict[str, Any]:
    config = VgcConfig(teams=teams, sheets="open")
    player = BundlePlayer(read_bundle(model), make_spec(config), greedy=True)
    texts = list(load_teams(config.teams, config.format).values())
    with local_server() as (_, port):
        server = f"ws://127.0.0.1:{port}/showdown/websocket"
        wanted = {
            "server": server, "format": config.format, "teams": texts, "user": US, "battles": battles,
            "sheets": config.sheets, "player": PLAYER,
        }  # fmt: skip
        rival = subprocess.Popen(
            [os.environ[BASELINE_PYTHON], str(RIVAL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def tell(line: str) -> None:
            print(line, file=sys.stderr, flush=True)
            if "waits for challenges" in line:
                rival.stdin.write(json.dumps(wanted) + "\n")
                rival.stdin.flush()

        try:
            settings = client.LiveConfig(server, US, battles=battles, config=config)
            report = client.play_live(settings, player, np.random.default_rng(1), tell)
            theirs = json.loads(rival.communicate(timeout=GOODBYE_S)[0])
        finally:
            rival.kill()
            rival.wait()
    assert (report.won, report.lost) == (theirs["lost"], theirs["won"]), "the two sides count differently"
    low, high = wilson(report.won + report.tied / 2, report.played)
    return {
        "opponent": f"poke-env {PLAYER}", "format": config.format, "teams": len(texts), "battles": report.played,
        "won": report.won, "lost": report.lost, "tied": report.tied, "score": report.won / report.played,
        "low": round(low, 4), "high": round(high, 4), "decisions": report.decisions, "rejected": report.rejected,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3:])), indent=1))
