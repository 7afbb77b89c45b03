"""The state machine of the simulation server without sockets: random traffic, and what must hold through it."""

import json
import random

import msgspec
import numpy as np
import pytest

from pvp_ml.games.osrs.remote.wire import read_envelope
from pvp_ml.games.osrs.sim_server.fights import GamePool
from pvp_ml.games.osrs.sim_server.world import State, World, WorldLimits

NAMES = ["a", "b", "c", "d", "", "baseline", "x" * 65]
TARGETS = ["a", "b", "c", "d", "baseline", "attacker", "nobody", 7, None]
PARAMS = [
    None, {}, {"episodeId": "5/0"}, {"episodeId": "5/1"}, {"accountBuild": "MED"}, {"accountBuild": {}},
    {"allowSmite": 3},
    {"randomizeBuild": True, "randomBuildOptions": []}, {"randomizeBuild": True, "randomBuildOptions": ["MED", 3]},
    {"fightType": ["LMS"]}, {"fightType": "LMS"}, {"episodeId": ["5/0"]}, [], {"randomizeGear": None},
]  # fmt: skip
ACTIONS = [
    [0] * 11 + [1],
    [0] * 12,
    [2, 0, 1, 0] + [0] * 8,
    [0] * 6,
    [1] * 12,
    [10**30] * 12,
    [-1] * 12,
    "x",
    None,
    [0.5] * 12,
]


def world(**limits):
    return World(WorldLimits(**limits), GamePool(), np.random.default_rng(0))


def random_request(rng):
    action = rng.choice(["login", "reset", "reset", "step", "step", "step", "logout", "debug"])
    bodies = {
        "login": {"agentType": rng.choice(["NhEnv", "NhEnv", "DharokEnv", "Chess", 4])},
        "reset": {"target": rng.choice(TARGETS), "training": rng.choice([True, False, 1]), "deathMatch": True,
                  "maintainTargetEnvironment": rng.random() < 0.3, "resetParams": rng.choice(PARAMS)},
        "step": {"action": rng.choice(ACTIONS)},
    }  # fmt: skip
    return {"action": action, "body": bodies.get(action), "meta": {"id": rng.choice(NAMES)}}


@pytest.mark.parametrize("tick_s", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_every_request_is_answered_at_most_once_and_nobody_is_forgotten(seed, tick_s):
    rng, there = random.Random(seed), world(deadline_s=5.0, orphan_s=2.0, silent_s=50.0, tick_s=tick_s)
    answers, now = {}, 0.0
    owners = [object() for _ in range(3)]
    for n in range(800):
        now += rng.random() * 0.4
        try:
            request = read_envelope(json.dumps(random_request(rng)).encode())
        except msgspec.DecodeError:
            continue
        answers[n] = []
        there.handle(request, rng.choice(owners), now, answers[n].append)
        if n % 10 == 0:
            there.expire(now)
        if tick_s and n % 3 == 0:
            there.play_ticks()
        if rng.random() < 0.01:
            there.orphan(rng.choice(owners), now)
        for agent in there.agents.values():
            assert (agent.fight is not None) == (agent.state is State.STEPPING)
            assert (agent.last is not None) == (agent.state is State.TERMINAL)
            assert agent.rival is None or (agent.rival.rival is agent and agent.rival.fight is agent.fight)
            assert (agent.waiting == "reset") == (agent.state is State.PENDING_TARGET_MATCH)
            assert bool(agent.waiting) == (agent.reply is not None)
    for agent in list(there.agents.values()):
        there.remove(agent, "the end")
    assert there.agents == {} and all(len(given) <= 1 for given in answers.values())
    replies = [json.loads(given[0]) for given in answers.values() if given]
    assert len(replies) > 0.9 * len(answers)
    assert sum("body" in line for line in replies) > 50 and sum("error" in line for line in replies) > 50


def test_a_body_that_is_not_text_is_a_mistake_like_any_other():
    there, given = world(), []
    there.handle(
        read_envelope(b'{"action":"login","body":{"agentType":"\xff"},"meta":{"id":"a"}}'), None, 0.0, given.append
    )
    assert json.loads(given[0])["error"] is True
