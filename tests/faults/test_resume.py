"""R4 and R5: a run that was interrupted ends exactly like one that was not; the same seed gives the same run."""

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer

import pytest

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.checkpoint import CLOCK
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Point, Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 16 * 8  # one rollout: 16 matches × 8 steps
KILLED_ROLLOUTS = 60
FLAGS = ["--env.matches", "16", "--ppo.n-steps", "8", "--ppo.batch-size", "64", "--eval.every", "0",
         "--network.trunk", "[16]", "--network.win-head", "true", "--self-play.strategy", "past",
         "--self-play.snapshot-every", str(3 * STEPS)]  # fmt: skip


def run_to(folder: Path, game: str, rollouts: int, shards: int = 1, seed: int = 7, every: int = 10**9,
           sink: "Death | None" = None) -> None:  # fmt: skip
    """Train until `rollouts`, in this process, resuming what is there."""
    flags = [*FLAGS, "--env.name", game, "--run.directory", str(folder), "--run.name", "r", "--run.seed", str(seed),
             "--run.shards", str(shards), "--run.total-steps", str(rollouts * STEPS),
             "--run.checkpoint-every", str(every)]  # fmt: skip
    config = load_config("", flags, folder)
    store = RunStore(folder, "r")
    with contextlib.closing(Run(config, store, Tracker())) as run:
        if sink is not None:
            run.tracker.add("death", sink)
        run.resume()
        train(run)


def digest(folder: Path) -> str:
    """SHA-256 over every file of the newest checkpoint but the clock and the config, which names the total."""
    checkpoint = RunStore(folder, "r").latest()
    assert checkpoint is not None
    sha = hashlib.sha256()
    for name in sorted(checkpoint.files):
        if name not in (CLOCK, "config.json"):
            sha.update(name.encode() + checkpoint.files[name])
    return sha.hexdigest()


@pytest.mark.parametrize(("game", "shards"), [("connect4", 1), ("kuhn", 2), ("nh", 1)])
def test_twenty_rollouts_equal_ten_and_a_new_process_and_ten(tmp_path, game, shards):
    run_to(tmp_path / "straight", game, 20, shards)
    in_new_process(tmp_path, f"run_to(Path({str(tmp_path / 'halves')!r}), {game!r}, 10, {shards})")
    run_to(tmp_path / "halves", game, 20, shards)
    assert digest(tmp_path / "straight") == digest(tmp_path / "halves")


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path):
    digests = []
    for repeat in range(5):
        run_to(tmp_path / str(repeat), "kuhn", 4)
        digests.append(digest(tmp_path / str(repeat)))
    assert len(set(digests)) == 1
    run_to(tmp_path / "other", "kuhn", 4, seed=8)
    assert digest(tmp_path / "other") != digests[0]


def test_a_run_resumes_with_another_number_of_shards(tmp_path):
    run_to(tmp_path, "kuhn", 4, shards=2)
    run_to(tmp_path, "kuhn", 6, shards=1)
    checkpoint = RunStore(tmp_path, "r").latest()
    assert checkpoint is not None
    assert checkpoint.step == 6 * STEPS


class Death:
    """A metrics sink that ends its process at a random instant after a given rollout, as a power cut would.

    On a slow machine the instant may come late; the rollout after the next waits for it, so that it always comes.
    """

    def __init__(self, rollout: int, delay_s: float) -> None:
        self.rollout, self.delay_s = rollout, delay_s
        self.seen = 0

    def write(self, point: Point) -> None:
        if point.rollouts < self.rollout:
            return
        self.seen += 1
        if self.seen == 1:
            Timer(self.delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif self.seen == 2:
            time.sleep(60.0)

    def close(self) -> None:
        pass


def kill_often(folder: Path, game: str, kills: int) -> int:
    """Fork a trainer that resumes and dies, over and over; returns how many died of it. Checkpoints every second
    rollout."""
    rng, died = random.Random(4), 0
    for rollout in sorted(rng.sample(range(2, KILLED_ROLLOUTS - 1), kills)):
        death = Death(rollout, rng.uniform(0.0, 0.05))
        child = os.fork()  # a new interpreter for each would spend its life importing
        if child == 0:
            run_to(folder, game, KILLED_ROLLOUTS, every=2 * STEPS, sink=death)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        died += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return died


def in_new_process(folder: Path, call: str) -> str:
    """What a call of this module's function prints, from a fresh interpreter."""
    script = folder / "call.py"
    script.write_text(
        f"import sys\nfrom pathlib import Path\n\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from test_resume import *\n\nif __name__ == '__main__':\n    print({call})\n"
    )
    return subprocess.run(
        [sys.executable, str(script)], check=True, timeout=1800, capture_output=True, text=True
    ).stdout


def check_kills(folder: Path, game: str, kills: int) -> None:
    killed = folder / "killed"
    assert int(in_new_process(folder, f"kill_often(Path({str(killed)!r}), {game!r}, {kills})")) == kills
    for one in (folder / "straight", killed):
        run_to(one, game, KILLED_ROLLOUTS, every=2 * STEPS)
    assert digest(folder / "straight") == digest(killed)
    print(f"figures: {game}, {kills} kills at random instants: all bytes of the state equal")


@pytest.mark.skipif(os.name == "nt", reason="forks and sends SIGKILL")
def test_three_random_kill_points_change_nothing(tmp_path):
    check_kills(tmp_path, "kuhn", 3)


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="forks and sends SIGKILL")
@pytest.mark.parametrize("game", ["connect4", "nh"])
def test_25_random_kill_points_change_nothing(tmp_path, game):
    check_kills(tmp_path, game, 25)
