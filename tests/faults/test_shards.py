"""R6 and R15 in small: a shard that dies or hangs is replaced, a signal saves and leaves, nothing is left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pvp_ml.cluster import local
from pvp_ml.games.array_game import TableGame
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Point, Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 16 * 8
FLAGS = ["--env.name", "connect4", "--env.matches", "16", "--ppo.n-steps", "8", "--ppo.batch-size", "64",
         "--network.trunk", "[16]", "--run.shards", "2", "--eval.every", "0", "--eval.matches", "4",
         "--tracking.tensorboard", "false"]  # fmt: skip


class Attack:
    """A metrics sink that does something to the second shard at certain rollouts."""

    def __init__(self, run: Run, rollouts: list[int], number: signal.Signals) -> None:
        self._run, self._rollouts, self._number = run, rollouts, number

    def write(self, point: Point) -> None:
        if point.rollouts in self._rollouts:
            self._rollouts.remove(point.rollouts)
            os.kill(self._run.learning.shards._workers[1].process.pid, self._number)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_shard_that_dies_or_hangs_is_replaced(tmp_path, monkeypatch, number):
    monkeypatch.setattr(local, "ANSWER_TIMEOUT_S", 8.0)
    flags = [*FLAGS, "--run.directory", str(tmp_path), "--run.name", "r", "--run.total-steps", str(12 * STEPS)]
    config = load_config("", flags, tmp_path)
    with contextlib.closing(Run(config, RunStore(tmp_path, "r"), Tracker())) as run:
        run.tracker.add("attack", Attack(run, [3, 7] if number == signal.SIGKILL else [3], number))
        train(run)
        assert run.progress.steps == 12 * STEPS
        assert run._lost == (2 if number == signal.SIGKILL else 1)
        pids = [worker.process.pid for worker in run.learning.shards._workers.values()]
        segment = run.learning.shards._segment
        assert segment is not None
    assert not segment.path.exists()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("share", "answers_at", "waited"),
    [(0.05, 70, 9.75), (0.0, 70, 1.125), (1.0, 70, 2.125), (0.05, 99, 11.0)],
    ids=["starved", "still", "endless", "starved for ever"],
)
def test_a_shard_short_of_processor_time_gets_more_of_it(monkeypatch, share, answers_at, waited):
    """Its process gets `share` of a processor and answers at the wait with that number; counted in deadlines."""
    waits = []
    monkeypatch.setattr(local, "wait", lambda sources, part: waits.append(part) or len(waits) > answers_at)
    monkeypatch.setattr(local, "tree_cpu_s", lambda pid: share * sum(waits))
    answered = local._Worker._wait(SimpleNamespace(pipe=None, process=SimpleNamespace(sentinel=0, pid=1)), 120.0)
    assert answered == (waited == 9.75)
    assert sum(waits) == pytest.approx(120.0 * waited)


def leftovers(pid: int) -> list[str]:
    folder = Path("/dev/shm")
    return [path.name for path in folder.glob(f"pvp-ml-{pid}-*")] if folder.is_dir() else []


def test_a_signal_saves_and_leaves(tmp_path):
    """With a second process; SIGINT, and one process alone: tests/cli/test_train_command.py and test_stopping.py."""
    command = [sys.executable, "-m", "pvp_ml.train", *FLAGS, "--run.directory", str(tmp_path), "--run.name", "r",
               "--run.total-steps", "100000000", "--tracking.view", "off"]  # fmt: skip
    trainer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path)
    metrics = tmp_path / "r" / "metrics.jsonl"
    deadline = time.monotonic() + 120.0
    while not (metrics.is_file() and metrics.stat().st_size) and time.monotonic() < deadline:
        assert trainer.poll() is None, trainer.stderr.read().decode()
        time.sleep(0.2)
    trainer.send_signal(signal.SIGTERM)
    _, errors = trainer.communicate(timeout=120)
    assert trainer.returncode == 130, errors.decode()
    checkpoint = RunStore(tmp_path, "r").latest()
    assert checkpoint is not None
    assert checkpoint.step > 0
    assert not leftovers(trainer.pid)


def test_a_killed_trainer_leaves_no_child_and_no_memory(tmp_path):
    command = [sys.executable, "-m", "pvp_ml.train", *FLAGS, "--run.directory", str(tmp_path), "--run.name", "r",
               "--run.total-steps", "100000000", "--tracking.view", "off"]  # fmt: skip
    trainer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    metrics = tmp_path / "r" / "metrics.jsonl"
    deadline = time.monotonic() + 120.0
    while not (metrics.is_file() and metrics.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.2)
    trainer.kill()
    trainer.wait()
    for _ in range(100):
        if not leftovers(trainer.pid):
            break
        time.sleep(0.2)
    assert not leftovers(trainer.pid)


def test_an_interrupt_while_shards_are_opened_leaves_no_child_and_no_memory(tmp_path, monkeypatch):
    """Ctrl-C can come between any two lines; here it comes once all workers and the memory are there."""
    opened = []

    def interrupt(worker, timeout_s):
        opened.append(worker.process)
        raise KeyboardInterrupt

    closed = []
    monkeypatch.setattr(local._Worker, "answer", interrupt)
    monkeypatch.setattr(TableGame, "close", lambda game: closed.append(game))
    config = load_config("", [*FLAGS, "--run.directory", str(tmp_path)], tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Run(config, RunStore(tmp_path, "r"), Tracker())
    assert len(opened) == len(closed) == 1, "the own shard's game is closed too: it may have processes"
    assert not opened[0].is_alive()
    assert not list(Path("/dev/shm").glob(f"pvp-ml-{os.getpid()}-*.mem"))


def test_a_run_that_cannot_be_made_leaves_no_child_and_no_memory(tmp_path, monkeypatch):
    shards = []

    def fail(self):
        shards.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(local.LocalShards, "initialise", fail)
    config = load_config("", [*FLAGS, "--run.directory", str(tmp_path)], tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Run(config, RunStore(tmp_path, "r"), Tracker())
    assert shards[0]._workers == {}
    assert not list(Path("/dev/shm").glob(f"pvp-ml-{os.getpid()}-*.mem"))
