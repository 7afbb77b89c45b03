"""Interleaved comparison of speed: ours and rlgym v2, alternately, one process at a time.

    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV [--mode 1v1] [--repeats 5] [--cpu-s 6]
    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV --learn      # end to end, torch in that venv
    python benchmarks/rocket_league_vs_rlgym.py PYTHON_OF_THE_RLGYM_VENV --learn own --matches 128 --rlgym-matches 16

Prints one JSON record. A ratio is ours / theirs of the same repeat, so that a neighbour's load hits both. Both sides
play 64 matches side by side by default (best in short tries: ours 128, rlgym 32). With --learn both sides
learn with `rocket_ppo.py`: the same network, batch and epochs. With --learn own each learns as its users do: ours by
`pvp-ml bench train`, theirs by rlgym-learn with the PPO of rlgym-learn-algos (`baselines/rlgym_learn_train.py`), one
match per process; the same rows an update, minibatch, epochs and networks, which are separate for choices and values.
"""

import argparse
import datetime
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COLLECT = "collection: game + 256x3 numpy policy"
LEARN = "end to end: game + PPO in torch, shared trunk 256x3, one epoch"
OWN = "end to end, each with its own learner: game + PPO, separate networks 256x3"
TOO_LONG_S = 300
ROWS, BATCH, ROLLOUTS = 16384, 4096, 12
SAME = [
    "--env.observation", "default", "--env.actions", "rlgym", "--env.rewards", '["goal", "touch"]',
    "--network.trunk", "[256, 256, 256]", "--network.critic", "separate", "--network.heads", "independent",
    "--ppo.normalize-observations", "false", "--self-play.opponents", "{self: 1}",
]  # fmt: skip
"""What rlgym-learn plays and learns: both cars, observations as the game gives them."""


def run(command):
    """The last line of a command, which is JSON; the command ends with all that it started."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True) as child:
        try:
            said, _ = child.communicate(timeout=TOO_LONG_S)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    if child.returncode:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return json.loads(said.strip().splitlines()[-1])


def commands(chosen):
    """What measures our side and theirs."""
    ours_sizes, theirs_sizes = ([str(m), str(chosen.cpu_s)] for m in (chosen.matches, chosen.rlgym_matches))
    if chosen.learn == "own":
        steps, left = divmod(ROWS, chosen.matches * sum(int(n) for n in chosen.mode.split("v")))
        if left:
            raise SystemExit(f"{chosen.matches} matches cannot share {ROWS} rows of an update evenly")
        sizes = ["--env.matches", str(chosen.matches), "--ppo.n-steps", str(steps), "--ppo.batch-size", str(BATCH)]
        game = ["--game", "rocket_league", "--env.mode", chosen.mode, "--env.meshes", chosen.meshes]
        length = ["--ppo.n-epochs", str(chosen.epochs), "--repeats", "1", "--rollouts", str(ROLLOUTS), "--json"]
        ours = [sys.executable, "-m", "pvp_ml", "bench", "train", *game, *sizes, *SAME, *length]
        theirs = [str(HERE / "baselines" / "rlgym_learn_train.py"), chosen.mode, *theirs_sizes, str(chosen.epochs)]
        return ours, [chosen.rlgym_python, *theirs]
    settings = json.dumps({"mode": chosen.mode, "meshes": chosen.meshes})
    ours = [str(HERE / "rocket_league_train.py")] if chosen.learn else ["-m", "pvp_ml.games.rocket_league.bench"]
    theirs = [str(HERE / "baselines" / "rlgym_v2_collect.py"), chosen.mode, *theirs_sizes]
    theirs += ["learn"] if chosen.learn else []
    return [sys.executable, *ours, settings, *ours_sizes], [chosen.rlgym_python, *theirs]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("rlgym_python")
    options.add_argument("--mode", default="1v1")
    options.add_argument("--matches", type=int, default=64)
    options.add_argument("--rlgym-matches", type=int, default=64)
    options.add_argument("--learn", nargs="?", const="plain", default="", choices=("plain", "own"))
    options.add_argument("--epochs", type=int, default=1, help="with --learn own")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--cpu-s", type=float, default=6.0)
    options.add_argument("--meshes", default="auto")
    chosen = options.parse_args()
    ours, theirs = commands(chosen)
    pairs = [(run(ours), run(theirs)) for _ in range(chosen.repeats)]
    per_cpu_s = "value" if chosen.learn == "own" else "agent_steps_per_cpu_s"
    speeds = {"ours": [a[per_cpu_s] for a, _ in pairs], "rlgym_v2": [b["agent_steps_per_cpu_s"] for _, b in pairs]}
    ratios = [round(a / b, 2) for a, b in zip(speeds["ours"], speeds["rlgym_v2"], strict=True)]
    if chosen.learn == "own":
        more = {"epochs": chosen.epochs, "rows_of_an_update": ROWS, "our_time": [a["split"] for a, _ in pairs]}
    else:
        game = [round(a["game_agent_steps_per_cpu_s"] / b["game_agent_steps_per_cpu_s"], 2) for a, b in pairs]
        more = {"meshes": pairs[0][0]["meshes"], "ratio_of_the_game_alone": game}
    what = {"": COLLECT, "plain": LEARN, "own": OWN}[chosen.learn]
    print(
        json.dumps(
            {
                "what": f"{what}, agent-steps per CPU-second, interleaved",
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
                "mode": chosen.mode,
                "matches": {"ours": chosen.matches, "rlgym_v2": chosen.rlgym_matches},
                "agent_steps_per_cpu_s": speeds,
                "ratio": ratios,
                "median_ratio": statistics.median(ratios),
                **more,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
