"""Does a behavioural clone help? Three seeds from a clone, three from scratch; win rate against heuristics over steps.

`python benchmarks/vgc_bc_vs_scratch.py CLONE.zip [steps] [seeds]` trains what is not trained yet (the same command goes
on) into experiments/, draws bc-vs-scratch.png with `pvp-ml compare` and prints when each arm passes one half. Both arms
have the same settings besides the clone, its teacher term and the critic's warm-up.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from pvp_ml.cli import run
from pvp_ml.run.tracking.curves import band, read_curve

METRIC = "eval/heuristics/score"
SHARED = [
    "--self-play.opponents", '{"self": 0.5, "past": 0.1, "heuristics": 0.3, "max-power": 0.1}', "--eval.every",
    "50000",
    "--eval.matches", "200", "--eval.opponents", '["heuristics"]', "--tracking.tensorboard", "false", "--tracking.view",
    "lines",
]  # fmt: skip
ARMS = {"scratch": ["--preset", "vgc/self-play"], "clone": ["--preset", "vgc/bc-warm-start"]}


def passes(name: str, seeds: int, bar: float = 0.5) -> float | None:
    """Steps after which the middle of the seeds stays above the bar for the first time; None = never."""
    curves = [read_curve(Path("experiments") / f"{name}-seed{seed}", METRIC) for seed in range(seeds)]
    curve = band(curves, np.random.default_rng(0))
    above = np.flatnonzero(curve.middle >= bar)
    return float(curve.steps[above[0]]) if len(above) else None


def main(clone: str, steps: int, seeds: int) -> int:
    for name, words in ARMS.items():
        start = ["--bc-model", clone] if name == "clone" else []
        options = ["--name", name, "--seeds", str(seeds), "--run.total-steps", str(steps)]
        if code := run(["train", *words, *start, *options, *SHARED]):
            return code
    code = run(["compare", *ARMS, "--metric", METRIC, "--png", "bc-vs-scratch.png"])
    print(json.dumps({"steps_to_half": {name: passes(name, seeds) for name in ARMS}}))
    return code


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:]]
    sys.exit(main(sys.argv[1], *(numbers + [1_500_000, 3][len(numbers) :])))
