"""How strong is a setting after so much processor time? One row per run in a JSON-lines file; a rerun resumes.

    python benchmarks/strength_by_time.py ROWS.jsonl --preset nh/quick --seeds 0,1 --marks 20,40 \\
        today= narrow="--network.trunk [128,128] --ppo.learning-rate 7e-4"

An arm is NAME=FLAGS (flags of `pvp-ml train`). Arms take turns, seed by seed. At each mark, in seconds of training
after the first rollout (which compiles), the policy plays matches that nobody trains on; what they cost does not count.
Seconds are those of the processor, all shards together, because a machine that others use has no honest wall time;
`--clock wall --shards 2` is for two quiet cores. `--until 0.9` stops a run at the first mark with that score. Prints
the mean over seeds of each arm that has rows.
"""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pvp_ml.games.process_tree import cpu_s
from pvp_ml.run.config.schema import Config, load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.plans import stream_seed

CLOCKS: dict[str, Callable[[], float]] = {"cpu": cpu_s, "wall": time.perf_counter}
SEED = stream_seed("benchmark", 25)


def score(config: Config, run: Run, matches: int) -> float:
    """Share of points against the preset's first opponent, ties count half."""
    opponent = config.eval.opponents[0]
    game = config.env.type.build(config.env.settings, 128)
    try:
        mine = Contestant.of_bundle("mine", run.bundle())
        return evaluate(game, mine, Contestant(opponent, bot=opponent), matches, SEED).total.score
    finally:
        game.close()


def train(config: Config, marks: list[float], given: argparse.Namespace) -> list[tuple[float, int, float]]:
    """Seconds, steps and score at each mark."""
    now = CLOCKS[given.clock]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run(config, RunStore(Path(folder), config.run.name), Tracker({}))
        try:
            run.record(run.collect(), run.learn())  # loads compiled code
            spent = 0.0
            for mark in marks:
                while spent < mark:
                    before = now()
                    run.record(run.collect(), run.learn())
                    spent += now() - before
                found.append((round(spent, 2), run.progress.steps, round(score(config, run, given.matches), 4)))
                if found[-1][2] >= given.until:
                    break
        finally:
            run.close()
    return found


def main() -> None:
    """Train what is missing, then tell."""
    parser = argparse.ArgumentParser(description="strength by processor time")
    parser.add_argument("rows", type=Path)
    parser.add_argument("arms", nargs="+")
    parser.add_argument("--preset", default="nh/quick")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--marks", default="20,40")
    parser.add_argument("--matches", type=int, default=500)
    parser.add_argument("--shards", default="1")
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--until", type=float, default=2.0)
    given = parser.parse_args()
    marks = [float(mark) for mark in given.marks.split(",")]
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()] if given.rows.exists() else []
    for seed in map(int, given.seeds.split(",")):
        for name, flags in (arm.split("=", 1) for arm in given.arms):
            key = {"arm": name, "flags": flags, "preset": given.preset, "seed": seed, "marks": marks,
                   "clock": given.clock, "shards": given.shards}  # fmt: skip
            if any(all(row.get(part) == key[part] for part in key) for row in rows):
                continue
            words = [*shlex.split(flags), "--run.seed", str(seed), "--run.shards", given.shards, "--run.name", name]
            config = load_config(given.preset, [*words, "--run.total-steps", "0"], Path.cwd())
            rows.append(key | {"matches": given.matches, "found": train(config, marks, given)})
            with given.rows.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(json.dumps(rows[-1]), flush=True)
    for name in dict.fromkeys(row["arm"] for row in rows):
        for i, mark in enumerate(marks):
            at = [
                row["found"][i]
                for row in rows
                if row["arm"] == name and row["marks"] == marks and i < len(row["found"])
            ]
            if at:
                scores, steps = np.array([score for _, _, score in at]), np.mean([steps for _, steps, _ in at]) / 1e6
                print(
                    f"{name} {mark:g} s: {scores.mean():.1%} ± {scores.std():.1%}, {len(at)} seeds, {steps:.2f} M steps"
                )


if __name__ == "__main__":
    main()
