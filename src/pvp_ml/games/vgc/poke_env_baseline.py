"""Random battles of poke-env players over a websocket: what the speed of this game is measured against.

Run by path with a Python that has poke-env (it cannot share a venv with this package):
`python poke_env_baseline.py` with JSON {port, format, teams, warm_up, battles, concurrent} on stdin;
prints {battles, cpu_s}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import time


def make_players(request: dict) -> list:
    """Two random players that draw their team anew for each battle."""
    from poke_env import AccountConfiguration, ServerConfiguration
    from poke_env.player import RandomPlayer
    from poke_env.teambuilder import Teambuilder

    class Drawn(Teambuilder):
        def __init__(self, texts: list[str], seed: int) -> None:
            self.packed = [self.join_team(self.parse_showdown_team(text)) for text in texts]
            self.random = random.Random(seed)  # noqa: S311 - a benchmark, not a secret

        def yield_team(self) -> str:
            return self.random.choice(self.packed)

    server = ServerConfiguration(
        f"ws://127.0.0.1:{request['port']}/showdown/websocket", "http://127.0.0.1:9/action.php?"
    )
    return [
        RandomPlayer(
            account_configuration=AccountConfiguration(f"Baseline {seat}", None),
            server_configuration=server,
            battle_format=request["format"],
            team=Drawn(request["teams"], seat),
            max_concurrent_battles=request["concurrent"],
            accept_open_team_sheet=False,
            log_level=logging.CRITICAL,
            open_timeout=60.0,
            ping_timeout=None,
        )
        for seat in (1, 2)
    ]


async def play(request: dict) -> dict:
    """Play `warm_up` battles, then the measured ones; gives what the latter cost this process."""
    first, second = make_players(request)
    await first.battle_against(second, n_battles=request["warm_up"])
    first.reset_battles()
    second.reset_battles()
    print("warm", flush=True)
    began = time.process_time()
    await first.battle_against(second, n_battles=request["battles"])
    return {"battles": first.n_finished_battles, "cpu_s": time.process_time() - began}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(json.load(sys.stdin)))), flush=True)
