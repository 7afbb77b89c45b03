"""Does the win head foresee results of matches that it never learned from? Connect 4 and NH, several seeds.

`python benchmarks/win_head.py [--seeds 5] [--game connect4|nh]` trains for up to a minute of processor time per seed
and prints the losses of the last half of the training, each match counting once. It fails when a held-out loss is not
below 0.65, or is 0.03 or more above the loss on the matches that the head learned from.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Point, Tracker
from pvp_ml.run.trainer import Run, train

LIMIT, GAP = 0.65, 0.03
TRAININGS = {
    "connect4": ["toys/connect4", "--network.trunk", "[128, 64]", "--run.total-steps", "1_500_000"],
    "nh": ["nh/quick", "--network.trunk", "[128, 128]", "--run.total-steps", "2_500_000"],
}


class Ledger:
    """Keeps what every rollout tells of the win head."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float, float, float]] = []

    def write(self, point: Point) -> None:
        names = ("loss", "held_out_loss", "held_out_accuracy", "held_out_matches")
        values = [point.values.get(f"win_head/{name}", np.nan) for name in names]
        if np.isfinite(values).all():
            self.rows.append(tuple(float(value) for value in values))

    def close(self) -> None:
        pass


def measured(game: str, seed: int) -> np.ndarray:
    """[loss, held-out loss, held-out accuracy, held-out matches] of the last half of a training."""
    preset, *flags = TRAININGS[game]
    with tempfile.TemporaryDirectory() as folder:
        flags += ["--network.win-head", "true", "--env.matches", "256", "--eval.every", "0", "--run.shards", "1",
                  "--run.seed", str(seed), "--run.directory", folder, "--run.name", "w",
                  "--tracking.tensorboard", "false"]  # fmt: skip
        run = Run(load_config(preset, flags, Path(folder)), RunStore(Path(folder), "w"), Tracker())
        ledger = Ledger()
        run.tracker.add("ledger", ledger)
        train(run)
        run.close()
    late = np.array(ledger.rows[len(ledger.rows) // 2 :])
    return np.array([*np.average(late[:, :3], axis=0, weights=late[:, 3]), late[:, 3].sum()])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--game", choices=TRAININGS, action="append")
    args = parser.parse_args()
    print("| game | seed | loss | held-out loss | held-out accuracy | held-out matches × seats | CPU-seconds |")
    print("|---|---|---|---|---|---|---|", flush=True)
    failures = 0
    for game in args.game or TRAININGS:
        for seed in range(args.seeds):
            before = time.process_time()
            loss, held, right, count = measured(game, seed)
            spent = time.process_time() - before
            print(
                f"| {game} | {seed} | {loss:.3f} | {held:.3f} | {right:.3f} | {count:.0f} | {spent:.0f} |", flush=True
            )
            failures += held >= LIMIT or held >= loss + GAP
    print(f"{failures} above {LIMIT} or loss + {GAP}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
