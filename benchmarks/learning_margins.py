"""How far do learning tests stay from their bars? Every one of them over several seeds and roundings of this machine.

`python benchmarks/learning_margins.py [--seeds 10] [--nightly | --all] [--select EXPRESSION]` runs the tests that hold
a quantity to a bar (fixture `margin`) and prints its mean, standard deviation, bar and margin in deviations. It fails
when a margin is below 3 deviations, a value misses its bar, or a test breaks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
ROUNDINGS = ({"ATEN_CPU_CAPABILITY": "default"}, {"OPENBLAS_CORETYPE": "Prescott"}, {"OPENBLAS_CORETYPE": "Haswell"})
"""Other instructions, other order of sums: each rounds in its own way on any x86 machine."""
ROUNDED_BY = {name for rounding in ROUNDINGS for name in rounding}
ENOUGH = 3.0
SAME = 1e-12  # a deviation below this is rounding of the mean, not of a run
BLOCK = 5  # seeds in one process: starting one takes as long as some of the tests
NOTHING_LEFT = 5  # pytest's exit code when the file has all of it


def files() -> list[Path]:
    """Test files that use the fixture; collecting the others would take longer than some of the tests."""
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "learning_seed" in path.read_text()]


def run(seeds: Sequence[int], rounding: dict[str, str], marks: str, select: str, out: Path) -> bool:
    """All chosen tests, once for each seed; whether none broke."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", marks, "--margins", str(out)]
    command += ["--learning-seeds", *map(str, seeds)]
    command += ["-p", "no:cacheprovider", *(["-k", select] if select else []), *map(str, files())]
    known = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    own = {name: value for name, value in os.environ.items() if name not in ROUNDED_BY}
    done = subprocess.run(command, cwd=ROOT, env=own | known | rounding, capture_output=True, text=True, check=False)
    if done.returncode not in (0, NOTHING_LEFT):
        print(done.stdout[-3000:], file=sys.stderr)
    return done.returncode in (0, NOTHING_LEFT)


def table(rows: list[dict[str, object]]) -> tuple[str, list[str]]:
    """The table as Markdown, and what is too near to its bar."""
    found: dict[tuple[str, str, float, bool], list[float]] = defaultdict(list)
    for row in rows:
        key = (str(row["test"]), str(row["quantity"]), float(str(row["bar"])), bool(row["is_least"]))
        found[key].append(float(str(row["value"])))
    lines = ["| test | quantity | runs | mean | sd | worst | bar | margin in sd |", "|---|---|---|---|---|---|---|---|"]
    near = []
    for (test, quantity, bar, is_least), values in sorted(found.items()):
        mean, sd = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        worst = min(values) if is_least else max(values)
        gap = (mean - bar) if is_least else (bar - mean)
        margin = gap / sd if sd > SAME else np.inf if gap >= 0 else -np.inf
        shown = "all alike" if margin == np.inf else f"{margin:.1f}"
        numbers = f"{len(values)} | {mean:.4g} | {sd:.2g} | {worst:.4g} | {'≥' if is_least else '≤'} {bar:.4g}"
        lines.append(f"| {test} | {quantity} | {numbers} | {shown} |")
        if margin < ENOUGH or (worst < bar if is_least else worst > bar):
            near.append(f"{test}: {quantity}")
    return "\n".join(lines), near


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--roundings", type=int, default=len(ROUNDINGS), help="how many of the three")
    parser.add_argument("--nightly", action="store_true", help="the slow tests instead of the fast ones")
    parser.add_argument("--all", action="store_true", help="fast and slow ones")
    parser.add_argument("--processes", type=int, default=1, help="how many at a time")
    parser.add_argument("--select", default="", help="as pytest's -k")
    parser.add_argument("--keep", default="", help="keep the measurements in this file; rerun to resume")
    args = parser.parse_args()
    marks = "learning" if args.all else "learning and nightly" if args.nightly else "learning and not nightly"
    begun, broken = time.monotonic(), 0
    seeds = range(args.first, args.first + args.seeds)
    jobs = [
        (seeds[at : at + BLOCK], rounding)
        for at in range(0, len(seeds), BLOCK)
        for rounding in ROUNDINGS[: args.roundings]
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.processes) as pool:
        out = Path(args.keep or Path(folder) / "margins.jsonl").resolve()
        runs = {pool.submit(run, *job, marks, args.select, out): job for job in jobs}
        for done in as_completed(runs):
            block, rounding = runs[done]
            broken += not done.result()
            named = " ".join(f"{key}={value}" for key, value in rounding.items())
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"seeds {block[0]} to {block[-1]}, {named}: {took}", file=sys.stderr, flush=True)
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []
    lines, near = table(rows)
    print(lines)
    for name in near:
        print(f"too near to its bar, or beyond: {name}")
    if broken:
        print(f"{broken} runs had tests that broke")
    return int(bool(near) or broken > 0 or not rows)


if __name__ == "__main__":
    sys.exit(main())
