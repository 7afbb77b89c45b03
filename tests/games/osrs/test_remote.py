"""The external server as a game: the same matches as in process, and every way in which it can fail."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from remote_playing import record, serving

from pvp_ml.games import registry
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.conformance.promises import PROMISES
from pvp_ml.games.osrs.signals import SIGNALS
from pvp_ml.match import Bot, External, MatchPlan

AGENTS = (External("a"), External("b"))
UNSENT = [i for i, signal in enumerate(SIGNALS) if signal.name == "specials_used"]


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


def plans(count, lineup=AGENTS, scenarios=("default",)):
    return [MatchPlan(n, 1000 + 7 * n, lineup, scenarios[n % len(scenarios)]) for n in range(count)]


def both_ways(server, name, count, rows, lineup=AGENTS, scenarios=("default",), **settings):
    kind = registry.find(name)
    here = kind.build(registry.configure(kind, settings), rows)
    remote = {**settings, "remote": f"127.0.0.1:{server.port}"}
    there = kind.build(registry.configure(kind, remote), rows)
    try:
        wanted = record(here, plans(count, lineup, scenarios))
        got = record(there, plans(count, lineup, scenarios))
    finally:
        there.close()
    return wanted, got


def same(wanted, got, seats=(0, 1)):
    assert {n: len(steps) for n, steps in wanted.items()} == {n: len(steps) for n, steps in got.items()}
    for serial, steps in wanted.items():
        for t, (a, b) in enumerate(zip(steps, got[serial], strict=True)):
            assert a.keys() == b.keys(), (serial, t)
            for key in a:
                x, y = a[key], b[key]
                if key == "signals":
                    x = np.delete(x, UNSENT, axis=1)
                    y = np.delete(y, UNSENT, axis=1)
                if key in ("signals", "reward"):
                    x, y = x[list(seats)], y[list(seats)]
                assert np.array_equal(x, y), (serial, t, key, np.argwhere(x != y)[:5].tolist())


SCENARIOS = ("default", "build-med", "lms", "pvp-arena", "reference-defaults", "food-race")


def test_ten_fights_are_those_in_process(server):
    wanted, got = both_ways(server, "nh", 10, 3, scenarios=SCENARIOS, max_ticks=400)
    same(wanted, got)
    assert sum(bool(steps[-1]["ended"]) for steps in wanted.values()) >= 3


def test_a_truncated_fight_is_that_in_process(server):
    wanted, got = both_ways(server, "nh", 3, 2, max_ticks=7)
    same(wanted, got)
    assert all(steps[-1]["truncated"] and len(steps) == 8 for steps in wanted.values())


def test_fights_against_the_scripted_opponent_are_those_in_process(server):
    for lineup in ((External("a"), Bot("nh-bot")), (Bot("nh-bot"), External("a"))):
        ours = [0] if isinstance(lineup[1], Bot) else [1]
        wanted, got = both_ways(server, "nh", 2, 2, lineup, max_ticks=120)
        same(wanted, got, ours)


def test_dharok_fights_are_those_in_process(server):
    wanted, got = both_ways(server, "dharok", 2, 2, scenarios=("default", "food-race"), max_ticks=150)
    same(wanted, got)


# Bots never fight each other over the protocol, and rows become free in the order of the server's answers.
UNPROMISED = {"bots play", "queue is served in order", "seats are symmetric"}


def test_a_remote_game_keeps_the_promises_of_a_game(server):
    kind = registry.find("dharok")
    config = registry.configure(kind, {"remote": f"127.0.0.1:{server.port}", "max_ticks": 20})
    names = {promise.__name__.replace("_", " ") for promise in PROMISES} - UNPROMISED
    report = check_game(kind, config, matches=2, most_steps=400, only=names)
    assert report.passed, report.text()


@pytest.mark.nightly
def test_two_hundred_fights_are_those_in_process(server):
    wanted, got = both_ways(server, "nh", 200, 20, scenarios=SCENARIOS)
    same(wanted, got)
