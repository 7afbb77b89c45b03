"""How fast the fights run: random legal play, all builds, gear and fight types drawn, everything written."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pvp_ml.games.legal import Legality
from pvp_ml.games.osrs.fights import NH_BUILDS, NhConfig
from pvp_ml.games.registry import GameType, find
from pvp_ml.match import External, MatchPlan, StepBuffers


def bench_sim(name: str = "nh", matches: int = 1024, steps: int = 200, seed: int = 1) -> dict[str, Any]:
    """Agent-steps per CPU-second of `step` alone (choosing the actions is not counted), after a warm-up of 50 steps.

    Also the CPU-seconds until the first step was done: compiling on a fresh cache, loading on a warm one.
    """
    kind = find(name)
    began = time.process_time()
    game = kind.build(_settings(kind), matches)
    spec = game.spec
    out = StepBuffers.allocate(spec, matches)
    plans = 1 + (steps + 50) // 20
    lineup = (External("a"), External("b"))
    game.queue([MatchPlan(i, seed * 1_000_003 + i, lineup) for i in range(plans * matches)])  # type: ignore[union-attr]
    game.start(out)  # type: ignore[union-attr, call-arg]
    legality, rng = Legality(spec), np.random.default_rng(seed)
    costs, endings, ready_s = [], 0, 0.0
    for step in range(50 + steps):
        draws = rng.random((2 * matches, len(spec.heads)))
        actions = legality.choose(out.mask.reshape(2 * matches, -1), draws).reshape(matches, 2, -1)
        before = time.process_time()
        game.step(actions, out)  # type: ignore[union-attr]
        cost = time.process_time() - before
        if step == 0:
            ready_s = time.process_time() - began
        if step >= 50:
            costs.append(cost)
            endings += int((out.ended | out.truncated).sum())
    agent_steps = 2 * matches
    return {
        "game": name,
        "matches": matches,
        "steps": steps,
        "agent_steps_per_cpu_s": round(agent_steps * steps / sum(costs)),
        "agent_steps_per_cpu_s_best_step": round(agent_steps / min(costs)),
        "endings": endings,
        "ready_cpu_s": round(ready_s, 2),
    }


def _settings(kind: GameType) -> Any:
    return kind.config(builds=NH_BUILDS) if issubclass(kind.config, NhConfig) else kind.config()
