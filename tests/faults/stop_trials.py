"""Trainers stopped by SIGINT or SIGTERM at random moments; one JSON line per trial. Run by test_stopping.py.

Everything is imported and compiled once; each trial is a fork that trains in a session and a folder of its own.
"""

import json
import os
import random
import shlex
import signal
import sys
import tempfile
import time
from pathlib import Path

SMALL = shlex.split(
    "train --game connect4 --num-envs 8 --n-steps 8 --batch-size 64 --trunk [16] --eval.matches 4 --view off "
    "--no-tensorboard --name a --checkpoint-every 256"
)
PATIENCE_S = 120.0
STARTUP = 0.25
"""Share of trials that are stopped before the first rollout is known to be over."""


def main(trials: int, two_shards: int, folder: Path) -> None:
    from pvp_ml.cli import run

    os.chdir(folder)
    assert run([*SMALL, "--shards", "1", "--name", "warm", "--total-timesteps", "128"]) == 0
    rng = random.Random(2026)
    for trial in range(trials):
        here = folder / f"trial-{trial}"
        here.mkdir()
        shards = 2 if trial < two_shards else 1
        number = rng.choice((signal.SIGINT, signal.SIGTERM))
        is_early = rng.random() < STARTUP
        delay = rng.uniform(0.0, 0.4)
        pid = os.fork()
        if pid == 0:
            code = child(here, shards, run)
            if shards == 1:  # taking the interpreter down costs a second; with a second process it is part of the trial
                os._exit(code)
            sys.exit(code)
        print(json.dumps(watch(pid, here, number, is_early, delay) | {"shards": shards}), flush=True)


def child(here: Path, shards: int, run) -> int:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background would have it ignored
    os.chdir(here)
    output = os.open("output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    (here / "begun").touch()
    return run([*SMALL, "--shards", str(shards), "--total-timesteps", "0"])


def watch(pid: int, here: Path, number: int, is_early: bool, delay: float) -> dict:
    from pvp_ml.run.store.run_store import RunStore
    from pvp_ml.run.tracking.tracker import read_metrics

    metrics = here / "experiments/a/metrics.jsonl"
    sign = here / "begun" if is_early else metrics
    deadline = time.monotonic() + 240
    while not (sign.exists() and (is_early or sign.stat().st_size)):
        assert time.monotonic() < deadline, "it does not start"
        time.sleep(0.02)
    time.sleep(delay)
    before, slowness = time.monotonic(), stretch()
    os.kill(pid, number)
    status = ended(pid, before + PATIENCE_S)
    took = time.monotonic() - before
    while members(pid) and time.monotonic() < before + 5 * slowness + took:
        time.sleep(0.05)
    store = RunStore(here / "experiments", "a")
    saved = store.latest()
    points = read_metrics(metrics)
    return {
        "signal": signal.Signals(number).name,
        "early": is_early,
        "code": os.waitstatus_to_exitcode(status),
        "took": round(took, 3),
        "slowness": round(max(slowness, stretch()), 2),
        "children": members(pid),
        "memory": [str(path) for path in shared_memory(pid)],
        "steps": points[-1]["steps"] if points else 0,
        "saved": saved.step if saved else 0,
        "output": (here / "output").read_text()[-2000:],
    }


def ended(pid: int, deadline: float) -> int:
    """The status of a child that ended; one that does not end is killed, and the trial fails by its code."""
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def stretch() -> float:
    """How much longer than its processor time a little work takes now: a busy machine is not the trainer's fault."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.02:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - cpu))


def members(session: int) -> list[int]:
    """Processes of a session that live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def shared_memory(pid: int) -> list[Path]:
    folders = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    return [path for folder in folders for path in folder.glob(f"pvp-ml-{pid}-*.mem")]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
