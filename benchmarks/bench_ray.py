"""Two Ray workers beside two local shards: the same run, in turn, per second of processor time of the whole tree.

    nice python benchmarks/bench_ray.py [--preset nh/quick] [--rollouts 8] [--repeats 3] [--staleness 0] [--json FILE]

Processor time is read from /proc for every process of a side: the trainer and its shard; or the trainer, the workers
and all of Ray. Both sides learn the same bits when the staleness is 0, which is checked.
"""

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as Ray does for its workers; read by numpy

from pvp_ml.cluster.messages import pack_rollout, weight_arrays
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run

TICK = os.sysconf("SC_CLK_TCK")
WARM_UP = 2


def processes() -> dict[int, tuple[int, float]]:
    """Pid → (parent, processor seconds)."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found[int(folder.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICK)
    return found


def tree(root: int, table: dict[int, tuple[int, float]]) -> set[int]:
    """A process and all below it."""
    members = {root}
    while more := {pid for pid, (parent, _) in table.items() if parent in members} - members:
        members |= more
    return members


class Side:
    """One way of running, and what it used up so far."""

    def __init__(self, run: Run, others: set[int]) -> None:
        self.run, self._others = run, others
        self.rates: list[float] = []
        self.spent = {"trainer collects": 0.0, "trainer learns": 0.0, "others": 0.0}
        self.overhead: list[float] = []
        self.rows = 0.0

    def used(self) -> float:
        table = processes()
        return sum(table[pid][1] for pid in tree(os.getpid(), table) - self._others)

    def itself(self) -> float:
        """Processor seconds of processes that neither play nor learn: Ray's own."""
        table = processes()
        names = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in tree(os.getpid(), table) - self._others}
        return sum(table[pid][1] for pid, name in names.items() if "RayWorker" not in name and pid != os.getpid())

    def go(self, rollouts: int, is_counted: bool) -> None:
        used, rows, own = self.used(), 0.0, [0.0, 0.0]
        itself, wall = self.itself(), time.perf_counter()
        for _ in range(rollouts):
            before = time.process_time()
            collected = self.run.collect()
            between = time.process_time()
            learned = self.run.learn()
            own[0] += between - before
            own[1] += time.process_time() - between
            self.run.record(collected, learned)
            rows += self.run.tracker.last["ppo/rows"]
        if is_counted:
            total = self.used() - used
            self.rates.append(rows / total)
            self.overhead.append((self.itself() - itself) / (time.perf_counter() - wall))
            self.rows += rows
            for part, seconds in zip(self.spent, (*own, total - sum(own)), strict=True):
                self.spent[part] += seconds


def open_run(preset: str, flags: list[str], folder: str, name: str) -> Run:
    config = load_config(preset, [*flags, "--run.total-steps", "0"], Path.cwd())
    return Run(config, RunStore(Path(folder), name), Tracker())


def constants(run: Run) -> dict[str, float]:
    """Bytes and arithmetic per decision, from the arrays and the network themselves."""
    shards = run.learning.shards
    rollout = shards._learners[0].rollout
    policy = run.learning.trainees["main"].policy
    arrays = pack_rollout(rollout, policy.network.privileged)
    rows = (rollout.shape.steps) * rollout.shape.matches * rollout.shape.seats
    forward = 2 * sum(t.size for t in policy.tensors().values())
    return {
        "bytes_per_agent_step": round(sum(a.nbytes for a in arrays) / rows, 1),
        "weight_bytes": sum(a.nbytes for a in weight_arrays(shards.memories)),
        "flop_to_act": forward,
        "flop_to_learn": 3 * forward * run.config.ppo.n_epochs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="nh/quick")
    parser.add_argument("--rollouts", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--staleness", type=int, default=0)
    parser.add_argument("--json", default="")
    given, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        local = open_run(given.preset, [*flags, "--run.shards", "2"], folder, "local")
        beside = {worker.process.pid for worker in local.learning.shards._workers.values()}
        table = processes()
        before = tree(os.getpid(), table)
        cluster = ["--distribute", "2", "--staleness", str(given.staleness)]
        ray = open_run(given.preset, [*flags, *cluster], folder, "ray")
        sides = {"local": Side(local, set()), "ray": Side(ray, beside)}
        sides["local"]._others = tree(os.getpid(), processes()) - before
        for turn in range(1 + given.repeats):
            for side in sides.values():
                side.go(given.rollouts if turn else WARM_UP, is_counted=turn > 0)
        weights = [side.run.learning.trainees["main"].policy.flat.numpy().tobytes() for side in sides.values()]
        facts = constants(ray)
        for side in sides.values():
            side.run.close()
    rates = {name: statistics.median(side.rates) for name, side in sides.items()}
    result = {
        "metric": f"ray/{given.preset}",
        "unit": "learned decisions per CPU-second of all processes",
        "value": round(rates["ray"], 1),
        "baseline": round(rates["local"], 1),
        "ratio": round(rates["ray"] / rates["local"], 3),
        "ratios": [round(r / b, 3) for r, b in zip(sides["ray"].rates, sides["local"].rates, strict=True)],
        "ray_itself_cores": round(statistics.median(sides["ray"].overhead), 4),
        "staleness": given.staleness,
        "is_same_bits": weights[0] == weights[1],
        "cpu_us_per_decision": {
            name: {part: round(1e6 * seconds / side.rows, 2) for part, seconds in side.spent.items()}
            for name, side in sides.items()
        },
        **facts,
    }
    print(json.dumps(result))
    if given.json:
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
