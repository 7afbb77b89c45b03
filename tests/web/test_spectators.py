"""Spectators cost the players nothing that they could notice."""

import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.web.room import Room

TICK_MS = 100
ROUNDS, STEPS = 3, 60


def delays(ring, spectators):
    """Seconds from the moment a tick is due to its arrival, [spectators × steps], while they all look on."""
    with ring.socket() as socket:
        socket.send(type="start", seats=["model:GeneralizedNh"] * 2, tick_ms=TICK_MS, paused=True)
        room = ring.arena.rooms[socket.hear("room")["room"]]
        command = [sys.executable, str(Path(__file__).parent / "audience.py"), str(ring.port), ring.game, room.id]
        crowd = subprocess.Popen([*command, str(spectators), str(STEPS)], stdout=subprocess.PIPE, text=True)
        try:
            assert crowd.stdout.readline() == "ready\n"
            socket.send(type="pace", tick_ms=TICK_MS, paused=False)
            seen = json.loads(crowd.stdout.readline())
        finally:
            crowd.kill()
            crowd.communicate()
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

    def timed(room):
        before = time.thread_time()
        play(room)
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
