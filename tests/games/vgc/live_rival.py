"""Runs inside a venv that has poke-env: one of its own players challenges a name on a local server, again and again.

`python live_rival.py` with JSON {server, format, teams, user, battles, sheets, player} on stdin; prints {won, lost}.
"""

import asyncio
import json
import logging
import random
import sys

from poke_env import AccountConfiguration, ServerConfiguration
from poke_env import player as players
from poke_env.teambuilder import Teambuilder

wanted = json.loads(sys.stdin.readline())


class Drawn(Teambuilder):
    def __init__(self):
        self.packed = [self.join_team(self.parse_showdown_team(t)) if "\n" in t else t for t in wanted["teams"]]
        self.random = random.Random(5)

    def yield_team(self):
        return self.random.choice(self.packed)


async def main():
    rival = getattr(players, wanted["player"])(
        account_configuration=AccountConfiguration("Rival", None),
        server_configuration=ServerConfiguration(wanted["server"], "http://127.0.0.1:9/?"),
        battle_format=wanted["format"],
        team=Drawn(),
        max_concurrent_battles=1,
        accept_open_team_sheet=wanted["sheets"] == "open",
        log_level=logging.CRITICAL,
        open_timeout=60.0,
        ping_timeout=None,
    )
    await rival.send_challenges(wanted["user"], wanted["battles"])
    print(json.dumps({"won": rival.n_won_battles, "lost": rival.n_lost_battles}), flush=True)


asyncio.run(main())
