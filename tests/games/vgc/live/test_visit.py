"""What the client says to a server, message by message, with nobody on the other side."""

import json

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.live import client
from pvp_ml.games.vgc.live.client import LiveConfig, Stop
from pvp_ml.games.vgc.live.session import Message

FORMAT, ROOM = "gen9vgc2025regi", "battle-gen9vgc2025regi-1"


class Line:
    """A session that hears what the test says; `news` are messages still to come."""

    def __init__(self):
        self.said, self.news, self.is_in, self.logins, self.cuts = [], [], True, 1, 0

    def next(self, timeout_s):
        return self.news.pop(0) if self.news else None

    def say(self, room, text):
        self.said.append((room, text))


class Chooser:
    """Decides for the first move, and keeps what it was shown."""

    def __init__(self):
        self.news, self.left = [], []

    def decide(self, news):
        self.news.append(news)
        return "move 1, move 1"

    def leave(self, room):
        self.left.append(room)


@pytest.fixture
def now(monkeypatch):
    """A clock that the test moves."""
    clock = [100.0]
    monkeypatch.setattr(client.time, "monotonic", lambda: clock[0])
    return clock


def visit(sheets="open", **settings):
    line, chooser, lines = Line(), Chooser(), []
    config = LiveConfig("ws://x", "Our Model", config=VgcConfig(format=FORMAT, sheets=sheets), **settings)
    made = client._Visit(config, line, chooser, {"sun": "PACKED"}, np.random.default_rng(0), lines.append)
    return made, line, chooser, lines


def hear(made, line, room, *lines):
    """One message, and what it makes the visitor do."""
    line.said.clear()
    made._hear(Message(room, list(lines)))
    made._act(Stop())
    return list(line.said)


def request(number, **asked):
    return "|request|" + json.dumps({"rqid": number, "side": {"id": "p1"}, **asked})


def test_a_battle_is_searched_for_once_while_the_server_searches(now):
    made, line, _, _ = visit(ladder=True)
    wanted = [("", "/utm PACKED"), ("", f"/search {FORMAT}")]
    assert hear(made, line, "", "|c|hello") == wanted
    searching = "|updatesearch|" + json.dumps({"searching": [FORMAT], "games": None})
    assert hear(made, line, "", searching) == []
    now[0] += 3600.0  # a quiet ladder
    assert hear(made, line, "", searching) == []
    assert hear(made, line, "", '|updatesearch|{"searching":[],"games":null}') == wanted  # it was dropped


def test_a_search_that_nobody_confirms_is_started_again(now):
    made, line, _, _ = visit(ladder=True)
    hear(made, line, "", "|c|hello")
    now[0] += client.SEARCH_AGAIN_S - 1.0
    assert hear(made, line, "", "|c|hello") == []
    now[0] += 2.0
    assert hear(made, line, "", "|c|hello")[-1] == ("", f"/search {FORMAT}")


def test_a_whole_battle_in_messages(now):
    made, line, chooser, lines = visit(ladder=True, battles=1)
    hear(made, line, "", "|c|hello")
    assert hear(made, line, ROOM, "|init|battle", "|player|p2|Rival|1|")[0] == (ROOM, "/timer on")
    said_then = hear(made, line, ROOM, "|uhtml|otsrequest|<button>", request(1, teamPreview=True))
    assert said_then == [(ROOM, "/acceptopenteamsheets")]  # and waits for their sheet
    assert hear(made, line, ROOM, "|showteam|p2|A||") == [(ROOM, "/choose move 1, move 1|1")]
    assert hear(made, line, ROOM, "|inactive|Time left: 50 sec this turn | 400 sec total") == []
    assert hear(made, line, ROOM, "|turn|1", request(2, active=[{}])) == [(ROOM, "/choose move 1, move 1|2")]
    assert chooser.news[0]["lines"][0] == "|init|battle" and chooser.news[1]["limit_s"] == 20.0
    assert hear(made, line, ROOM, "|error|[Invalid choice] no") == [(ROOM, "/choose default|2")]
    assert hear(made, line, ROOM, "|win|Our Model") == [(ROOM, "/leave")]
    assert chooser.left == [ROOM] and made._is_finished(Stop())
    report = made._report
    assert (report.won, report.decisions, len(report.rejected)) == (1, 3, 1) and "1 won of 1" in lines[-1]
    assert hear(made, line, ROOM, "|init|battle", request(3, active=[{}])) == []  # it is over for us


def test_after_a_cut_open_battles_are_joined_again(now):
    made, line, _, _ = visit(ladder=True)
    hear(made, line, ROOM, "|init|battle", request(2, active=[{}]))
    line.logins = 2
    assert hear(made, line, "", "|c|hello") == [("", f"/join {ROOM}")]
    assert hear(made, line, ROOM, "|init|battle", request(2, active=[{}])) == [(ROOM, "/choose move 1, move 1|2")]
    line.logins = 3
    hear(made, line, "", "|c|hello")
    assert hear(made, line, ROOM, "|init|battle", request(2, active=[{}]), "|sentchoice|move 1, move 1") == []
    found = '|updatesearch|{"searching":[],"games":{"battle-x-9":"A vs. B"}}'
    assert hear(made, line, "", found) == [("", "/join battle-x-9")]


def test_closed_sheets_are_declined_and_not_waited_for(now):
    made, line, _, _ = visit(sheets="closed", ladder=True)
    hear(made, line, "", "|c|hello")
    said_then = hear(made, line, ROOM, "|uhtml|otsrequest|<button>", request(1, teamPreview=True))
    assert said_then == [(ROOM, "/timer on"), (ROOM, "/rejectopenteamsheets"), (ROOM, "/choose move 1, move 1|1")]


def test_challenges_in_another_format_are_declined(now):
    made, line, _, _ = visit(timer=False)
    assert hear(made, line, "", "|pm| Eve| Our Model|/challenge gen9ou|gen9ou|||") == [("", "/reject Eve")]
    asked = f"|pm| Bob| Our Model|/challenge {FORMAT}|{FORMAT}|||"
    assert hear(made, line, "", asked) == [("", "/utm PACKED"), ("", "/accept Bob")]
    assert hear(made, line, ROOM, "|init|battle") == []
    assert hear(made, line, "", asked) == []  # one battle at a time
    assert hear(made, line, "", "|pm| Bob| Our Model|/challenge") == []  # taken back
    assert hear(made, line, ROOM, "|win|Bob") == [(ROOM, "/leave")]


def test_a_team_that_the_server_refuses_ends_the_visit(now):
    made, line, _, _ = visit(ladder=True)
    with pytest.raises(UserError, match="Your team was rejected"):
        hear(made, line, "", "|popup|Your team was rejected for the following reasons:||- no")


def test_asked_twice_it_forfeits(now):
    made, line, _, _ = visit(ladder=True)
    hear(made, line, ROOM, "|init|battle", request(2, active=[{}]))
    line.news = [Message(ROOM, ["|-message|Our Model forfeited.", "|win|Rival"])]
    line.said.clear()
    report = made.run(Stop(asked=2))
    assert line.said[:2] == [("", "/cancelsearch"), (ROOM, "/forfeit")] and report.lost == 1
