"""Twenty single mistakes put into a copy of the package, one at a time: do the fast tests notice each?

    .venv/bin/python benchmarks/mutations.py            # all of them; exits 1 when fewer than 19 are caught
    .venv/bin/python benchmarks/mutations.py 3 17       # these alone
    .venv/bin/python benchmarks/mutations.py --check    # only that every old text still occurs exactly once

Each run copies the package and the tests to a temporary folder, replaces one text, and runs the named tests without
what is marked nightly. Takes some minutes; meant for the night.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BAR = 19
TIMEOUT_S = 600

HANDICAPS = ("tests/selfplay/collect/test_handicaps.py",)
GAE = ("tests/rl/test_gae.py", "tests/selfplay/collect/test_collectors.py")
SAMPLING = ("tests/model/test_sampling.py", "tests/model/test_actor.py")
LEAGUE = ("tests/selfplay/test_ratings.py", "tests/selfplay/test_league.py", "tests/selfplay/test_matchmaking.py")
STORE = ("tests/run/store/test_run_store.py",)


@dataclass(frozen=True)
class Mutation:
    """One wrong line: where, what stands there, what stands there instead, and who should notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTATIONS = (
    # handicaps
    Mutation("selfplay/collect/handicaps.py", "[:, 0] < delay] = IDLE", "[:, 0] > delay] = IDLE", HANDICAPS),
    Mutation("selfplay/collect/collector.py", "idle_when_late(out.actions, ", "idle_when_late(out.actions.copy(), ",
             HANDICAPS),
    Mutation("selfplay/collect/collector.py", "idle_when_late(picked, ", "idle_when_late(picked.copy(), ", HANDICAPS),
    Mutation("selfplay/collect/active_matches.py", "/ 2.0**64 < greedy", "/ 2.0**64 > greedy", HANDICAPS),
    Mutation("selfplay/collect/collector.py", "obs[rows] if is_live else blur(", "obs[rows] if True else blur(",
             HANDICAPS),
    # advantages
    Mutation("rl/kernels/gae.py", "delta + decay[k] * next_advantage", "delta + gamma[k] * next_advantage", GAE),
    Mutation("rl/kernels/gae.py", "if end[t, m] == TRUNCATED else 0.0", "if end[t, m] != VOID else 0.0", GAE),
    Mutation("rl/kernels/gae.py", "if t > 0 else paid", "if t >= 0 else paid", GAE),
    # masks
    Mutation("model/sampling/kernels.py", "rule_kind[r] == ANY and hits == 0", "rule_kind[r] == ANY and hits < 0",
             SAMPLING),
    Mutation("model/sampling/kernels.py", "if count == 0 and fallback[h] >= 0:", "if count == 0 and fallback[h] > 0:",
             SAMPLING),
    Mutation("rl/exploration.py", "kept, first = mask & allowed, 0", "kept, first = mask.copy(), 0",
             ("tests/rl/test_exploration.py",)),
    # ratings and the league
    Mutation("selfplay/ratings.py", "10.0 ** ((second - first) / 400.0)", "10.0 ** ((first - second) / 400.0)", LEAGUE),
    Mutation("selfplay/ratings.py", "half = 1.96 * SCALE", "half = 1.0 * SCALE", LEAGUE),
    Mutation("selfplay/league.py", "quality=member.quality - step", "quality=member.quality + step", LEAGUE),
    Mutation("selfplay/league.py", "int(np.argmin(gaps))", "int(np.argmax(gaps))", LEAGUE),
    # the store
    Mutation("run/store/run_store.py", "by_age[self._keep :]", "by_age[self._keep + 1 :]", STORE),
    Mutation("run/store/manifest.py", "hexdigest() != facts.sha256", 'hexdigest() == ""', STORE),
    Mutation("run/store/run_store.py", "in sorted(self._folders(), reverse=True):\n            try:",
             "in sorted(self._folders()):\n            try:", STORE),
    # sampling
    Mutation("model/sampling/kernels.py", "-np.log(-np.log(uniform))", "np.log(-np.log(uniform))", SAMPLING),
    Mutation("model/sampling/kernels.py", "total += scores[best] - top - np.log(mass)",
             "total += scores[best] - top + np.log(mass)", SAMPLING),
)  # fmt: skip


def misplaced() -> list[str]:
    """Mutations whose old text does not occur exactly once: the code moved on, and the table has to follow."""
    wrong = []
    for number, mutation in enumerate(MUTATIONS, 1):
        count = (ROOT / "src/pvp_ml" / mutation.file).read_text().count(mutation.old)
        if count != 1:
            wrong.append(f"{number}: {mutation.file}: {mutation.old!r} occurs {count} times")
    return wrong


def is_caught(mutation: Mutation) -> bool:
    """Whether the tests fail on a copy with that mistake."""
    with tempfile.TemporaryDirectory(prefix="pvp-ml-mutation-") as name:
        folder = Path(name)
        without = shutil.ignore_patterns("__pycache__", "models", "node_modules")
        shutil.copytree(ROOT / "src", folder / "src", ignore=without)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        if "kernels" not in mutation.file and (ROOT / ".test-cache").is_dir():
            (folder / ".test-cache").symlink_to(ROOT / ".test-cache")  # compiled code is the same
        path = folder / "src/pvp_ml" / mutation.file
        path.write_text(path.read_text().replace(mutation.old, mutation.new))
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "not nightly",
            "-p",
            "no:cacheprovider",
            *mutation.tests,
        ]
        kept = {key: value for key, value in os.environ.items() if key != "PVP_ML_TESTED"}
        paths = {"PYTHONPATH": str(folder / "src")}
        probe = subprocess.run([sys.executable, "-c", "import pvp_ml; print(pvp_ml.__file__)"], capture_output=True,
                               text=True, check=True, env=kept | paths, cwd=folder)  # fmt: skip
        assert probe.stdout.startswith(str(folder)), "the tests would see the package that has no mistake"
        done = subprocess.run(words, cwd=folder, env=kept | paths, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode not in (0, 1):
            raise SystemExit(f"pytest could not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 1


def main() -> None:
    wrong = misplaced()
    if wrong or "--check" in sys.argv:
        sys.exit("\n".join(wrong) or 0)
    chosen = [int(word) for word in sys.argv[1:]] or range(1, len(MUTATIONS) + 1)
    caught = 0
    for number in chosen:
        mutation = MUTATIONS[number - 1]
        found = is_caught(mutation)
        caught += found
        print(f"{'caught  ' if found else 'SURVIVED'} {number:2} {mutation.file}: {mutation.new!r}", flush=True)
    print(f"{caught} of {len(chosen)} caught")
    sys.exit(caught < min(BAR, len(chosen)))


if __name__ == "__main__":
    main()
