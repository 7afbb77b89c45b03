"""Fights on a server with one tick for all, which waits for every agent: nobody may stay behind or fall silent."""

import json
import logging
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from old_server import CONTRACT
from remote_playing import receive, record, serving

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import Bot, External, Fault, MatchPlan, StepBuffers

A, B, BOT = External("a"), External("b"), Bot("nh-bot")
MODES = [{"is_lock_step": False}, {"is_lock_step": True}]


def remote(port, matches, **settings):
    kind = registry.find("nh")
    config = {"remote": f"localhost:{port}", "max_ticks": 12, "remote_timeout_s": 5.0, **settings}
    return kind.build(registry.configure(kind, config), matches)


def finish(game, plans):
    try:
        return record(game, plans)
    finally:
        game.close()


@pytest.mark.parametrize("limits", MODES)
def test_agents_of_ours_find_each_other(limits):
    """The server looks opponents up by the name that it shows; one that waits for an unknown name waits for ever."""
    with serving(**limits) as server:
        recorded = finish(remote(server.port, 3), [MatchPlan(n, n, (A, B)) for n in range(7)])
        assert all(len(steps) == 13 and not steps[-1]["faults"] for steps in recorded.values())
        assert not server.world.agents


@pytest.mark.parametrize("limits", MODES)
def test_the_other_seat_against_the_servers_opponent(limits):
    """The agent that has no seat in the next match must leave, or the server waits for it."""
    lineups = [(A, BOT), (BOT, A), (A, B), (BOT, A), (A, BOT), (A, B)]
    with serving(**limits) as server:
        game = remote(server.port, 2)
        recorded = finish(game, [MatchPlan(n, n, lineups[n % 6]) for n in range(12)])
        assert all(len(steps) == 13 and not steps[-1]["faults"] for steps in recorded.values())
        assert not game.voids and not server.world.agents


@pytest.mark.parametrize("limits", MODES)
def test_both_ways_to_serve_play_the_same_fights(limits):
    plans = [MatchPlan(n, 7 + n, (A, B)) for n in range(3)]
    kind = registry.find("nh")
    here = record(kind.build(registry.configure(kind, {"max_ticks": 12}), 2), plans)
    with serving(**limits) as server:
        there = finish(remote(server.port, 2), plans)
    for serial, steps in here.items():
        for ours, theirs in zip(steps[:-1], there[serial][:-1], strict=True):
            assert np.allclose(ours["obs"], theirs["obs"], atol=1e-6) and (ours["mask"] == theirs["mask"]).all()


def test_a_caller_that_thinks_for_longer_than_the_deadline_loses_nothing():
    """In lock step a step waits for the rows that the caller holds; that is not the server's fault."""
    with serving(is_lock_step=True) as server:
        game = remote(server.port, 2, remote_timeout_s=0.6)
        out = StepBuffers.allocate(game.spec, 2)
        game.queue([MatchPlan(n, n, (A, BOT)) for n in range(2)])
        game.start()
        count = 0
        while count < 2:
            count += game.recv(1, 5.0, out)
        game.send(np.array([0]), np.zeros((1, 2, 12), np.int32))
        assert game.recv(1, 0.1, out) == 0
        time.sleep(0.8)
        game.send(np.array([1]), np.zeros((1, 2, 12), np.int32))
        rows = 0
        while rows < 2:
            rows += game.recv(1, 5.0, out)
            assert not out.faults.any()
        game.close()
        assert not game.voids


def test_after_a_lost_server_nobody_stays_behind(caplog):
    """A server that goes away and comes back: the failure is named, its matches are void, the others are played."""
    caplog.set_level(logging.WARNING)
    with serving(is_lock_step=True) as server:
        port = server.port
        game = remote(port, 2)
        out = StepBuffers.allocate(game.spec, 2)
        game.queue([MatchPlan(n, n, (A, B)) for n in range(4)])
        game.start()
        receive(game, 2)
        game.send(np.array([0]), np.zeros((1, 2, 12), np.int32))  # the tick waits for the other row
    began = time.monotonic()
    while not game.voids[Fault.CRASHED]:
        game.recv(1, 0.2, out)
        assert time.monotonic() - began < 60
    game.send(np.array([1]), np.zeros((1, 2, 12), np.int32))
    assert game.voids[Fault.CRASHED] == 2
    assert any("a match is void" in record.getMessage() for record in caplog.records)
    with serving(port=port, is_lock_step=True) as server:
        served = 0
        while served < 2:
            for i in range(game.recv(1, 10.0, out)):
                served += out.serial[i] >= 2
        game.close()
        assert not server.world.agents


def test_a_server_of_another_game_is_named(tmp_path):
    """Wrong lengths: an error within seconds that says which, not silence."""
    (tmp_path / "Duel.json").write_text(json.dumps(CONTRACT))
    kind = registry.find("remote")
    with serving() as server:
        settings = {
            "contract": str(tmp_path / "Duel.json"),
            "agent_type": "NhEnv",
            "remote": f"localhost:{server.port}",
        }
        game = kind.build(registry.configure(kind, settings), 1)
        out = StepBuffers.allocate(game.spec, 1)
        game.queue([MatchPlan(0, 0, (A, Bot("baseline")))])
        game.start()
        began = time.monotonic()
        with pytest.raises(UserError, match="of no use: it answers what cannot be read: action masks of"):
            while time.monotonic() - began < 60:
                game.recv(1, 0.5, out)
        game.close()


@pytest.mark.parametrize("limits", MODES)
def test_a_caller_that_asks_for_more_rows_than_can_be_ready_is_given_those_that_are(limits):
    """The server answers nobody before the rows that are ready have acted, so waiting for more of them is for ever."""
    with serving(**limits) as server:
        game = remote(server.port, 4)
        out = StepBuffers.allocate(game.spec, 4)
        game.queue([MatchPlan(n, n, (A, B)) for n in range(2)])
        game.start()
        began, stopped = time.monotonic(), 0
        while stopped < 2:
            count = game.recv(3, 30.0, out)
            assert count and not out.faults[:count].any()
            stopped += int(out.truncated[:count].sum())
            live = out.match[:count][out.serial[:count] >= 0].copy()
            game.send(live, np.zeros((len(live), 2, 12), np.int32))
        game.close()
        assert not game.voids and not server.world.agents
        assert time.monotonic() - began < 30  # one recv that waits for a third row takes as long
