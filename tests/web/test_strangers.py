"""Strangers at the arena: half a request, odd headers, a shared link, a room that nobody enters."""

import asyncio
import http.client
import json
import socket
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from pvp_ml.web.arena import Arena, ArenaConfig
from pvp_ml.web.arenas import Arenas
from pvp_ml.web.guard import Guard, ServerConfig
from pvp_ml.web.room import ABSENT_S
from pvp_ml.web.server import serve_until
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
    assert ready.wait(120)
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
        for _ in range(60):
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
