"""How many VGC decisions a second are learned from, and what they cost: Node, acting, learning.

`python benchmarks/vgc_train_speed.py [rollouts] [train flags]`, such as `6 --preset vgc/self-play`. Everything is
counted in CPU-seconds of the whole process tree, so that a busy machine does not blur it; two rollouts warm up.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from pvp_ml.cluster.local import LocalShards
from pvp_ml.match import Live
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.learning import Learning
from pvp_ml.run.trainer import blueprint
from pvp_ml.selfplay.plans import LineupMix

WARM_UP = 2


def main(rollouts: int, flags: list[str]) -> dict:
    torch.set_num_threads(1)
    preset = flags[flags.index("--preset") + 1] if "--preset" in flags else "vgc/self-play"
    rest = [word for i, word in enumerate(flags) if word != "--preset" and (i == 0 or flags[i - 1] != "--preset")]
    config = load_config(preset, [*rest, "--run.shards", "1", "--env.workers", "1"], Path.cwd())
    shards = LocalShards(blueprint(config), LineupMix(((1.0, (Live("main"), Live("main"))),)), "members")
    learning = Learning(shards)
    shards.initialise()
    progress = Progress(total_steps=10**9)
    game = shards.own.collector.game
    spent = {"node": 0.0, "act": 0.0, "learn": 0.0}
    rows = wall = 0.0
    try:
        for i in range(rollouts + WARM_UP):
            node, began, clock = _node(game), time.process_time(), time.monotonic()
            learning.collect(progress)
            collected, node_after = time.process_time(), _node(game)
            metrics = learning.learn(progress)
            progress = replace(progress, steps=progress.steps + learning.steps_per_rollout, rollouts=i + 1)
            if i >= WARM_UP:
                rows += metrics["main"]["ppo/rows"]
                wall += time.monotonic() - clock
                spent["node"] += node_after - node
                spent["act"] += collected - began
                spent["learn"] += time.process_time() - collected
    finally:
        shards.close()
    per_cpu_s = rows / sum(spent.values())
    return {
        "metric": "vgc/learned_decisions_per_cpu_s", "value": round(per_cpu_s, 1), "decisions": rows,
        "two_free_cores_per_s": round(2 * per_cpu_s), "wall_per_s": round(rows / wall, 1),
        "ms_a_decision": {part: round(1000 * seconds / rows, 3) for part, seconds in spent.items()},
        "weights": learning.trainees["main"].policy.size,
    }  # fmt: skip


def _node(game) -> float:
    return sum(worker["cpu_s"] for worker in game.stats())


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 4, sys.argv[2:]), indent=1))
