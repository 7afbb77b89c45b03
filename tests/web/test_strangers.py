"""Strangers at the arena: half a request, odd headers, a shared link, a room that nobody enters."""

import asyncio
import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from pvp_ml.serve.quota import GRACE_S
from pvp_ml.web.arena import Arena, ArenaConfig
from pvp_ml.web.arenas import Arenas
from pvp_ml.web.guard import Guard, ServerConfig
from pvp_ml.web.room import ABSENT_S
from pvp_ml.web.server import BODY_S, serve_until
from pvp_ml.web.site import Site

TOKEN = "correct horse battery staple"


def arena_of(clock=time.monotonic):
    return Arena(ArenaConfig("connect4"), Path.cwd(), clock)


@contextmanager
def serving(**config):
    """The port of an arena of connect 4."""
    running, ready, loop = {}, Event(), asyncio.new_event_loop()

    async def main():
        running["stop"] = asyncio.Event()
        server = ServerConfig(**config)
        site = running["site"] = Site.of(Arenas(Path.cwd(), time.monotonic))

        def on_ready(port):
            running["port"] = port
            ready.set()

        await serve_until(site, server, on_ready, running["stop"])

    thread = Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    while not ready.wait(1):  # it may compile first
        assert thread.is_alive(), "the site does not start"
    try:
        yield running["port"], running["site"]
    finally:
        loop.call_soon_threadsafe(running["stop"].set)
        thread.join(120)
        loop.close()


def get(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def raw(port, head):
    with socket.create_connection(("127.0.0.1", port), 120) as connection:
        connection.sendall(head)
        return connection.recv(200)


def test_a_head_that_is_never_finished_is_ended():
    with serving(head_s=0.5) as (port, _):
        with socket.create_connection(("127.0.0.1", port), 120) as silent:
            silent.sendall(b"GET / HTTP/1.1\r\nHost: localh")
            began = time.monotonic()
            assert ended(silent)
            assert time.monotonic() - began < 5.0
        with socket.create_connection(("127.0.0.1", port), 120) as second:  # the second head of a connection, too
            second.sendall(b"GET /api/games/connect4 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api")
            while data := read(second):
                assert data
        assert get(port, "/api/games/connect4") == 200


def read(connection):
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


def ended(connection):
    return read(connection) == b""


def test_half_heads_make_room_for_honest_pages():
    with serving(newcomers=20) as (port, _):
        held = []
        for _ in range(100):  # more than a rush of four times the places
            connection = socket.create_connection(("127.0.0.1", port), 120)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localh")
            held.append(connection)
        assert get(port, "/api/games/connect4") == 200
        assert ended(held[0])
        for connection in held:
            connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Host: [\r\n", b"400"),
        (b"Host: [::1\r\n", b"400"),
        (b"Host: a b\r\n", b"400"),
        (b"Host: localhost\r\nOrigin: http://[\r\n", b"400"),
        (b"Host: localhost\r\nOrigin: rubbish\r\n", b"400"),
        (b"Host: evil.example\r\n", b"403"),
        (b"Host: localhost\r\nOrigin: https://evil.example\r\n", b"403"),
        (b"Host: localhost\r\n", b"200"),
    ],
)
def test_odd_hosts_and_origins_have_a_status(headers, status, arena_port):
    assert raw(arena_port, b"GET /api/games/connect4 HTTP/1.1\r\n" + headers + b"\r\n").split()[1] == status


@pytest.fixture(scope="module")
def arena_port():
    with serving() as (port, _):
        yield port


def test_a_share_link_is_good_for_looking_on_and_for_nothing_else():
    guard = Guard(ServerConfig(token=TOKEN))
    key = guard.watch_key("room1")
    assert guard.watched_room(key) == "room1"
    assert guard.watched_room(key.replace("room1", "room2")) == ""
    assert guard.watched_room(TOKEN) == ""
    assert TOKEN not in key
    assert Guard(ServerConfig()).watch_key("room1") == ""
    with serving(token=TOKEN) as (port, site):
        key = site.arenas.watch_key("room1")
        assert get(port, "/api/games/connect4", Authorization=f"Bearer {key}") == 200
        assert get(port, "/api/games/connect4/replays", Authorization=f"Bearer {key}") == 403
        assert get(port, "/api/games/connect4") == 403


class Inbox:
    """A connection that remembers what it was sent."""

    def __init__(self):
        self.heard = []

    def push(self, message):
        self.heard.append(json.loads(message.text))


def test_a_guest_looks_on_in_one_room_only():
    from pvp_ml.web.page import Page

    async def scene():
        arena = arena_of()
        arena.watch_key = lambda room: f"{room}.key"
        host, guest = Inbox(), Inbox()
        await Page(arena, host).hear(
            json.dumps({"type": "start", "seats": ["bot:random", "bot:random"], "paused": True})
        )
        facts = host.heard[0]
        assert facts["watch"] == f"{facts['room']}.key"
        page = Page(arena, guest, only_room=facts["room"])
        await page.hear(json.dumps({"type": "start", "seats": ["bot:random", "bot:random"]}))
        assert guest.heard[-1]["type"] == "refused"
        await page.hear(json.dumps({"type": "watch", "room": "another"}))
        assert "only lets you watch" in guest.heard[-1]["message"]
        await page.hear(json.dumps({"type": "watch", "room": facts["room"]}))
        assert guest.heard[2]["type"] == "room"
        assert len(arena.rooms) == 1
        for room in list(arena.rooms.values()):
            arena.close(room, "over")

    asyncio.run(scene())


def test_a_room_that_nobody_enters_is_given_up():
    from pvp_ml.web.messages import Start

    async def scene():
        now = 0.0
        arena = arena_of(lambda: now)
        arena.open(Start(seats=["bot:random", "bot:random"]))
        arena.sweep()
        assert len(arena.rooms) == 1
        now = ABSENT_S + 1.0
        arena.sweep()
        assert arena.rooms == {}

    asyncio.run(scene())


HANDSHAKE = (
    b"GET /ws/connect4 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


@pytest.mark.parametrize("header", [b"Sec-WebSocket-Extensions", b"Sec-WebSocket-Protocol"])
def test_letters_that_a_handshake_may_not_have_are_refused(header, arena_port, caplog):
    assert raw(arena_port, HANDSHAKE + header + b": \xff\xfe\r\n\r\n").split()[1] == b"400"
    assert "Traceback" not in caplog.text


def test_half_sent_bodies_make_room_for_honest_pages():
    """80 of them where 65 connections are the most: nobody is told that the site is full."""
    with serving(newcomers=8, connections=1) as (port, _):
        held = []
        for _ in range(80):
            connection = socket.create_connection(("127.0.0.1", port), 120)
            connection.sendall(
                b"POST /api/games/connect4/frames HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"
            )
            held.append(connection)
        time.sleep(GRACE_S)
        assert [get(port, "/api/games/connect4") for _ in range(3)] == [200] * 3
        for connection in held:
            connection.close()


def test_a_body_that_says_it_is_too_long_is_not_awaited(arena_port):
    for path, length in ((b"/api/runs/x/stop", b"4097"), (b"/api/games/connect4/frames", b"9" * 19)):
        head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n"
        began = time.monotonic()
        assert raw(arena_port, head).split()[1] == b"413"
        assert time.monotonic() - began < BODY_S / 2


def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_traceback(caplog):
    with serving() as (port, _):
        with socket.create_connection(("127.0.0.1", port), 120) as connection:
            connection.sendall(
                b"POST /api/games/connect4/frames HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"
            )
        assert get(port, "/api/games/connect4") == 200
    assert "ClientDisconnect" not in caplog.text


@contextmanager
def opened(port, is_let_in):
    """A WebSocket that takes little: 4 KiB wait in its kernel. Let in, or with the handshake just sent."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(120)
        connection.connect(("127.0.0.1", port))
        connection.sendall(HANDSHAKE + b"\r\n")
        if is_let_in:
            assert b" 101 " in connection.recv(4096)
        yield connection


@pytest.mark.parametrize("is_let_in", [True, False])
def test_pings_without_end_are_cut_off(is_let_in, monkeypatch):
    """A page that pings and does not read: neither its answers pile up nor, before it is let in, its pings."""
    monkeypatch.setattr("pvp_ml.web.server.UNSENT_S", 600.0)  # no other limit may be the reason
    ping = b"\x89\xfd\0\0\0\0" + b"x" * 125
    with serving() as (port, _), opened(port, is_let_in) as connection:
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            for _ in range(4_000):  # 26 MB
                connection.sendall(ping * 50)
            while time.monotonic() - began < BODY_S / 2:  # the kernel may hold all of them until the server reads
                time.sleep(0.02)
                connection.sendall(ping)


def test_wrong_tokens_are_answered_late(monkeypatch):
    monkeypatch.setattr("pvp_ml.web.server.MAX_GUESSES", 2, raising=False)
    with serving(token=TOKEN) as (port, _):
        began = time.monotonic()
        assert [get(port, "/api/home", Authorization="Bearer wrong") for _ in range(4)] == [403] * 4
        assert time.monotonic() - began > 0.7  # 0.2 s each
        assert get(port, "/api/home", Authorization=f"Bearer {TOKEN}") == 200
        with ThreadPoolExecutor(6) as many:
            found = list(many.map(lambda _: get(port, "/api/home", Authorization="Bearer x"), range(6)))
        assert set(found) == {403, 429}


def test_rooms_are_given_up_although_one_arena_stumbles(monkeypatch, caplog):
    swept = []

    def sweep(self):
        swept.append(self)
        raise ZeroDivisionError

    monkeypatch.setattr("pvp_ml.web.server.SWEEP_S", 0.05)
    monkeypatch.setattr(Arena, "sweep", sweep)
    with serving() as (port, _):
        assert get(port, "/api/games/connect4") == 200
        end = time.monotonic() + 30.0
        while len(swept) < 3:
            assert time.monotonic() < end
            time.sleep(0.05)
    assert "trying again" in caplog.text


def test_a_door_that_fails_says_so_without_a_traceback(caplog):
    with serving() as (port, site):
        site.arenas.get = lambda name: 1 / 0
        assert get(port, "/api/games/connect4") == 500
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" not in caplog.text
