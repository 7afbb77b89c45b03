"""Baseline: collection with rlgym v2's own environment, in a venv of its own (it pins numpy < 2).

    python -m venv V && V/bin/pip install rlgym-rocket-league==2.0.1 rlgym==2.0.1 rocketsim
    V/bin/python benchmarks/baselines/rlgym_v2_collect.py 1v1 64 8
    V/bin/python benchmarks/baselines/rlgym_v2_collect.py 1v1 64 8 learn      # needs torch in that venv

The same net, action table (90 rows), tick skip (8), one-tick delay, observation (172 numbers), rewards (goal, touch)
and ends (goal, 15 s without touch, 300 s) as `pvp_ml.games.rocket_league.bench`; many environments in one process with
one forward pass over all of them, which is kinder to it than its usual one process per environment. With `learn` the
choices come from the learner of `benchmarks/rocket_ppo.py`, which then learns from them.
"""

import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np
from rlgym.api import RLGym
from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction
from rlgym.rocket_league.done_conditions import (
    AnyCondition,
    GoalCondition,
    NoTouchTimeoutCondition,
    TimeoutCondition,
)
from rlgym.rocket_league.obs_builders import DefaultObs
from rlgym.rocket_league.reward_functions import CombinedReward, GoalReward, TouchReward
from rlgym.rocket_league.sim import RocketSimEngine
from rlgym.rocket_league.state_mutators import FixedTeamSizeMutator, KickoffMutator, MutatorSequence

WARM_UP_STEPS = 20


def environment(blue, orange, observation=DefaultObs):
    return RLGym(
        state_mutator=MutatorSequence(FixedTeamSizeMutator(blue, orange), KickoffMutator()),
        obs_builder=observation(zero_padding=3),
        action_parser=RepeatAction(LookupTableAction(), repeats=8),
        reward_fn=CombinedReward((GoalReward(), 1.0), (TouchReward(), 1.0)),
        termination_cond=GoalCondition(),
        truncation_cond=AnyCondition(NoTouchTimeoutCondition(15), TimeoutCondition(300)),
        transition_engine=RocketSimEngine(),
    )


class Net:
    def __init__(self, sizes, rng):
        pairs = list(itertools.pairwise(sizes))
        self.weights = [(rng.normal(size=p) / np.sqrt(p[0])).astype(np.float32) for p in pairs]
        self.rng = rng

    def choose(self, rows):
        for weights in self.weights[:-1]:
            rows = np.maximum(rows @ weights, 0.0)
        logits = rows @ self.weights[-1]
        noise = self.rng.random(logits.shape, np.float32)
        return (logits - np.log(-np.log(noise + 1e-9) + 1e-9)).argmax(1)


def main():
    mode, count, cpu_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    learns = sys.argv[4:] == ["learn"]
    blue, orange = (int(n) for n in mode.split("v"))
    envs = [environment(blue, orange) for _ in range(count)]
    seen = [env.reset() for env in envs]
    seats = blue + orange
    inputs = len(next(iter(seen[0].values())))
    if learns:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from rocket_ppo import Ppo

        learner = Ppo(count * seats, inputs, 90, masked=False)
        rewards, done = np.zeros((count, seats), np.float32), np.zeros((count, seats), np.float32)
    net = Net((inputs, 256, 256, 256, 90), np.random.default_rng(0))
    steps, env_s, began, wall = -WARM_UP_STEPS, 0.0, time.process_time(), time.perf_counter()
    while steps < 1 or time.process_time() - began < cpu_s:
        rows = np.array([obs for one in seen for obs in one.values()], np.float32)
        chosen = (learner.act(rows) if learns else net.choose(rows)).reshape(count, seats, 1)
        before = time.process_time()
        for i, env in enumerate(envs):
            actions = dict(zip(seen[i], chosen[i], strict=True))
            obs, paid, terminated, truncated = env.step(actions)
            over = any(terminated.values()) or any(truncated.values())
            seen[i] = env.reset() if over else obs
            if learns:
                rewards[i], done[i] = list(paid.values()), over
        env_s += time.process_time() - before
        if learns:
            learner.pay(rewards.reshape(-1), done.reshape(-1))
        steps += 1
        if steps == 0:
            env_s, began, wall = 0.0, time.process_time(), time.perf_counter()
    spent, agent_steps = time.process_time() - began, steps * count * seats
    print(
        json.dumps(
            {
                "mode": mode,
                "matches": count,
                "agent_steps": agent_steps,
                "cpu_s": round(spent, 3),
                "wall_s": round(time.perf_counter() - wall, 3),
                "game_cpu_s": round(env_s, 3),
                "agent_steps_per_cpu_s": round(agent_steps / spent, 1),
                "game_agent_steps_per_cpu_s": round(agent_steps / env_s, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
