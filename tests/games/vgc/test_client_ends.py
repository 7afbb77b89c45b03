"""The program that speaks with a server ends with the one that started it, with a stand-in for poke-env."""

import json
import subprocess
import sys

import pytest

from pvp_ml.games.vgc.live import client

STAND_IN = """
import asyncio
class AccountConfiguration:
    def __init__(self, *_): pass
ServerConfiguration = AccountConfiguration
class Player:
    def __init__(self, team, **_):
        print('{"team": "%s"}' % team.yield_team(), flush=True)
        self.ps_client = self
        self.loop = None
    async def accept_challenges(self, *_):
        await asyncio.sleep(600)
class BattleOrder: pass
class Teambuilder:
    def parse_showdown_team(self, text): return text
    def join_team(self, team): return "packed " + team.split()[0]
"""


@pytest.mark.parametrize(("team", "sent"), [("Miraidon @ Item\n- Move", "packed Miraidon"), ("A|B|C", "A|B|C")])
def test_it_ends_when_nobody_is_there_to_ask(tmp_path, team, sent):
    package = tmp_path / "poke_env"
    (package / "player").mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    (package / "player" / "__init__.py").write_text("from poke_env import Player")
    (package / "player" / "battle_order.py").write_text("from poke_env import BattleOrder")
    (package / "teambuilder.py").write_text("from poke_env import Teambuilder")
    request = {"mode": "live", "server": "ws://x", "login": "", "user": "me", "password": "", "format": "f",
               "teams": [team], "battles": 0, "concurrent": 1, "sheets": "open"}  # fmt: skip
    script = client.Path(client.__file__).with_name("poke_env_client.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(tmp_path)}, text=True,
    )  # fmt: skip
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"team": sent}
    assert json.loads(process.stdout.readline()) == {"ready": "me"}
    assert process.poll() is None
    process.stdin.close()  # as when the parent was killed
    assert process.wait(60) == 0
    process.stdout.close()
