"""A session: logs in, answers pings, comes back after a cut, and gives up where that is right."""

import queue

import pytest
from fake_server import FakeServer

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.live import session as sessions
from pvp_ml.games.vgc.live import websocket
from pvp_ml.games.vgc.live.session import Session

WAIT_S = 20.0


@pytest.fixture
def server():
    made = FakeServer()
    yield made
    made.close()


@pytest.fixture
def session(server, monkeypatch):
    monkeypatch.setattr(sessions, "FIRST_WAIT_S", 0.01)
    made = Session(server.url, "Our Model", "", lambda text: None)
    made.open()
    server.welcomed.get(timeout=WAIT_S)
    yield made
    made.close()


def listen(session, wanted):
    """Messages until one of them makes `wanted` true."""
    for _ in range(1000):
        found = session.next(0.05)
        if wanted(found):
            return found
    raise AssertionError("the server was not heard")


def test_it_logs_in_and_says_what_it_is_told_to(server, session):
    server.say("|challstr|4|", "abc")
    listen(session, bool)
    assert server.heard.get(timeout=WAIT_S) == (0, "|/trn Our Model,0,")
    assert not session.is_in
    server.say("|updateuser| Our Model|1|60|{}")
    listen(session, bool)
    assert session.is_in and session.logins == 1
    session.say("battle-1", "/choose default|3")
    assert server.heard.get(timeout=WAIT_S) == (0, "battle-1|/choose default|3")
    server.ping()
    assert server.pongs.get(timeout=WAIT_S) == b"there?"


def test_after_a_cut_it_comes_back_and_logs_in_again(server, session):
    server.say("|updateuser| Our Model|1|60|{}")
    listen(session, bool)
    server.cut()
    listen(session, lambda found: session.cuts == 1)
    assert not session.is_in
    session.say("battle-1", "/choose default")  # nobody hears it, and nothing breaks
    session.next(0.05)
    assert server.welcomed.get(timeout=WAIT_S) == 1
    server.say("|challstr|4|abc")
    listen(session, bool)
    assert server.heard.get(timeout=WAIT_S) == (1, "|/trn Our Model,0,")
    server.say("|updateuser| Our Model|1|60|{}")
    listen(session, bool)
    assert session.is_in and session.logins == 2


def test_a_server_that_falls_silent_counts_as_cut(server, session, monkeypatch):
    server.ignores_pings = True
    monkeypatch.setattr(sessions, "SILENT_S", 0.05)
    listen(session, lambda found: session.cuts == 1)


def test_a_name_that_is_taken_and_nobody_at_home_are_refused(server, session):
    server.say("|nametaken|Our Model|Someone else has it.")
    with pytest.raises(UserError, match="does not give us the name 'Our Model': Someone else has it"):
        listen(session, bool)
    with pytest.raises(UserError, match="no connection") as caught:
        Session("ws://127.0.0.1:1/", "Our Model", "", print).open()
    assert "ws://127.0.0.1:1/" in caught.value.hint


def test_it_does_not_wait_for_ever(server, session, monkeypatch):
    monkeypatch.setattr(sessions, "PATIENCE_S", 0.0)
    server.close()
    with pytest.raises(UserError, match="no way back"):
        listen(session, lambda found: False)


def test_a_message_without_end_is_a_cut(server, session, monkeypatch):
    monkeypatch.setattr(websocket, "MAX_MESSAGE", 10)
    server.say("12345", "678901")
    listen(session, lambda found: session.cuts == 1)


def test_a_server_that_is_no_websocket(monkeypatch):
    inbox = queue.SimpleQueue()
    with pytest.raises(websocket.ConnectionCutError):
        websocket.WebSocket("ws://127.0.0.1:1/", inbox)
