"""Rocket League: five times a shard with arenas in it is killed or stopped; each is replaced and the run goes on."""

import contextlib
import importlib.util
import os
import signal

import pytest

from pvp_ml.cluster import local
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Point, Tracker
from pvp_ml.run.trainer import Run, train

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="sends SIGKILL and SIGSTOP"),
    pytest.mark.skipif(importlib.util.find_spec("RocketSim") is None, reason="needs rocketsim"),
]
STEPS = 4 * 8
FLAGS = ["--env.matches", "4", "--env.meshes", "generated", "--ppo.n-steps", "8", "--ppo.batch-size", "32",
         "--network.trunk", "[8]", "--run.shards", "2", "--eval.every", "0", "--run.milestone-every", "0"]  # fmt: skip


class Attacks:
    """A metrics sink that sends the second shard a signal at certain rollouts."""

    def __init__(self, run: Run, plan: dict[int, signal.Signals]) -> None:
        self.run, self.plan = run, plan

    def write(self, point: Point) -> None:
        if number := self.plan.pop(point.rollouts, None):
            os.kill(self.run.learning.shards._workers[1].process.pid, number)

    def close(self) -> None:
        pass


def test_five_attacks(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "ANSWER_TIMEOUT_S", 8.0)
    flags = [*FLAGS, "--run.directory", str(tmp_path), "--run.name", "r", "--run.total-steps", str(12 * STEPS)]
    config = load_config("rocket_league/ball-touching", flags, tmp_path)
    with contextlib.closing(Run(config, RunStore(tmp_path, "r"), Tracker())) as run:
        attacks = Attacks(
            run, {2: signal.SIGKILL, 4: signal.SIGKILL, 6: signal.SIGSTOP, 7: signal.SIGKILL, 9: signal.SIGKILL}
        )
        run.tracker.add("attacks", attacks)
        train(run)
        assert not attacks.plan
        assert run._lost == 5
        assert run.progress.steps == 12 * STEPS
        assert run.learning.trainees["main"].updates >= 5
    assert RunStore(tmp_path, "r").latest().step == 12 * STEPS
