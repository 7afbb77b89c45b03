"""Our client on a server that shares no code with it, and on servers that are none."""

import json
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from odd_servers import KINDS, OddServer
from remote_load import MODES, Play, Server

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import Bot, External, Fault, MatchPlan, StepBuffers
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.machine import cores
from pvp_ml.run.placement import blueprint

NAMED_S = 1.0


@pytest.fixture
def strict():
    server = Server(MODES["strict"])
    server.start()
    server.await_ready()
    yield server
    server.stop()


class Agent:
    """One agent of an old client: a connection, a line at a time."""

    def __init__(self, port, name):
        self.name, self.link = name, socket.create_connection(("127.0.0.1", port), 5)
        self.lines = self.link.makefile("rb")

    def send(self, action, body=None):
        self.link.sendall(json.dumps({"action": action, "body": body, "meta": {"id": self.name}}).encode() + b"\n")

    def ask(self, action, body=None):
        self.send(action, body)
        return json.loads(self.lines.readline())

    def close(self):
        self.lines.close()
        self.link.close()

    def reset(self, target):
        params = {"agent": self.name, "target": target, "episodeId": "x"}
        self.send("reset", {"target": target, "deathMatch": True, "resetParams": params})


def test_the_server_is_as_strict_as_it_says(strict):
    """A pair with names in lower case is never matched, and everybody else waits for whoever is silent."""
    for names, is_found in ((("1 tagA", "1 tagB"), False), (("2 TagA", "2 TagB"), True)):
        pair = [Agent(strict.port, name) for name in names]
        assert [agent.ask("login", {"agentType": "NhEnv"}) for agent in pair] == [{}, {}]
        pair[0].reset(names[1])
        pair[1].reset(names[0])
        pair[1].link.settimeout(30 if is_found else 0.5)
        try:
            first = json.loads(pair[1].lines.readline())
        except TimeoutError:
            first = None
        assert (first is not None) == is_found
        if first is not None:  # its rival is answered one tick later, and that tick waits for a step
            pair[0].link.settimeout(0.3)
            with pytest.raises(TimeoutError):
                pair[0].lines.readline()
            assert len(first["body"]["obs"]) == 176
        for agent in pair:
            agent.close()
            other = Agent(strict.port, agent.name)
            assert other.ask("logout") == {} and other.ask("logout")["error"]
            other.close()
    assert strict.agents(0.0) == 0


def test_fights_of_all_kinds_end_and_nobody_stays(strict):
    play = Play(strict.port, rows=6, max_ticks=12)
    try:
        assert play.go(60, lambda: play.ended >= 30)
    finally:
        play.close()
    assert not play.game.voids and not play.named.times and strict.agents() == 0


def test_deaths_are_results(strict):
    """Whoever attacks wins against an opponent that does not, in either seat, and a match ends with the death."""
    kind = registry.find("nh")
    game = kind.build(registry.configure(kind, {"remote": f"127.0.0.1:{strict.port}"}), 2)
    out = StepBuffers.allocate(game.spec, 2)
    plans = [MatchPlan(n, n, (External("a"), External("b"))) for n in range(6)]
    game.queue([*plans, MatchPlan(6, 6, (Bot("nh-bot"), External("a")))])
    game.start()
    strike = np.zeros(12, np.int32)
    strike[[0, 3, 11]] = 1, 1, 1  # ice, and a prayer
    now, results, began = [-1, -1], {}, time.monotonic()
    while len(results) < 7 and time.monotonic() - began < 60:
        count = game.recv(1, 5.0, out)
        assert not out.faults[:count].any()
        for i in range(count):
            row = int(out.match[i])
            if out.ended[i]:
                results[now[row]] = out.result[i].tolist()
                assert out.final_obs[i, :, 10].min() == 0
            now[row] = int(out.serial[i])
        live = [i for i in range(count) if out.serial[i] >= 0]
        actions = np.zeros((len(live), 2, 12), np.int32)
        for i, at in enumerate(live):
            actions[i, int(out.serial[at]) % 2] = strike
        game.send(out.match[live].copy(), actions)
    game.close()
    assert [results[n] for n in range(7)] == [[1, -1], [-1, 1]] * 3 + [[1, -1]]  # the bot strikes, too
    assert not game.voids and strict.agents() == 0


def test_a_game_that_has_left_keeps_nobody_waiting(strict):
    """As a training does for its evaluations; its matches under way are void, and it goes on where others began."""
    training, evaluation = Play(strict.port, rows=4, max_ticks=12), None
    try:
        assert training.go(60, lambda: training.ended >= 4)
        training.game.leave()
        assert strict.agents(0.0) == 0
        evaluation = Play(strict.port, rows=3, max_ticks=12)
        assert evaluation.go(60, lambda: evaluation.ended >= 6)
        evaluation.close()
        before = training.ended
        assert training.go(60, lambda: training.ended >= before + 8)
    finally:
        training.close()
    assert not evaluation.game.voids and dict(training.game.voids) == {Fault.STALLED: 4} and strict.agents() == 0


def test_a_run_on_one_server_has_one_shard(tmp_path):
    given = ["--game", "nh", "--env.matches", "8"]
    shards = {
        "nothing": given,
        "a server": [*given, "--env.remote", "localhost:7070"],
        "a server each": [*given, "--env.remote", "localhost:7070", "--env.remote-command", "server"],
        "a wish": [*given, "--env.remote", "localhost:7070", "--run.shards", "3"],
    }
    counts = {name: blueprint(load_config("", words, tmp_path)).shards for name, words in shards.items()}
    assert counts == {"nothing": min(8, cores()), "a server": 1, "a server each": min(8, cores()), "a wish": 3}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_a_server_is_named(kind, caplog):
    caplog.set_level(logging.WARNING)
    server, nh = OddServer(kind), registry.find("nh")
    settings = {"remote": f"127.0.0.1:{server.port}", "remote_timeout_s": NAMED_S / 4}
    game = nh.build(registry.configure(nh, settings), 3)
    game.queue([MatchPlan(n, n, (External("a"), External("b"))) for n in range(3)])
    out = StepBuffers.allocate(game.spec, 3)
    game.start()
    named, ends_at = "", time.monotonic() + 30
    try:
        while not named and time.monotonic() < ends_at:
            count = game.recv(1, 0.05, out)
            rows = out.match[:count][out.serial[:count] >= 0].copy()
            game.send(rows, np.zeros((len(rows), 2, 12), np.int32))
            named = next((r.getMessage() for r in caplog.records if r.name.startswith("pvp_ml")), "")
    except UserError as error:
        named = str(error)
    finally:
        game.close()
        server.close()
    assert f"127.0.0.1:{server.port}" in named and "\n" not in named


def test_the_strict_server_imports_nothing_of_ours():
    code = "import sys, runpy; sys.argv = ['x', '--help']\ntry: runpy.run_path(%r, run_name='__main__')\n"
    path = MODES["strict"][1]
    program = code % path + "except SystemExit: print([m for m in sys.modules if m.startswith('pvp_ml')])"
    said = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60).stdout
    assert said.splitlines()[-1] == "[]"
