"""Speed of collection: game steps and a policy's forward pass, in agent-steps per CPU-second of this process."""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.match import Live, MatchPlan, StepBuffers

WARM_UP_STEPS = 20  # an arena's first step costs 100 times a later one
PLANS_AHEAD = 4
RLGYM_LIKE = {"observation": "default", "actions": "rlgym", "rewards": ("goal", "touch"), "tick_skip": 8}


class Net:
    """A plain multi-layer perceptron in float32; rows in, sampled choices out."""

    def __init__(self, sizes: tuple[int, ...], rng: np.random.Generator) -> None:
        pairs = itertools.pairwise(sizes)
        self._weights = [(rng.normal(size=pair) / np.sqrt(pair[0])).astype(np.float32) for pair in pairs]
        self._rng = rng

    def choose(self, rows: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.int64]:
        """Sample a choice per row [N,D] → [N] with Gumbel noise."""
        for weights in self._weights[:-1]:
            rows = np.maximum(rows @ weights, 0.0)
        logits = rows @ self._weights[-1]
        noise = self._rng.random(logits.shape, np.float32)
        scores = logits - np.log(-np.log(noise + 1e-9) + 1e-9)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        return np.asarray(scores.argmax(1))


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured."""

    mode: str
    matches: int
    agent_steps: int
    cpu_s: float
    wall_s: float
    game_cpu_s: float
    agent_steps_per_cpu_s: float
    game_agent_steps_per_cpu_s: float
    meshes: str


def measure(
    config: RocketLeagueConfig, matches: int = 64, cpu_s: float = 8.0, hidden: tuple[int, ...] = (256,) * 3
) -> Speed:
    """Collect for about that many CPU-seconds with one head's random net; use a table, not `actions: heads`."""
    game = RocketLeagueGame(config, matches)
    spec = game.spec
    net = Net((spec.obs_size, *hidden, spec.mask_size), np.random.default_rng(0))
    out = StepBuffers.allocate(spec, matches)
    lineup = tuple(Live() for _ in range(spec.seats))
    serial = matches * PLANS_AHEAD
    game.queue([MatchPlan(i, i, lineup) for i in range(serial)])
    game.start(out)
    steps, game_s, began, wall = -WARM_UP_STEPS, 0.0, time.process_time(), time.perf_counter()
    while steps < 1 or time.process_time() - began < cpu_s:
        chosen = net.choose(out.obs.reshape(-1, spec.obs_size), out.mask.reshape(-1, spec.mask_size))
        actions = chosen.reshape(matches, spec.seats, 1).astype(np.int32)
        before = time.process_time()
        game.step(actions, out)
        game_s += time.process_time() - before
        ended = int((out.ended | out.truncated).sum())
        game.queue([MatchPlan(serial + i, serial + i, lineup) for i in range(ended)])
        serial += ended
        steps += 1
        if steps == 0:
            game_s, began, wall = 0.0, time.process_time(), time.perf_counter()
    spent, agent_steps = time.process_time() - began, steps * matches * spec.seats
    game.close()
    return Speed(
        mode=config.mode,
        matches=matches,
        agent_steps=agent_steps,
        cpu_s=round(spent, 3),
        wall_s=round(time.perf_counter() - wall, 3),
        game_cpu_s=round(game_s, 3),
        agent_steps_per_cpu_s=round(agent_steps / spent, 1),
        game_agent_steps_per_cpu_s=round(agent_steps / game_s, 1),
        meshes=dict(spec.parameters)["meshes"],  # type: ignore[arg-type]
    )


def main() -> None:
    """`python -m pvp_ml.games.rocket_league.bench '{"mode": "1v1"}' [matches] [cpu_s]`: one JSON line."""
    settings = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    matches = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    cpu_s = float(sys.argv[3]) if len(sys.argv) > 3 else 8.0
    speed = measure(RocketLeagueConfig.model_validate({**RLGYM_LIKE, **settings}), matches, cpu_s)
    print(json.dumps(asdict(speed)))


if __name__ == "__main__":
    main()
