"""How much of a rollout's policy gradient is signal, by λ or by the power of advantages. The policy holds still.

    python benchmarks/gradient_noise.py PRESET MODEL ROLLOUTS NAME=VALUE… [-- FLAGS OF TRAIN]

NAME is `lambda` or `power`, or both with a comma (`lambda=0.99,power=0.5`); the first variant is what the others are
compared with. Twelve rollouts teach the critic first.
Signal is |E g|² over E |g|², without bias from pairs of rollouts, with every weight's gradient divided by its root mean
square; `agrees` is the cosine between the mean gradient and the first one's. `lambda=1` is unbiased but noisy.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from pvp_ml.match import MAIN
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.shard_learner import Piece
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.resume import Start
from pvp_ml.run.session import open_run
from pvp_ml.run.trainer import Run

CRITIC_FIRST = 12
POLICY_STILL = ["--ppo.critic-warmup", "1000000", "--ppo.advantage-power", "1"]


def gradient(run: Run, lam: float, power: float) -> np.ndarray:
    """Of the actor's weights, over all rows of the last rollout."""
    trainee, shard, progress = run.learning.trainees[MAIN], run.learning.shards.own, run.progress
    mean, variance = (trainee.reward_statistics[f"reward/{part}"][0] for part in ("mean", "var"))
    scale = 1.0 / np.hypot(mean, variance**0.5)
    terms = ReturnTerms.of(trainee.config.gamma.at(progress), lam, scale, trainee.reward_limit(progress))
    run.learning.shards.finish(terms)
    advantage = shard.shares[MAIN].rows.advantage
    advantage -= advantage.mean()
    advantage[:] = np.copysign(np.abs(advantage / advantage.std()) ** power, advantage)
    run.learning.shards.normalise_advantages(MAIN, float(advantage.mean()), float(advantage.std()))
    weights = LossWeights.at(trainee.config, trainee.heads, progress)
    weights = replace(weights, policy=1.0, value_coef=0.0, entropy=(0.0,) * len(trainee.heads))
    trainee.gradient.zero_()
    run.learning.shards.add_gradient(0, trainee.gradient, Piece(progress.rollouts, 0, 0, 1), weights)
    found = trainee.gradient[: trainee.policy.critic_start].numpy() / len(advantage)
    trainee.gradient.zero_()
    return found


def report(kept: list[list[np.ndarray]]) -> list[dict[str, float]]:
    """Signal of each variant, and how it agrees with the first."""
    rows = [np.stack(g).astype(np.float64) for g in kept]
    rows = [g / (np.sqrt(np.square(g).mean(0)) + 1e-9) for g in rows]
    n = len(rows[0])

    def pairs(a: np.ndarray, b: np.ndarray) -> float:
        return float(a.sum(0) @ b.sum(0) - (a * b).sum()) / (n * (n - 1))

    own = [pairs(g, g) for g in rows]
    return [
        {
            "signal": round(own[i] / np.square(g).sum(1).mean(), 4),
            "agrees": round(pairs(g, rows[0]) / max(1e-30, own[i] * own[0]) ** 0.5, 3),
        }
        for i, g in enumerate(rows)
    ]


def main(preset: str, model: str, rollouts: int, variants: list[str], flags: list[str]) -> None:
    """Collect, keep gradients, teach the critic alone; print a line for each variant."""
    with tempfile.TemporaryDirectory() as folder:
        still = [
            "--run.name",
            "noise",
            "--run.directory",
            folder,
            "--run.shards",
            "1",
            "--run.total-steps",
            "1000000000",
        ]
        config = load_config(preset, [*still, *POLICY_STILL, *flags], Path.cwd())
        given = [dict(part.split("=") for part in word.split(",")) for word in variants]
        settings = [(float(v.get("lambda", config.ppo.gae_lambda.value)), float(v.get("power", 1.0))) for v in given]
        kept: list[list[np.ndarray]] = [[] for _ in variants]
        with open_run(config, Console(quiet=True), Start(warm_start=model)) as run:
            for number in range(CRITIC_FIRST + rollouts):
                found = run.collect()
                if number >= CRITIC_FIRST:
                    for gradients, (lam, power) in zip(kept, settings, strict=True):
                        gradients.append(gradient(run, lam, power))
                run.record(found, run.learn())
    for variant, line in zip(variants, report(kept), strict=True):
        print(json.dumps({"variant": variant, "rollouts": rollouts, **line}))


if __name__ == "__main__":
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:cut], sys.argv[cut + 1 :])
