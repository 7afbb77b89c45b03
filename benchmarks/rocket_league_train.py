"""Our side of `rocket_league_vs_rlgym.py --learn`: the game and the learner of `rocket_ppo.py` in one process.

python benchmarks/rocket_league_train.py '{"mode": "1v1"}' [matches] [cpu_s]
"""

import json
import sys
import time

import numpy as np
from rocket_ppo import Ppo

from pvp_ml.games.rocket_league.bench import PLANS_AHEAD, RLGYM_LIKE, WARM_UP_STEPS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.match import Live, MatchPlan, StepBuffers


def main():
    settings = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    matches = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    cpu_s = float(sys.argv[3]) if len(sys.argv) > 3 else 8.0
    config = RocketLeagueConfig.model_validate({**RLGYM_LIKE, **settings})
    game = RocketLeagueGame(config, matches)
    spec, out = game.spec, StepBuffers.allocate(game.spec, matches)
    learner = Ppo(matches * spec.seats, spec.obs_size, spec.mask_size, masked=True)
    lineup, serial = tuple(Live() for _ in range(spec.seats)), matches * PLANS_AHEAD
    game.queue([MatchPlan(i, i, lineup) for i in range(serial)])
    game.start(out)
    steps, game_s, began = -WARM_UP_STEPS, 0.0, time.process_time()
    while steps < 1 or time.process_time() - began < cpu_s:
        mask = out.mask.reshape(-1, spec.mask_size).copy()
        mask[~mask.any(1), 0] = True  # a demolished car decides nothing
        chosen = learner.act(out.obs.reshape(-1, spec.obs_size).copy(), mask)
        before = time.process_time()
        game.step(chosen.reshape(matches, spec.seats, 1).astype(np.int32), out)
        game_s += time.process_time() - before
        over = out.ended | out.truncated
        learner.pay(out.reward.sum(2).reshape(-1), np.repeat(over, spec.seats))
        ended = int(over.sum())
        game.queue([MatchPlan(serial + i, serial + i, lineup) for i in range(ended)])
        serial, steps = serial + ended, steps + 1
        if steps == 0:
            game_s, began = 0.0, time.process_time()
    spent, agent_steps = time.process_time() - began, steps * matches * spec.seats
    record = {
        "mode": config.mode,
        "matches": matches,
        "agent_steps": agent_steps,
        "cpu_s": round(spent, 3),
        "game_cpu_s": round(game_s, 3),
        "agent_steps_per_cpu_s": round(agent_steps / spent, 1),
        "game_agent_steps_per_cpu_s": round(agent_steps / game_s, 1),
        "meshes": dict(spec.parameters)["meshes"],
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
