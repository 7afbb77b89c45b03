"""A contract on a server that misbehaves: matches become void by their cause, and the game goes on."""

import contextlib
import json
import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from old_server import CONTRACT, OldServer
from remote_playing import receive, record, serving

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.osrs.remote.link import Address
from pvp_ml.games.osrs.remote.params import build_number, game_settings, reset_fields
from pvp_ml.games.osrs.remote.process import ServerProcess, free_address, is_taken, variables
from pvp_ml.games.osrs.remote.rewards import TERM
from pvp_ml.games.osrs.remote.wire import ResetBody
from pvp_ml.match import LOSS, WIN, ActionError, Bot, External, Fault, MatchPlan, StepBuffers

AGENTS = (External("a"), External("b"))


@contextlib.contextmanager
def playing(tmp_path, matches=2, timeout=5.0, length=6, spoil=None, **settings):
    (tmp_path / "Duel.json").write_text(json.dumps(CONTRACT))
    server = OldServer(length, spoil)
    kind = registry.find("remote")
    where = {"contract": str(tmp_path / "Duel.json"), "remote": f"localhost:{server.port}", "remote_timeout_s": timeout}
    game = kind.build(registry.configure(kind, {**where, **settings}), matches)
    try:
        yield server, game
    finally:
        game.close()
        server.close()


def plans(count, lineup=AGENTS):
    return [MatchPlan(n, n, lineup) for n in range(count)]


def test_a_contract_and_an_address_are_a_game(tmp_path):
    with playing(tmp_path) as (server, game):
        assert game.spec.obs_size == 4 and game.spec.privileged_size == 1 and game.spec.head_sizes == (3, 2)
        recorded = record(game, plans(4))
        for steps in recorded.values():
            # six ticks, one of them while the second reset was under way; the step that asks for the ending is none
            assert len(steps) == 1 + 5
            assert [s["obs"][:, 1].tolist() for s in steps[:-1]] in ([[10.0, 11.0]] * 5, [[11.0, 10.0]] * 5)
            assert sorted(steps[0]["obs"][:, 0].tolist()) == [1.0, 2.0]
            last = steps[-1]
            winner = int(last["final_obs"][:, 1].argmin())
            assert last["result"][winner] == WIN and last["result"][1 - winner] == LOSS
            assert last["final_privileged"][:, 0].tolist() == last["final_obs"][::-1, 1].tolist()
            assert last["reward"][winner, TERM["win"]] == 1 and last["reward"][1 - winner, TERM["lost"]] == 1
            assert last["reward"][winner, TERM["target_food_on_death"]] == 0.25
            assert last["reward"][0, TERM["damage_dealt"]] == pytest.approx(0.1)
        assert not game.voids
        logins = [entry for entry in server.log if entry[1] == "login"]
        assert len(logins) == 4 and len({name for name, _ in logins}) == 4


def test_one_agent_against_the_servers_opponent(tmp_path):
    with playing(tmp_path, matches=1) as (_, game):
        recorded = record(game, plans(2, (External("a"), Bot("baseline"))))
        assert all(
            not steps[0]["mask"][1].any() and steps[-1]["result"].tolist() == [WIN, LOSS] for steps in recorded.values()
        )


def spoiled_step(number, replace):
    return lambda action, agent, count, answer: replace(answer) if action == "step" and count == number else answer


def edit(**changes):
    def change(answer):
        reply = json.loads(answer)
        for path, value in changes.items():
            here = reply["body"]
            *parents, last = path.split("__")
            for parent in parents:
                here = here[parent]
            here[last] = value
        return json.dumps(reply).encode() + b"\n"

    return change


@pytest.mark.parametrize(
    ("fault", "replace"),
    [
        (Fault.BAD_DATA, lambda answer: b"{nonsense\n"),
        (Fault.BAD_DATA, lambda answer: b"\xff\xff\n"),
        (Fault.BAD_DATA, lambda answer: b"[]\n"),
        (Fault.BAD_DATA, lambda answer: b'{"body": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n"),
        (Fault.BAD_DATA, lambda answer: b'{"body": null}\n'),
        (Fault.BAD_DATA, edit(obs=[1.0])),
        (Fault.BAD_DATA, edit(obs=[1e300, 0.0, 0.0, 0.0])),
        (Fault.BAD_DATA, edit(actionMasks=[[True] * 3])),
        (Fault.BAD_DATA, edit(meta={})),
        (Fault.BAD_DATA, edit(meta__attackTypeHit="FIST")),
        (Fault.BAD_DATA, lambda answer: b"x" * (1 << 20) + b"xx"),
        (Fault.REJECTED, lambda answer: b'{"error": true, "message": "java.lang.Oops"}\n'),
        (Fault.CRASHED, lambda answer: "close"),
        (Fault.DESYNC, edit(terminalState="TARGET_LOST")),
        (Fault.DESYNC, edit(meta__episodeTicks=40)),
    ],
)  # fmt: skip
def test_a_bad_answer_voids_its_match_and_no_other(tmp_path, fault, replace):
    with playing(tmp_path, timeout=1.5, spoil=spoiled_step(9, replace)) as (_, game):
        recorded = record(game, plans(5))
        faults = [int(steps[-1]["faults"]) for steps in recorded.values()]
        assert game.voids[fault] == 1 and faults.count(fault) == 1
        assert all(bool(steps[-1]["ended"]) for steps in recorded.values() if not steps[-1]["faults"])


def test_silence_voids_by_its_deadline(tmp_path):
    with playing(tmp_path, matches=1, timeout=1.5, spoil=spoiled_step(5, lambda answer: None)) as (_, game):
        recorded = record(game, plans(3))
        assert [int(steps[-1]["faults"]) for steps in recorded.values()] == [Fault.STALLED, 0, 0]


def test_a_caller_slower_than_real_time_allows_is_a_desync(tmp_path):
    with playing(tmp_path, matches=1, remote_desync_s=0.8) as (_, game):
        out = StepBuffers.allocate(game.spec, 1)
        game.queue(plans(2))
        game.start()
        for pause in (0.0, 0.0, 1.0):
            assert game.recv(1, 5.0, out) == 1 and out.faults[0] == 0
            time.sleep(pause)
            game.send(out.match[:1], np.zeros((1, 2, 2), np.int32))
        assert game.recv(1, 5.0, out) == 1
        assert out.faults[0] == Fault.DESYNC and out.serial[0] == 1


def test_actions_are_checked_before_they_are_sent(tmp_path):
    with playing(tmp_path, matches=1) as (_, game):
        out = StepBuffers.allocate(game.spec, 1)
        game.queue(plans(1))
        with pytest.raises(ActionError):
            game.send(np.zeros(1, np.int32), np.zeros((1, 2, 2), np.int32))
        game.start()
        game.recv(1, 5.0, out)
        with pytest.raises(ActionError, match="'stance' has 3 choices, got 7"):
            game.send(out.match[:1], np.full((1, 2, 2), 7, np.int32))
        game.send(out.match[:1], np.full((1, 2, 2), -1, np.int32))  # IDLE
        assert game.recv(1, 5.0, out) == 1 and game.view(0)["ticks"] == 1


def test_a_server_that_refuses_every_reset_is_reported_to_the_user(tmp_path):
    def refuse(action, agent, count, answer):
        return b'{"error": true, "message": "no such build"}\n' if action == "reset" else answer

    with playing(tmp_path, matches=1, spoil=refuse) as (_, game):
        game.queue(plans(1))
        game.start()
        with pytest.raises(UserError, match="no such build"):
            game.recv(1, 10.0, StepBuffers.allocate(game.spec, 1))


def test_a_killed_server_voids_and_a_new_one_goes_on():
    kind, zeros = registry.find("nh"), np.zeros((3, 2, 12), np.int32)
    with contextlib.ExitStack() as stack:
        with serving() as first:
            where = {"remote": f"127.0.0.1:{first.port}", "max_ticks": 30}
            game = stack.enter_context(contextlib.closing(kind.build(registry.configure(kind, where), 3)))
            game.queue(plans(9))
            game.start()
            for _ in range(6):
                game.send(receive(game, 3).match, zeros)
            out = receive(game, 3)
        game.send(out.match, zeros)
        assert game.recv(1, 0.3, out) == 0  # nobody answers, and nothing breaks
        stack.enter_context(serving(port=first.port))
        out = receive(game, 3)
        assert out.faults.tolist() == [Fault.CRASHED] * 3 and sorted(out.serial.tolist()) == [3, 4, 5]
        endings = 0
        while endings < 6:
            live = out.serial != -1
            game.send(out.match[live], zeros[: int(live.sum())])
            out = receive(game, 1)
            endings += int(out.truncated.sum())
        assert game.voids[Fault.CRASHED] == 3


def test_settings_survive_the_wire():
    kind = registry.find("nh")
    for settings in (
        {},
        {"builds": ("MED",), "fight_type": "LMS", "allow_smite": True},
        {"builds": ("PURE", "MAXED"), "fight_type": "of-build", "death_match": False, "random_tiles": False},
        {"randomize_gear": False, "only_switch_prayer_when_about_to_attack": True, "allow_moving_if_can_attack": True},
    ):
        config = registry.configure(kind, settings)
        fields = reset_fields(config.model_dump(), True)
        fields["resetParams"] |= {"episodeId": "5/0"}
        read = game_settings(ResetBody(**fields), True)
        for name, value in read.items():
            assert getattr(config, name) == value, name


def test_builds_follow_the_names_when_no_seed_is_given():
    assert build_number("17", "4") == 4
    assert build_number("agent 12", "bob 9 x") == 9
    assert build_number("ab", "a") == (97 * 31 + 97) * 31 + 98
    params = {"randomizeBuild": True, "agent": "agent 4", "target": "agent 7"}
    assert game_settings(ResetBody(resetParams=params), True)["builds"] == ("ZERKER",)
    assert game_settings(ResetBody(), True)["builds"] == ("PURE",)


def test_addresses():
    assert Address.parse("localhost") == Address("localhost", 7070)
    assert Address.parse("10.0.0.1:80") == Address("10.0.0.1", 80)
    assert Address.parse("[::1]:9") == Address("::1", 9)
    for bad in ("host:", "host:x", "host:0", "host:70000"):
        with pytest.raises(UserError, match="port"):
            Address.parse(bad)


LISTEN = """
import os, socket, subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
open(sys.argv[1], 'w').write(' '.join([str(child.pid), os.environ['TRAIN'], os.environ['SYNC_TRAINING'],
    os.environ['TICK_RATE'], os.environ['RUN_EVAL_BOTS'], os.environ['GAME_PORT']]))
s = socket.create_server(('127.0.0.1', int(os.environ['REMOTE_ENV_PORT'])))
while True:
    s.accept()[0].close()
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_started_server_is_ready_and_stops_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setenv("REMOTE_ENV_PORT", "1")  # inherited variables must not win
    (tmp_path / "listen.py").write_text(LISTEN)
    address = free_address(Address("127.0.0.1", 17070))
    process = ServerProcess(
        shlex.join([sys.executable, f"{tmp_path}/listen.py", f"{tmp_path}/facts"]), address, tmp_path / "log", 20
    )
    process.start()
    child, *settings = (tmp_path / "facts").read_text().split()
    assert settings == ["true", "true", "1", "false", str(43595 + address.port - 7070)]
    assert is_taken(address) and is_alive(int(child)) and not process.ensure()
    with pytest.raises(UserError, match="listens"):
        ServerProcess(shlex.quote(sys.executable), address).start()
    assert free_address(address) != address
    os.kill(process.pid, 9)
    deadline = time.monotonic() + 60
    while process.pid and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.ensure() and is_taken(address)
    process.stop()
    assert not is_taken(address) and not is_alive(int(child)) and process.pid == 0
    assert variables(7070, in_step=False).get("TICK_RATE") is None


def test_a_server_that_does_not_start_says_why(tmp_path):
    address = free_address(Address("127.0.0.1", 17170))
    with pytest.raises(UserError, match="no program"):
        ServerProcess("no-such-program-here --x", address)
    failing = ServerProcess(
        shlex.join([sys.executable, "-c", "print('no java here'); raise SystemExit(3)"]), address, tmp_path / "log", 20
    )
    with pytest.raises(UserError, match=r"code 3.*no java here"):
        failing.start()
