from __future__ import annotations

import io
import json
import socket

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.show import view
from pvp_ml.games.rocket_league.show.narrate import narrate
from pvp_ml.games.rocket_league.show.view import ReplayWriter, VisSender, datagram, read_replay


def test_view_says_what_the_simulator_holds(play):
    p = play(mode="2v2", scenario="kickoff")
    p.step(16, 3)
    shown = p.game.view(0)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert [car["team"] for car in shown["cars"]] == [0, 0, 1, 1]
    assert shown["ball"]["position"] == pytest.approx([0, 0, 93.15], abs=0.05)
    assert shown["cars"][0]["controls"]["throttle"] == 1.0
    assert shown["seconds"] == 0.2 and shown["score"] == [0, 0] and len(shown["pads"]) == 34
    assert shown["cars"][0]["position"] == pytest.approx(p.game.arenas.cars[0, 0, 0, 11:14].tolist(), abs=1e-3)


def test_datagram_is_what_rocketsimvis_reads(play):
    p = play(scenario="kickoff")
    message = json.loads(datagram(p.game.view(0)))
    assert set(message) == {"ball_phys", "cars", "boost_pad_states", "boost_pad_locations"}
    assert set(message["ball_phys"]) == {"pos", "vel", "ang_vel"}
    car = message["cars"][1]
    assert car["team_num"] == 1 and car["boost_amount"] == pytest.approx(33.33)
    assert set(car["phys"]) == {"pos", "vel", "ang_vel", "forward", "up"}
    assert len(message["boost_pad_states"]) == len(message["boost_pad_locations"]) == 34
    assert len(datagram(play(mode="3v3", scenario="kickoff").game.view(0))) < 8192


def test_sender_sends_and_never_waits(play):
    p = play(scenario="kickoff")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer:
        viewer.bind(("127.0.0.1", 0))
        viewer.settimeout(120)
        sender = VisSender(port=viewer.getsockname()[1])
        assert sender.send(p.game.view(0))
        assert json.loads(viewer.recv(65536))["cars"][0]["team_num"] == 0
        sender.close()
    assert sender.send(p.game.view(0)) is False


def test_replay_survives_its_file(play, tmp_path):
    p = play(scenario="kickoff")
    path = tmp_path / "r.jsonl"
    shown = []
    with path.open("w") as file:
        writer = ReplayWriter(file, p.spec.game_digest, 8)
        for _ in range(3):
            p.step(16)
            shown.append(p.game.view(0))
            writer.add(shown[-1])
    header, *frames = list(read_replay(path))
    assert header["game_digest"] == p.spec.game_digest and header["tick_skip"] == 8
    assert frames == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"replay": 2}\n', "not a rocket_league replay"),
        ("[]\n", "expected an object"),
        ("{\n", "not JSON"),
        ('{"replay": 1, "game": "rocket_league"}\n' + "x" * 70_000, "longer than"),
    ],
)
def test_damaged_replays_are_one_line(tmp_path, text, message):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        list(read_replay(path))


def test_writer_begins_with_a_header():
    out = io.StringIO()
    ReplayWriter(out, "d", 8)
    assert json.loads(out.getvalue()) == {
        "replay": 1,
        "game": "rocket_league",
        "game_digest": "d",
        "tick_skip": 8,
        "ticks_per_s": 120,
    }


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self):
        self.time = 100.0

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


def narration(p, sender, clock, steps=75):
    def played():
        yield p.game, p.out
        for _ in range(steps):
            p.step(16)
            yield p.game, p.out
            if p.out.ended[0] or p.out.truncated[0]:
                return

    return list(narrate(played(), sender, clock.now, clock.sleep))


def test_a_match_is_narrated_and_sent_at_its_own_speed(play):
    clock = Clock()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer:
        viewer.bind(("127.0.0.1", 0))
        viewer.settimeout(120)
        p = play(scenario="kickoff", timeout_s=4.0, bots=("chaser", "idle"))
        lines = narration(p, VisSender(port=viewer.getsockname()[1]), clock)
        first = json.loads(viewer.recv(65536))
    assert lines[0].endswith("1 blue against 1 orange, ball at 0, 0, 93")
    assert any("touches the ball" in line for line in lines)
    assert lines[-1].endswith("s  time is up: nobody wins")
    assert first["cars"][0]["controls"]["throttle"] == 1.0
    assert 3.5 < clock.time - 100.0 <= 4.0


def test_without_a_viewer_nothing_waits(play):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    clock = Clock()
    narration(play(scenario="kickoff", timeout_s=4.0), VisSender(port=port), clock)
    assert clock.time == 100.0


def test_a_goal_is_narrated(play, pack):
    shot = pack([[0.0, 4800.0, 200.0], [0.0, 2500.0, 0.0]], [{"team": "blue", "position": [0, 0, 17]}])
    lines = narration(play(**shot), VisSender(), Clock())
    assert any(line.endswith("GOAL for blue") for line in lines)
    assert lines[-1].endswith("it is over: blue wins")


def test_an_own_goal_is_narrated_with_its_culprit(play, pack):
    """Blue pushes a ball over its own line."""
    car = {"team": "blue", "position": [0, -4500, 17], "angles": [0, -np.pi / 2, 0], "velocity": [0, -1400, 0]}
    lines = narration(play(**pack([[0.0, -4750.0, 93.15], [0.0, -10.0, 0.0]], [car])), VisSender(), Clock())
    assert any(line.endswith("GOAL for orange, an own goal by blue") for line in lines), lines


def test_render_sends_to_the_viewer(play, monkeypatch):
    pytest.importorskip("gymnasium")
    from pvp_ml.games.adapters.envs import MatchEnv

    sent = []
    monkeypatch.setattr(view, "show", sent.append)
    env = MatchEnv("rocket_league", {"meshes": "generated"}, opponent="idle", render_mode="human")
    env.reset(seed=1)
    assert env.render() is None
    assert sent[0]["ball"]["position"] == pytest.approx([0, 0, 93.15], abs=0.05)
    env.close()
    plain = MatchEnv("rps", render_mode="human")
    plain.reset(seed=1)
    with pytest.raises(UserError, match="has no viewer"):
        plain.render()
