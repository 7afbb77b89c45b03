"""Spectators cost the players nothing that they could notice, and the server little.

The server is a process of its own, as `pvp-ml ui` starts it, so that its processor time can be read.
"""

import json
import re
import socket as sockets
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from ringside import Ringside, Socket

from pvp_ml.games.process_tree import process_cpu_s
from pvp_ml.web.room import Room

AUDIENCE = Path(__file__).parent / "audience.py"
TICK_MS = 100
ROUNDS, STEPS = 3, 60


@contextmanager
def served(folder):
    """(port, process id) of a site in a process of its own."""
    command = [sys.executable, "-m", "pvp_ml", "ui", "--no-open", "--port", "0", "--no-keep"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield int(re.match(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())[1]), process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def crowd(port, game, room, count, steps):
    """So many who look on; a function that waits for what they saw: {step: moment} of each."""
    command = [sys.executable, str(AUDIENCE), str(port), game, room, str(count), str(steps)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield lambda: json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def begun(port, game, seats, tick_ms, **settings):
    """(socket, room) of a match that waits for its crowd."""
    socket = Socket(port, game=game)
    socket.send(type="start", seats=seats, tick_ms=tick_ms, paused=True, **settings)
    return socket, socket.hear("room")["room"]


@pytest.mark.nightly
def test_a_hundred_spectators_and_three_matches_need_less_than_a_core(corner, tmp_path):
    """A hundred watch a fight at its own pace while a second one and a car match in real time go on beside it."""
    with served(corner) as (port, pid):
        fight, room = begun(port, "nh", ["model:GeneralizedNh"] * 2, 600, settings={"builds": ["MAXED"]}, seed=4)
        second, second_room = begun(port, "nh", ["model:GeneralizedNh"] * 2, 600, seed=5)
        cars, cars_room = begun(port, "rocket_league", ["bot:chaser"] * 2, 67, seed=6)
        steps = {"nh": 40, "rocket_league": 300}
        with (
            crowd(port, "nh", room, 100, steps["nh"]) as seen,
            crowd(port, "nh", second_room, 5, steps["nh"]) as second_seen,
            crowd(port, "rocket_league", cars_room, 5, steps["rocket_league"]) as cars_seen,
        ):
            before, began = process_cpu_s(pid), time.monotonic()
            for socket, tick_ms in ((fight, 600), (second, 600), (cars, 67)):
                socket.send(type="pace", tick_ms=tick_ms, paused=False)
            watched, beside, driven = seen(), second_seen(), cars_seen()
            spent, took = process_cpu_s(pid) - before, time.monotonic() - began
        for socket in (fight, second, cars):
            socket.close()
    print(f"{spent:.2f} s of processor time in {took:.1f} s: {spent / took:.3f} of a core")
    for audience in (watched, beside, driven):
        last = min(max(map(int, one)) for one in audience)
        assert last >= 20 and all({str(n) for n in range(last)} <= set(one) for one in audience), "nobody missed a step"
    assert len(watched) == 100 and spent / took < 1.0


@pytest.mark.nightly
def test_a_spectator_who_does_not_read_is_cut_off_and_the_others_see_everything(corner, tmp_path):
    """What the server keeps for one connection is bounded, however long the match goes on."""
    with Ringside("nh", corner, None, unsent_bytes=200_000) as ring:
        socket, room = begun(ring.port, "nh", ["model:GeneralizedNh"] * 2, 16)
        deaf = Socket(ring.port, game="nh")
        deaf._socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        deaf.send(type="watch", room=room)
        with crowd(ring.port, "nh", room, 3, STEPS) as seen:
            socket.send(type="pace", tick_ms=16, paused=False)
            watched = seen()
        assert [len(one) >= 20 for one in watched] == [True] * 3
        sizes = [c._transport.get_write_buffer_size() for r in ring.arena.rooms.values() for c in r._listeners]
        assert max(sizes, default=0) <= 200_000 + 65_536
        deaf.close()
        socket.close()


def delays(ring, spectators):
    """Seconds from the moment a tick is due to its arrival, [spectators × steps], while they all look on."""
    with ring.socket() as socket:
        socket.send(type="start", seats=["model:GeneralizedNh"] * 2, tick_ms=TICK_MS, paused=True)
        room = ring.arena.rooms[socket.hear("room")["room"]]
        with crowd(ring.port, ring.game, room.id, spectators, STEPS) as watched:
            socket.send(type="pace", tick_ms=TICK_MS, paused=False)
            seen = watched()
        due = {timing.step: timing.due_s for timing in list(room.timing)}
        socket.send(type="leave")
    steps = [step for step in due if step >= 5 and all(str(step) in one for one in seen)]
    assert len(steps) >= 15
    return np.array([[one[str(step)] - due[step] for step in steps] for one in seen])


@pytest.mark.nightly
def test_the_tick_of_a_hundred_is_at_most_twice_as_late_as_that_of_one(fight, monkeypatch):
    """Rounds of one and of a hundred by turns, so that both meet the same machine.

    First in processor time, which others' work does not change, then by the clock, for each of the hundred.
    """
    spent, play = defaultdict(list), Room._play

    async def timed(room):
        before = time.thread_time()
        await play(room)
        spent[len(room._listeners) > 50].append(time.thread_time() - before)

    monkeypatch.setattr(Room, "_play", timed)
    one, many = [], []
    for _ in range(ROUNDS):
        one.append(delays(fight, 1).ravel())
        many.append(delays(fight, 100).ravel())
    cost_one, cost_many = (float(np.median(spent[is_many])) for is_many in (False, True))
    late_one, late_many = (float(np.quantile(np.concatenate(part), 0.99)) for part in (one, many))
    print(f"a tick costs {cost_one * 1000:.2f} ms for one, {cost_many * 1000:.2f} ms for a hundred")
    print(f"p99 of one {late_one * 1000:.1f} ms, of each of a hundred {late_many * 1000:.1f} ms")
    assert cost_many <= 2 * cost_one
    assert late_many <= 2 * late_one
