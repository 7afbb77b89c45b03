"""Everything that poke-env does for us, in a program of its own: poke-env pins other libraries exactly.

Run by path with a Python that has poke-env, JSON {port, format, teams, warm_up, battles, concurrent} on stdin: plays
random battles over a websocket and prints {battles, cpu_s}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import time
from typing import Any


def drawn_team(texts: list[str], seed: int) -> Any:
    """A teambuilder that draws one of these teams, PokePaste texts or packed, for each battle."""
    from poke_env.teambuilder import Teambuilder

    class Drawn(Teambuilder):  # type: ignore[misc]
        def __init__(self) -> None:
            self.packed = [self.join_team(self.parse_showdown_team(t)) if "\n" in t else t for t in texts]
            self.random = random.Random(seed)  # noqa: S311 - a draw of teams, not a secret

        def yield_team(self) -> str:
            return str(self.random.choice(self.packed))

    return Drawn()


def settings(request: dict[str, Any], name: str, password: str | None, seed: int) -> dict[str, Any]:
    """Arguments that every player of poke-env gets."""
    from poke_env import AccountConfiguration, ServerConfiguration

    return {
        "account_configuration": AccountConfiguration(name, password),
        "server_configuration": ServerConfiguration(request["server"], request["login"]),
        "battle_format": request["format"],
        "team": drawn_team(request["teams"], seed),
        "max_concurrent_battles": request["concurrent"],
        "accept_open_team_sheet": False,
        "log_level": logging.CRITICAL,
        "open_timeout": 60.0,
        "ping_timeout": None,
    }


async def baseline(request: dict[str, Any]) -> dict[str, Any]:
    """Play `warm_up` battles, then the measured ones; gives what the latter cost this process."""
    from poke_env.player import RandomPlayer

    request |= {"server": f"ws://127.0.0.1:{request['port']}/showdown/websocket", "login": "http://127.0.0.1:9/?"}
    first, second = (RandomPlayer(**settings(request, f"Baseline {seat}", None, seat)) for seat in (1, 2))
    await first.battle_against(second, n_battles=request["warm_up"])
    first.reset_battles()
    second.reset_battles()
    print("warm", flush=True)
    began = time.process_time()
    await first.battle_against(second, n_battles=request["battles"])
    return {"battles": first.n_finished_battles, "cpu_s": time.process_time() - began}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(baseline(json.loads(sys.stdin.readline())))), flush=True)
