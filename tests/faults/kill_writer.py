"""Kill checkpoint writers with SIGKILL and see what is left; run as a script, because it forks and must stay small.

kill_writer.py FOLDER ROUNDS SEED: forks a writer, kills it at a random instant or at a named stage, loads what is
there, compares it with what that step must hold, and lets the next writer continue. Prints one JSON line of counts.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from pvp_ml.run.store.disk import STAGES, Disk
from pvp_ml.run.store.run_store import RunStore

INTERVAL = 10


def content(step):
    """The files of a step, computable by both sides."""
    rng = random.Random(step)
    return {
        "policy.safetensors": rng.randbytes(200_000),
        "optimizer.safetensors": rng.randbytes(400_000),
        "progress.json": json.dumps({"step": step}).encode(),
    }


class DyingDisk(Disk):
    """Dies at the n-th arrival at one stage."""

    def __init__(self, stage, arrivals):
        self.stage, self.arrivals = stage, arrivals

    def reached(self, stage):
        if stage == self.stage:
            self.arrivals -= 1
            if self.arrivals == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def write_for_ever(folder, disk, step, report):
    """The child: save, report, save … until killed."""
    store = RunStore(folder, "run", keep=2, disk=disk)
    while True:
        step += INTERVAL
        store.save(step, content(step), "digest")
        os.write(report, step.to_bytes(8, "little"))


def one_round(folder, start, stage, rng):
    """Fork, kill, reap; returns the last step whose save had returned."""
    reader, writer = os.pipe()
    disk = DyingDisk(stage, rng.randint(1, 2)) if stage else Disk()
    child = os.fork()
    if child == 0:
        os.close(reader)
        write_for_ever(folder, disk, start, writer)
        os._exit(1)
    os.close(writer)
    if not stage:
        time.sleep(rng.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    written = b"".join(iter(lambda: os.read(reader, 4096), b""))
    os.close(reader)
    return int.from_bytes(written[-8:], "little") if written else start


def main(folder, rounds, seed):
    rng = random.Random(seed)
    stages = [None] * (rounds - len(STAGES) * (rounds // 2 // len(STAGES)))
    stages += list(STAGES) * (rounds // 2 // len(STAGES))
    rng.shuffle(stages)
    counts = {"kills": 0, "random": 0, "lost": 0, "different": 0, "too_old": 0, "too_new": 0, "torch": 0, "steps": 0}
    start = 0
    for stage in stages:
        returned = one_round(folder, start, stage, rng)
        counts["kills"] += 1
        counts["random"] += stage is None
        found = RunStore(folder, "run").latest()
        if found is None:
            counts["lost"] += returned > 0
            continue
        counts["different"] += found.files != content(found.step) or found.spec_digest != "digest"
        counts["too_old"] += found.step < returned
        counts["too_new"] += found.step > returned + INTERVAL
        start = found.step
    counts["steps"] = start
    counts["torch"] = int("torch" in sys.modules or "numba" in sys.modules)
    RunStore(folder, "run", keep=2).save(
        start + INTERVAL, content(start + INTERVAL), "digest"
    )  # nobody dies in this one
    counts["folders"] = len(list((Path(folder) / "run" / "checkpoints").glob("ckpt-*")))
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
