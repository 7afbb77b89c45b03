"""Workers that die or stop: found in time, their matches void, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from vgc_playing import plans

from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, Fault, StepBuffers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
DETECT_S = 10.0


def alive(pid):
    """Running, not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Harm:
    """Plays endless random matches and harms a worker now and then."""

    def __init__(self, game, seed=0):
        self.game, self.rng, self.legality = game, np.random.default_rng(seed), Legality(game.spec)
        self.out = StepBuffers.allocate(game.spec, game.matches)
        self.serials = {}
        self.void, self.finished, self.next = [], 0, 1
        self.refill(3 * game.matches)
        game.start()

    def refill(self, count):
        self.game.queue(plans(count, first=self.next))
        self.next += count

    def turn(self, timeout_s=30.0):
        """One receive and send; gives the faults that it reported."""
        count = self.game.recv(1, timeout_s, self.out)
        assert count, "no answer"
        out, found = self.out, []
        self.received = set(self.out.match[:count].tolist())
        for i in range(count):
            row = int(out.match[i])
            if out.faults[i]:
                found.append((row, self.serials[row], Fault(int(out.faults[i]))))
                assert not out.ended[i] and not out.truncated[i]
            self.finished += bool(out.ended[i])
            self.serials[row] = int(out.serial[i])
        self.void += found
        self.refill(sum(bool(out.ended[i] or out.faults[i]) for i in range(count)))
        live = np.flatnonzero(out.serial[:count] != RESTING)
        actions = np.full((len(live), 2, 3), IDLE, np.int32)
        b, s = np.nonzero(out.acting[live])
        actions[b, s] = self.legality.choose(out.mask[live[b], s], self.rng.random((len(b), 3)))
        self.game.send(out.match[live].copy(), actions)
        return found

    def strike(self, number):
        """Signal worker 0 while it plays and go on until a match of its is void; gives the seconds that this took.

        A match that the worker had only just begun to set up begins again instead of being void; then strike again.
        """
        mine = set(range(0, self.game.matches, 2))
        for _ in range(5):
            self.until_seen(mine)
            pid = self.game.pids[0]
            os.kill(pid, number)
            began = time.monotonic()
            lost = self.until_seen(mine)
            took = time.monotonic() - began
            assert {row for row, _, _ in lost} <= mine, "a match of the other worker became void"
            assert not alive(pid) and self.game.pids[0] != pid
            if lost:
                return took
        raise AssertionError("five strikes and nothing void")

    def until_seen(self, rows):
        """Play until one of the rows is received with a live match or a fault; gives the faults of that turn."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = self.turn(60.0)
            if found or rows & {row for row in self.received if self.serials[row] != RESTING}:
                return found
        raise AssertionError("the worker's rows never came back")


def harm(build, number, times, expected):
    game = build(4, workers=2, stall_s=3.0 if times > 5 else 2.0)
    harmed = Harm(game)
    before = set(game.pids)
    times_taken = [harmed.strike(number) for _ in range(times)]
    assert max(times_taken) <= DETECT_S
    assert {fault for _, _, fault in harmed.void} == {expected}
    assert len({serial for _, serial, _ in harmed.void}) == len(harmed.void) >= times
    while harmed.finished < 2:  # the game goes on
        harmed.turn()
    game.close()
    assert not any(alive(pid) for pid in before | set(game.pids))
    return times_taken


def test_five_kills(build):
    harm(build, signal.SIGKILL, 5, Fault.CRASHED)


def test_five_stops(build):
    harm(build, signal.SIGSTOP, 5, Fault.STALLED)


@pytest.mark.nightly
def test_fifty_kills(build):
    harm(build, signal.SIGKILL, 50, Fault.CRASHED)


@pytest.mark.nightly
def test_fifty_stops(build):
    harm(build, signal.SIGSTOP, 50, Fault.STALLED)


def test_the_default_deadline_is_below_the_bar(build):
    from pvp_ml.games.vgc.config import VgcConfig

    assert 1.5 * VgcConfig().stall_s + 1.0 <= DETECT_S  # a worker that stops in the middle of a silence


@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_no_orphan_when_the_program_ends(installation, how):
    script = """
import os, signal, sys
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.game import VgcGame
from pvp_ml.match import External, MatchPlan, StepBuffers
game = VgcGame(VgcConfig(workers=2), 2)
game.queue([MatchPlan(i, i, (External("a"), External("b"))) for i in range(2)])
game.start()
out = StepBuffers.allocate(game.spec, 2)
while game.recv(2, 60, out) < 2: pass
print(*game.pids, flush=True)
if sys.argv[1] == "SIGKILL": os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script, how], capture_output=True, text=True, timeout=120)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(pid) for pid in pids)


def test_a_worker_that_keeps_dying_is_one_clear_line(build, monkeypatch, tmp_path):
    from pvp_ml.games.vgc.node import worker

    broken = tmp_path / "worker.js"
    broken.write_text("console.error('the disk is full'); process.exit(3);")
    monkeypatch.setattr(worker, "SCRIPTS", tmp_path)
    game = build(1)
    game.queue(plans(1))
    game.start()
    with pytest.raises(UserError, match="died 6 times in a row: the disk is full") as caught:
        game.recv(1, 60, StepBuffers.allocate(game.spec, 1))
    assert "pvp-ml game setup vgc" in str(caught.value)


def test_a_battle_that_throws_voids_itself_only(build, monkeypatch):
    game = build(2)
    original = game._book.order

    def order(plan, slot):
        return {**original(plan, slot), **({"teams": []} if plan.serial == 1 else {})}

    monkeypatch.setattr(game._book, "order", order)
    harmed = Harm(game)
    while not harmed.void or not harmed.finished:
        harmed.turn()
    assert harmed.void == [(0, 1, Fault.CRASHED)] and "match 1:" in game.fault_texts[0]
