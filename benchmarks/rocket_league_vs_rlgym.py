"""Interleaved comparison of speed: ours and rlgym v2, alternately, one process at a time.

    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV [--mode 1v1] [--repeats 5] [--cpu-s 6]
    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV --learn      # end to end, torch in that venv

Prints one JSON record. A ratio is ours / theirs of the same repeat, so that a neighbour's load hits both. Both sides
play 64 matches side by side by default (best in short tries: ours 128, rlgym 32). With --learn both sides
learn with `rocket_ppo.py`: the same network, batch and epochs.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COLLECT = "collection: game + 256x3 numpy policy"
LEARN = "end to end: game + PPO in torch, shared trunk 256x3, one epoch"


def run(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=900)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("rlgym_python")
    options.add_argument("--mode", default="1v1")
    options.add_argument("--matches", type=int, default=64)
    options.add_argument("--rlgym-matches", type=int, default=64)
    options.add_argument("--learn", action="store_true")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--cpu-s", type=float, default=6.0)
    options.add_argument("--meshes", default="auto")
    chosen = options.parse_args()
    settings = json.dumps({"mode": chosen.mode, "meshes": chosen.meshes})
    ours_sizes, theirs_sizes = ([str(m), str(chosen.cpu_s)] for m in (chosen.matches, chosen.rlgym_matches))
    ours = [str(HERE / "rocket_league_train.py")] if chosen.learn else ["-m", "pvp_ml.games.rocket_league.bench"]
    ours_command = [sys.executable, *ours, settings, *ours_sizes]
    theirs_command = [chosen.rlgym_python, str(HERE / "baselines" / "rlgym_v2_collect.py"), chosen.mode, *theirs_sizes]
    theirs_command += ["learn"] if chosen.learn else []
    pairs = [(run(ours_command), run(theirs_command)) for _ in range(chosen.repeats)]
    speeds = {side: [pair[i]["agent_steps_per_cpu_s"] for pair in pairs] for i, side in enumerate(("ours", "rlgym_v2"))}
    ratios = [round(a / b, 2) for a, b in zip(speeds["ours"], speeds["rlgym_v2"], strict=True)]
    game = [round(a["game_agent_steps_per_cpu_s"] / b["game_agent_steps_per_cpu_s"], 2) for a, b in pairs]
    print(
        json.dumps(
            {
                "what": f"{LEARN if chosen.learn else COLLECT}, agent-steps per CPU-second, interleaved",
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
                "mode": chosen.mode,
                "matches": {"ours": chosen.matches, "rlgym_v2": chosen.rlgym_matches},
                "meshes": pairs[0][0]["meshes"],
                "agent_steps_per_cpu_s": speeds,
                "ratio": ratios,
                "median_ratio": statistics.median(ratios),
                "ratio_of_the_game_alone": game,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
