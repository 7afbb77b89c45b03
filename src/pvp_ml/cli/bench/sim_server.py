"""`pvp-ml bench sim-server`: agent-steps per second of the simulation server."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from pvp_ml.cli.bench.command import AsJson, check
from pvp_ml.games import registry


def sim_server(*, agents: Sequence[int] = (2, 20, 100, 200), seconds: float = 2.0, repeats: int = 3,
               as_json: AsJson = False) -> None:  # fmt: skip
    """Measure pairs of agents that step as soon as they get an answer: steps per second of the server's CPU time.

    Args:
        agents: number of agents; may be given several times
        seconds: per repeat
        repeats: number of repeats
        as_json: print one JSON object
    """
    check(min(agents), seconds, repeats)
    server = registry.ability(lambda tools: tools.sim_server, "simulation server")
    about = len(agents) * seconds * repeats
    print(f"{len(agents)} sizes, {repeats} repeats each: about {about:.0f} s …", file=sys.stderr, flush=True)
    result = server.bench(agents, seconds, repeats)
    if as_json:
        print(json.dumps(result))
        return
    for row in result["rows"]:
        print(f"{row['agents']:>4.0f} agents: " + ", ".join(f"{k} {v:,}" for k, v in row.items() if k != "agents"))
