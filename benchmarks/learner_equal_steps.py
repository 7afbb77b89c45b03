"""Did a change of the learner make it weaker anywhere? Arms in turn, equal steps, the same matches to measure.

    python benchmarks/learner_equal_steps.py FOLDER before=OTHER-CLONE after=. apart=.:--ppo.clip-apart,true

An arm is NAME=CLONE[:FLAG,FLAG…]: a checkout whose `src` trains, and flags of `pvp-ml train` for it. Every arm trains
every game with every seed, one shard; what is in FOLDER already is not trained again. The models are measured by the
code that runs this script, on matches that nobody trains on, and the first arm is compared with each of the others seed
by seed. Prints a table in Markdown and one line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pvp_ml.games import registry
from pvp_ml.model.bundle import read_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.plans import stream_seed

SEEDS, STUDENT_975 = 8, 2.365  # 97.5 % point of Student's t with 7 degrees of freedom
MATCHES = 500
SEED = stream_seed("benchmark", 31)


@dataclass(frozen=True)
class Course:
    """What is trained, how far, and who measures it."""

    game: str
    preset: str
    steps: int
    opponent: str
    greedy: bool = False


COURSES = (
    Course("nh", "nh/quick", 800_000, "nh-bot"),
    Course("connect4", "toys/connect4-demo", 600_000, "tactician", greedy=True),
)


def train(course: Course, clone: Path, flags: list[str], seed: int, folder: Path, name: str) -> float:
    """Train one run with a clone's code; returns CPU-seconds, 0 when it was there."""
    if (folder / name / "model.zip").exists():
        return 0.0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["train", "--preset", course.preset, "--name", name, "--run.directory", str(folder),
             "--run.seed", str(seed), "--run.total-steps", str(course.steps), "--run.shards", "1", "--eval.every", "0",
             "--eval.matches", "2", "--run.max-seconds", "0", "--tracking.view", "off", "--tracking.tensorboard",
             "false", *flags]  # fmt: skip
    code = "import sys; from pvp_ml.cli import run; sys.exit(run(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str((clone / "src").resolve()), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(course: Course, model: Path) -> float:
    """Share of points against the opponent."""
    kind = registry.find(course.game)
    game = kind.build(kind.config(), 128)
    mine = Contestant.of_bundle("mine", read_bundle(model), course.greedy)
    try:
        return evaluate(game, mine, Contestant(course.opponent, bot=course.opponent), MATCHES, SEED).total.score
    finally:
        game.close()


def main(folder: Path, arms: dict[str, tuple[Path, list[str]]]) -> None:
    """Train, measure, tell."""
    results = {}
    print("| game | " + " | ".join(f"{name}, %" for name in arms) + " | difference to the first | t |")
    print("|---|" + "--:|" * len(arms) + "---|---|", flush=True)
    for course in COURSES:
        scores: dict[str, list[float]] = {name: [] for name in arms}
        seconds = dict.fromkeys(arms, 0.0)
        for seed in range(SEEDS):
            for name, (clone, flags) in arms.items():
                run = f"{course.game}-{name}-seed{seed}"
                seconds[name] += train(course, clone, flags, seed, folder, run)
                scores[name].append(measure(course, folder / run / "model.zip"))
        first, *others = scores
        gaps = {name: np.subtract(scores[name], scores[first]) for name in others}
        spread = {name: float(gap.std(ddof=1) / np.sqrt(SEEDS)) for name, gap in gaps.items()}
        half = {name: 100 * STUDENT_975 * error for name, error in spread.items()}
        cells = [f"{100 * np.mean(row):.1f} ± {100 * np.std(row, ddof=1):.1f}" for row in scores.values()]
        words = [f"{name} {100 * gap.mean():+.1f} ± {half[name]:.1f}" for name, gap in gaps.items()]
        ratios = [f"{gap.mean() / spread[name]:+.1f}" if spread[name] else "–" for name, gap in gaps.items()]
        print(f"| {course.game} | " + " | ".join(cells) + f" | {'; '.join(words)} | {'; '.join(ratios)} |", flush=True)
        results[course.game] = {"steps": course.steps, "scores": scores, "cpu_seconds": seconds}
    print(json.dumps(results))


def read_arm(text: str) -> tuple[str, tuple[Path, list[str]]]:
    """NAME=CLONE[:FLAG,FLAG…]."""
    name, _, rest = text.partition("=")
    clone, _, flags = rest.partition(":")
    return name, (Path(clone), flags.split(",") if flags else [])


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict(read_arm(text) for text in sys.argv[2:]))
