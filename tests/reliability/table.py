"""`make nightly-reliability`: every promise R1–R20 as one command, and a table of what came of it.

`python tests/reliability/table.py [R1 R18 …]` runs those alone. A test says its figures in a line that begins with
`figures:`; all of them are shown.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FAULTS, SERVE, RELIABILITY = "tests/faults", "tests/serve", "tests/reliability"
PROMISES = {
    "R1": ("kill -9 while checkpointing", [f"{FAULTS}/test_kill_checkpoint.py"]),
    "R2": ("torn or corrupted files", ["tests/run/store/test_run_store.py", "-k", "500_corruptions"]),
    "R3": ("disk full, read-only", ["tests/run/store/test_run_store.py", f"{FAULTS}/test_milestones.py"]),
    "R4": ("bit-exact resume", [f"{FAULTS}/test_resume.py"]),
    "R5": ("same seed, same run", [f"{FAULTS}/test_shards.py", "tests/run/test_session.py"]),
    "R6": ("worker crash", [f"{FAULTS}/test_shards.py", "tests/cluster/test_ray.py"]),
    "R7": ("simulator crash or stall", ["tests/games/vgc/test_faults.py"]),
    "R8": ("simulator that breaks the contract", ["tests/selfplay/collect/test_inspection.py"]),
    "R9": ("NaN gradients", ["tests/learning/test_not_finite.py", "tests/rl/test_trainee.py", "-k",
                             "not_finite or fifty or in_a_row or finite"]),
    "R10": ("malformed API input", [f"{SERVE}/test_abuse.py", f"{SERVE}/test_messages.py"]),
    "R11": ("slow clients", [f"{SERVE}/test_pressure.py::test_200_slow_clients", f"{SERVE}/test_strangers.py"]),
    "R12": ("overload", [f"{SERVE}/test_pressure.py::test_a_minute_of_overload"]),
    "R13": ("hostile files", ["tests/security", "tests/compat/test_old_model.py", "tests/fuzz", "-k", "not guided"]),
    "R14": ("who may ask", [f"{SERVE}/test_http.py", "tests/web/test_strangers.py", "tests/cluster/test_ray.py", "-k",
                            "token or origin or stranger or host or share or machine"]),
    "R15": ("Ctrl-C, SIGTERM", [f"{FAULTS}/test_stopping.py"]),
    "R16": ("two trainers, one run", ["tests/run/store/test_lock.py", "tests/run/test_strangers.py"]),
    "R17": ("old files", ["tests/golden"]),
    "R18": ("soak", [f"{RELIABILITY}/test_soak.py"]),
    "R19": ("missing sinks", ["tests/run/tracking", "tests/run/test_hooks.py"]),
    "R20": ("clock, locale, paths", [f"{RELIABILITY}/test_everywhere.py"]),
    "fuzz": ("every parser, coverage-guided", ["tests/fuzz", "-k", "guided"]),
    "bounds": ("fights with bounds checks", [f"{RELIABILITY}/test_bounds.py"]),
}  # fmt: skip
"""Promise → (what, arguments of pytest)."""


def run(words: list[str]) -> tuple[str, str, list[str], float]:
    """yes, NO, or – when every test was skipped; pytest's count; figures that tests printed, or who failed; seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-rPfE", "-p", "no:cacheprovider", "-W", "default", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    figures = [line.removeprefix("figures:").strip() for line in lines if line.startswith("figures:")]
    failed = [line for line in lines if line.startswith(("FAILED tests", "ERROR tests"))]  # not what was logged
    count = lines[-1].strip("= ") if lines else done.stderr[-80:]
    verdict = "NO" if done.returncode else "yes" if " passed" in count else "–"
    return verdict, count, [*failed, *figures], time.monotonic() - began


def main() -> int:
    wanted = sys.argv[1:] or list(PROMISES)
    broken = []
    print(f"{'':7} {'promise':34} {'holds':5} {'seconds':>7}  tests, and figures below", flush=True)
    for name in wanted:
        what, words = PROMISES[name]
        holds, count, figures, seconds = run(words)
        broken += [] if holds == "yes" else [name]
        print(f"{name:7} {what:34} {holds:5} {seconds:7.0f}  {count}", flush=True)
        for line in figures:
            print(f"{'':16} {line[:240]}", flush=True)
    print("all hold" if not broken else f"do not hold, or were skipped: {', '.join(broken)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
