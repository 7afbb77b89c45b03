"""What each ingredient of the generalist gives: arms that differ in one thing, the same steps, several seeds.

    pvp-ml bc record vgc --bot heuristics --matches 1000 --out teacher.zip --env.teams '["train.txt"]'
    python benchmarks/vgc_ablations.py ROWS.jsonl teacher.zip train.txt held-out.txt [steps] [seeds] [arm …]

Every arm clones the teacher with its own network (but `scratch`), trains with `train.txt` and plays 500 battles against
`heuristics` with `held-out.txt`, preferred choices. Each result is a line of ROWS.jsonl; the same command goes on where
it was stopped. Seeds outermost, so that a stopped run has whole rows of arms. The table at the end: mean and deviation.
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import sys
from pathlib import Path

from pvp_ml.cli import run

STEPS, SEEDS, MATCHES = 60_000, 3, 500
ARMS: dict[str, list[str]] = {
    "generalist": [],
    "no pointers": ["--network.pointer", "0"],
    "pooled": ["--network.pooling", "mean_max", "--network.pointer", "0"],
    "no encoder": ["--network.encoder", "[]", "--network.pointer", "0"],
    "scratch": [],
}
QUIET = ["--tracking.tensorboard", "false", "--tracking.view", "lines", "--eval.every", "0", "--run.shards", "1"]


def main(rows: Path, teacher: str, train: str, held_out: str, steps: int, seeds: int, arms: list[str]) -> int:
    done = [json.loads(line) for line in rows.read_text("utf-8").splitlines()] if rows.is_file() else []
    for seed in range(seeds):
        for arm in arms:
            if any((row["arm"], row["seed"], row["steps"]) == (arm, seed, steps) for row in done):
                continue
            score = measure(arm, seed, steps, teacher, train, held_out)
            done.append({"arm": arm, "seed": seed, "steps": steps, **score})
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[-1]) + "\n")
    for arm in arms:
        scores = [row["score"] for row in done if row["arm"] == arm and row["steps"] == steps]
        spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
        print(f"{arm}: {statistics.mean(scores):.3f} ± {spread:.3f} over {len(scores)} seeds")
    return 0


def measure(arm: str, seed: int, steps: int, teacher: str, train: str, held_out: str) -> dict[str, float]:
    """Clone, train, play; {score, low, high, matches} against heuristics with teams that it never saw."""
    name = f"ablation-{arm.replace(' ', '-')}-{steps}-{seed}"
    preset, teams = ["--preset", "vgc/generalist"], json.dumps([train])
    start: list[str] = []
    if arm != "scratch":
        clone = Path("experiments") / f"{name}-clone.zip"
        clone.parent.mkdir(exist_ok=True)
        words = [*preset, "--recording", teacher, "--out", str(clone), "--smoothing", "preview=0.1", *ARMS[arm]]
        _call(["bc", "train", *words, "--run.seed", str(seed)])
        start = ["--bc-model", str(clone)]
    length = ["--name", name, "--run.total-steps", str(steps), "--run.seed", str(seed)]
    _call(["train", *preset, *start, *length, "--env.teams", teams, *ARMS[arm], *QUIET])
    model = f"experiments/{name}/model.zip"
    text = _call([
        "eval", "--model", model, "--against", "heuristics", "--matches", str(MATCHES), "--greedy", "--json",
        "--env.teams", json.dumps([held_out]),
    ])  # fmt: skip
    cell = json.loads(text)["results"][0]
    return {key: cell[key] for key in ("score", "low", "high", "matches")}


def _call(words: list[str]) -> str:
    """What a command prints to stdout; ends the program when it fails."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(words)
    if code:
        sys.exit(f"pvp-ml {' '.join(words)}: exit code {code}")
    return out.getvalue()


if __name__ == "__main__":
    given = sys.argv[1:]
    sizes = [int(word) for word in given[4:6]]
    steps, seeds = sizes + [STEPS, SEEDS][len(sizes) :]
    sys.exit(main(Path(given[0]), given[1], given[2], given[3], steps, seeds, given[6:] or list(ARMS)))
