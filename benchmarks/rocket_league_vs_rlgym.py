"""Interleaved comparison of collection speed: ours and rlgym v2, alternately, one process at a time.

    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV [--mode 1v1] [--repeats 5] [--cpu-s 6]

Prints one JSON record. A ratio is ours / theirs of the same repeat, so that a neighbour's load hits both. Each side
plays as many matches side by side as suit it best (tried: ours 32 to 192, rlgym 8 to 64).
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


def run(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=900)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("rlgym_python")
    options.add_argument("--mode", default="1v1")
    options.add_argument("--matches", type=int, default=128)
    options.add_argument("--rlgym-matches", type=int, default=32)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--cpu-s", type=float, default=6.0)
    options.add_argument("--meshes", default="auto")
    chosen = options.parse_args()
    settings = json.dumps({"mode": chosen.mode, "meshes": chosen.meshes})
    ours_sizes, theirs_sizes = ([str(m), str(chosen.cpu_s)] for m in (chosen.matches, chosen.rlgym_matches))
    ours_command = [sys.executable, "-m", "pvp_ml.games.rocket_league.bench", settings, *ours_sizes]
    theirs_command = [chosen.rlgym_python, str(HERE / "baselines" / "rlgym_v2_collect.py"), chosen.mode, *theirs_sizes]
    pairs = [(run(ours_command), run(theirs_command)) for _ in range(chosen.repeats)]
    speeds = {side: [pair[i]["agent_steps_per_cpu_s"] for pair in pairs] for i, side in enumerate(("ours", "rlgym_v2"))}
    ratios = [round(a / b, 2) for a, b in zip(speeds["ours"], speeds["rlgym_v2"], strict=True)]
    game = [round(a["game_agent_steps_per_cpu_s"] / b["game_agent_steps_per_cpu_s"], 2) for a, b in pairs]
    print(
        json.dumps(
            {
                "what": "collection: game + 256x3 numpy policy, agent-steps per CPU-second, interleaved",
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
