"""Spectators cost the players nothing that they could notice."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TICK_MS = 100
ROUNDS, STEPS = 3, 60


def delays(ring, spectators):
    """Seconds from the moment a tick is due to its arrival, [spectators × steps], while they all look on."""
    with ring.socket() as socket:
        socket.send(type="start", seats=["model:Stones"] * 2 if ring.arena.spec.name == "connect4" else
                    ["model:GeneralizedNh"] * 2, tick_ms=TICK_MS, paused=True)  # fmt: skip
        room = ring.arena.rooms[socket.hear("room")["room"]]
        command = [sys.executable, str(Path(__file__).parent / "audience.py"), str(ring.port), room.id]
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
    return np.array([[one[str(step)] - due[step] for step in range(5, STEPS + 1)] for one in seen])


@pytest.mark.nightly
def test_the_tick_of_a_hundred_is_at_most_twice_as_late_as_that_of_one(fight):
    """Rounds of one and of a hundred by turns, so that both meet the same machine."""
    one, many = [], []
    for _ in range(ROUNDS):
        one.append(delays(fight, 1).ravel())
        many.append(delays(fight, 100).ravel())
    late_one, late_many = (float(np.quantile(np.concatenate(part), 0.99)) for part in (one, many))
    print(f"p99 of one {late_one * 1000:.1f} ms, of each of a hundred {late_many * 1000:.1f} ms")
    assert late_many <= 2 * late_one
