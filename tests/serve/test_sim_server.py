"""The simulation server, seen by a client that was written only from the protocol's tables."""

import contextlib
import json
import socket
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "games" / "osrs"))

from remote_playing import serving
from table_client import FEATURES, HEADS, Refused, TableClient, close_all

from pvp_ml import cli
from pvp_ml.errors import UserError
from pvp_ml.games.osrs.sim_server.command import to_config
from pvp_ml.games.osrs.sim_server.server import SimConfig, SimServer
from pvp_ml.games.tooling import SimServerOptions

DEADLINE_S = 1.0


@pytest.fixture(scope="module")
def server():
    with serving(deadline_s=DEADLINE_S, orphan_s=0.2) as server:
        yield server


@pytest.fixture(autouse=True)
def tidy():
    yield
    close_all()


@pytest.fixture
def join(server):
    """Logs agents in, and out again afterwards."""

    def join(name, **settings):
        client = TableClient(server.port, name, **settings)
        client.login()
        return client

    yield join
    close_all()
    deadline = time.monotonic() + 60
    while server.world.agents and time.monotonic() < deadline:
        time.sleep(0.02)


def pair(join, a, b, **settings):
    """Two agents in a fight of their own."""
    first, second = join(a), join(b)
    first.send_reset(b, **settings)
    second.send_reset(a, **settings)
    first.receive_sight(first=True)
    second.receive_sight(first=True)
    return first, second


def fight_on(first, second, steps=3):
    """Both step in turn; other fights must never be in the way."""
    for _ in range(steps):
        first.send_step()
        second.send_step()
        first.receive_sight()
        second.receive_sight()


def self_play(port, agents, steps):
    """Lock-step self-play of pairs, each fight to its end and again; gives errors seen and endings."""
    clients = [TableClient(port, f"agent {n}", seed=n) for n in range(agents)]
    endings = []
    for client in clients:
        client.login()
    waiting = list(range(agents))
    for _ in range(steps):
        for n in waiting:
            clients[n].send_reset(f"agent {n ^ 1}", randomizeGear=True, randomizeBuild=True, randomizeFightType=True)
        for n in waiting:
            clients[n].receive_sight(first=True)
        waiting = []
        for client in clients:
            client.send_step()
        for n, client in enumerate(clients):
            sight = client.receive_sight()
            if "terminalState" in sight:
                endings.append(sight["terminalState"])
                waiting.append(n)
    for client in clients:
        assert client.ask("logout") is None
        client.close()
    return endings


@pytest.mark.parametrize(("agents", "steps"), [(2, 700), (20, 40), (100, 8)])
def test_self_play_in_lock_step_has_no_errors(server, agents, steps):
    endings = self_play(server.port, agents, steps)
    assert set(endings) <= {"WON", "LOST"}
    assert endings.count("WON") >= endings.count("LOST")
    if agents == 2:
        assert len(endings) >= 2
    assert server.world.agents == {}


def test_a_fight_ends_one_step_after_the_last_tick(join):
    client = join("solo")
    client.reset(privileged=True)
    previous, ticks = client.sight, 1
    while True:
        sight = client.step()
        ticks += 1
        assert sight["meta"]["episodeTicks"] == ticks
        assert len(sight["meta"]["targetObs"]) == FEATURES["NhEnv"]
        assert [len(m) for m in sight["meta"]["targetActionMasks"]] == list(HEADS["NhEnv"])
        if "terminalState" in sight:
            break
        previous = sight
    assert 0.0 in (previous["meta"]["currentHealthPercent"], previous["meta"]["currentTargetHealthPercent"])
    assert sight["obs"] == previous["obs"] and sight["actionMasks"] == previous["actionMasks"]
    assert sight["meta"]["damageGeneratedOnTargetScale"] == sight["meta"]["damageDealt"] == 0.0
    assert "attackTypeHit" not in sight["meta"] and "eatenFoodScale" not in sight["meta"]
    won = sight["meta"]["currentTargetHealthPercent"] == 0.0
    assert sight["terminalState"] == ("WON" if won else "LOST")
    with pytest.raises(Refused, match="PENDING"):
        client.step()
    client.reset()


def test_first_observation_is_that_of_the_published_vector(join):
    client = join("plain")
    sight = client.reset(training=True)  # the protocol's default parameters: PURE, gear as listed, NORMAL
    obs = sight["obs"]
    assert obs[4] == obs[21] == 100 and obs[10] == 1.0 and obs[11] == 0.0
    assert obs[22:28] == [4, 4, 12, 20, 11, 0]
    assert (
        obs[34] == pytest.approx(99 / 118) and obs[35] == pytest.approx(60 / 74) and obs[37] == pytest.approx(99 / 112)
    )
    assert obs[96:103] == [60, 99, 1, 99, 99, 52, 99]
    masks = sight["actionMasks"]
    assert masks[0] == [False, True, True, True] and masks[1] == [True, True, False]
    assert masks[4] == [True, True, False, True, True]
    assert masks[11] == [False, True, True, True, True, False]


def test_without_training_both_start_on_one_tile(join):
    first, second = pair(join, "x", "y", training=False)
    assert first.sight["meta"]["distance"] == second.sight["meta"]["distance"] == 0.0


def test_without_death_match_an_empty_bag_ties(join):
    client = join("eater", env="DharokEnv")
    client.reset(death_match=False)
    for _ in range(2000):
        if "terminalState" in client.step():
            break
    assert client.sight["terminalState"] in ("TIED", "WON", "LOST")
    if client.sight["terminalState"] == "TIED":
        assert 0 in (client.sight["meta"]["foodCount"], client.sight["meta"]["targetFoodCount"])


def test_attacker_waits_for_whoever_names_it(join):
    prey, hunter = join("prey"), join("hunter")
    prey.send_reset("attacker")
    hunter.send_reset("prey")
    prey.receive_sight(first=True)
    hunter.receive_sight(first=True)
    fight_on(prey, hunter)


def test_seeds_in_the_episode_ids_repeat_a_fight(join):
    seen = []
    for n in range(2):
        first, second = join(f"p{n}"), join(f"q{n}")
        first.send_reset(f"q{n}", randomizeGear=True, episodeId="77/1")
        second.send_reset(f"p{n}", randomizeGear=True, episodeId="77/0")
        seen.append((first.receive_sight()["obs"], second.receive_sight()["obs"]))
    assert seen[0] == seen[1]
    third, fourth = pair(join, "p2", "q2", randomizeGear=True)
    assert (third.sight["obs"], fourth.sight["obs"]) != seen[0]


def test_masked_out_choices_are_played_and_others_refused(join):
    client = join("rude")
    client.reset()
    illegal = [3, 2, 0, 0, 2, 1, 1, 1, 1, 1, 0, 5]
    client.step(illegal)
    for action, words in [
        ([0] * 11, "12 choices, got 11"),
        ([0] * 13, "12 choices, got 13"),
        ([0] * 11 + [6], "head 'prayer' has choices 0 to 5, got 6"),
        ([-1] * 12, "got -1"),
        ([1, 0, 0, 0] + [0] * 8, "'mage_attack' needs"),
        ([3, 0, 0, 0] + [0] * 8, "'melee_attack' needs"),
    ]:
        with pytest.raises(Refused, match=words):
            client.step(action)
    with pytest.raises(Refused, match="step"):
        client.ask("step", {"action": "fast"})
    assert client.step()["meta"]["episodeTicks"] == 3


def test_mistakes_have_their_answers_and_other_fights_go_on(join, server):
    first, second = pair(join, "one", "two")
    fight_on(first, second)
    stranger = TableClient(server.port, "three")
    with pytest.raises(Refused, match="no agent 'three'"):
        stranger.ask("reset", {"target": "baseline"})
    with pytest.raises(Refused, match="no agent 'three'"):
        stranger.ask("logout")
    stranger.login()
    with pytest.raises(Refused, match="PENDING"):
        stranger.step([0] * 12)
    again = TableClient(server.port, "one")
    with pytest.raises(Refused, match="in use"):
        again.login()
    with pytest.raises(Refused, match="agentType"):
        TableClient(server.port, "four", env="ChessEnv").login()
    for name in ("", "x" * 65, "a\tb", "baseline"):
        with pytest.raises(Refused, match=r"id"):
            TableClient(server.port, name).login()
    with pytest.raises(Refused, match=r"resetParams\.allowSmite"):
        stranger.reset(allowSmite="yes")
    with pytest.raises(Refused, match="builds"):
        stranger.reset(accountBuild="TANK")
    with pytest.raises(Refused, match="itself"):
        stranger.reset("three")
    fight_on(first, second)
    stranger.close()


@pytest.mark.parametrize(
    "line", [b"{nonsense\n", b'{"action": "dance", "meta": {"id": "a"}}\n', b"[1]\n", b"\xff\xfe\n"]
)
def test_what_is_no_request_is_answered_and_shown_out(server, line):
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(line)
        with connection.makefile("rb") as file:
            answer = json.loads(file.readline())
            assert answer["error"] is True and answer["message"]
            assert file.readline() == b""


def test_a_line_of_8_kib_is_read_and_one_byte_more_ends_the_connection(server, join):
    first, second = pair(join, "l", "r")
    request = {"action": "debug", "body": None, "meta": {"id": "debugger"}, "pad": ""}
    request["pad"] = "x" * (8192 - len(json.dumps(request)))
    line = json.dumps(request).encode()
    assert len(line) == 8192
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(line + b"\n")
        with connection.makefile("rb") as file:
            assert "body" in json.loads(file.readline())
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(line[:-2] + b'x"}\n')
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    fight_on(first, second)


def test_half_a_line_is_never_executed(server, join):
    first, second = pair(join, "h", "g")
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(b'{"action": "login", "body": {"agentType": "NhEnv"}, "meta": {"id": "half"}}')
        fight_on(first, second)
    time.sleep(0.05)
    assert "half" not in server.world.agents
    fight_on(first, second)


def test_a_dead_client_loses_its_fight_and_nobody_elses(server, join):
    first, second = pair(join, "alive", "dead")
    third, fourth = pair(join, "u", "v")
    fight_on(first, second)
    first.send_step()
    second.socket.shutdown(socket.SHUT_RDWR)
    second.close()
    fight_on(third, fourth, 20)
    assert first.receive_sight()["terminalState"] == "TARGET_LOST"
    second = TableClient(server.port, "dead")
    second.login()
    first.send_reset("dead")
    second.send_reset("alive")
    first.receive_sight(first=True)
    second.receive_sight(first=True)
    fight_on(first, second)
    second.close()


def test_a_silent_client_is_void_after_the_deadline_and_freezes_nobody(server, join):
    first, second = pair(join, "waits", "sleeps")
    third, fourth = pair(join, "s", "t")
    began = time.monotonic()
    first.send_step()
    fight_on(third, fourth, 20)
    assert time.monotonic() - began < DEADLINE_S + 2
    assert first.receive_sight()["terminalState"] == "TARGET_LOST"
    assert time.monotonic() - began >= DEADLINE_S * 0.9
    with pytest.raises(Refused, match="reset first"):
        second.step([0] * 12)
    second.send_reset("nobody")
    with pytest.raises(Refused, match="'nobody' did not come"):
        second.receive()


def test_a_reset_in_the_middle_tells_the_other_side(join):
    first, second = pair(join, "m", "n")
    second.reset()  # against the scripted opponent
    assert first.step()["terminalState"] == "TARGET_LOST"
    assert "terminalState" not in second.step()


def test_a_second_message_while_one_waits_is_refused(server, join):
    first, second = pair(join, "k", "j")
    first.send_step()
    other = TableClient(server.port, "k")
    other.sight = second.sight
    with pytest.raises(Refused, match="waiting already"):
        other.step([0] * 12)
    second.send_step()
    first.receive_sight()
    second.receive_sight()
    assert other.ask("logout") is None
    assert second.step()["terminalState"] == "TARGET_LOST"
    other.close()


def test_logout_fails_a_waiting_request(server, join):
    first, _ = pair(join, "i", "o")
    first.send_step()
    other = TableClient(server.port, "i")
    other.ask("logout")
    with pytest.raises(Refused, match="logged out"):
        first.receive()
    other.close()


def test_debug_tells_every_agent(server, join):
    first, second = pair(join, "d1", "d2")
    fight_on(first, second, 2)
    first.send_step()
    records = {r["id"]: r for r in TableClient(server.port, "debugger").ask("debug")}
    assert records["d1"] == {"id": "d1", "target": "d2", "state": "STEPPING", "pendingMessage": "step",
                             "envType": "NhEnv", "currentEpisodeTicks": 2, "isLoaded": True, "isTargetLoaded": True,
                             "lastMessageTick": 2}  # fmt: skip
    assert "pendingMessage" not in records["d2"]
    second.send_step()
    first.receive_sight()
    second.receive_sight()


def test_agents_beyond_the_limit_are_refused():
    with serving(agents=2) as server:
        clients = [TableClient(server.port, str(n)) for n in range(3)]
        clients[0].login()
        clients[1].login()
        with pytest.raises(Refused, match="2 agents are here"):
            clients[2].login()
        clients[0].ask("logout")
        clients[2].login()
        for client in clients:
            client.close()


def test_in_real_time_the_clock_goes_on_without_input():
    with serving(tick_s=0.1) as server:
        client = TableClient(server.port, "slow")
        client.login()
        client.reset()
        assert client.step()["meta"]["episodeTicks"] == 2
        began = time.monotonic()
        ticks = [client.step()["meta"]["episodeTicks"] for _ in range(5)]
        assert time.monotonic() - began >= 0.3
        assert ticks == sorted(set(ticks))
        time.sleep(0.6)
        with pytest.raises(Refused, match=r"missed \d+ ticks, allowed are 3"):
            client.step()
        client.close()


def test_two_hundred_agents_wait_for_nobody(server):
    """100 fights, one of which never moves: the others step."""
    clients = [TableClient(server.port, f"w{n}", seed=n) for n in range(200)]
    for client in clients:
        client.login()
    for n, client in enumerate(clients):
        client.send_reset(f"w{n ^ 1}")
    for client in clients:
        client.receive_sight(first=True)
    moving = clients[2:]
    for _ in range(3):
        for client in moving:
            client.send_step()
        for client in moving:
            client.receive_sight()
    assert clients[0].sight["meta"]["episodeTicks"] == 1
    assert all(client.sight["meta"]["episodeTicks"] == 4 for client in moving)
    for client in clients:
        client.close()


def test_flags_and_environment(monkeypatch):
    monkeypatch.setenv("REMOTE_ENV_PORT", "7123")
    config = to_config(SimServerOptions(mode="real-time", deadline=7.0, max_agents=5))
    assert (config.port, config.world.tick_s, config.world.deadline_s, config.world.agents) == (7123, 0.6, 7.0, 5)
    assert to_config(SimServerOptions(port=9)).port == 9
    monkeypatch.setenv("REMOTE_ENV_PORT", "seven")
    with pytest.raises(UserError, match="REMOTE_ENV_PORT is 'seven'"):
        to_config(SimServerOptions())
    with pytest.raises(UserError, match="no password"):
        SimServer(SimConfig(host="0.0.0.0"))


@pytest.mark.nightly
def test_bench_prints_one_json_object(capsys):
    words = "bench sim-server --agents 2 --agents 4 --seconds 0.3 --repeats 1 --json"
    assert cli.run(words.split()) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["agents"] for row in result["rows"]] == [2, 4] and result["value"] > 100
    assert all(row["errors"] == 0 for row in result["rows"])
