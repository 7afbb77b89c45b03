"""R4 and R5: a run that was interrupted ends exactly like one that was not; the same seed gives the same run."""

import contextlib
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from pvp_ml.run.checkpoint import CLOCK
from pvp_ml.run.config import load_config
from pvp_ml.run.store import RunStore
from pvp_ml.run.tracking import Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 16 * 8  # one rollout: 16 matches × 8 steps
FLAGS = ["--env.matches", "16", "--ppo.n-steps", "8", "--ppo.batch-size", "64", "--eval.every", "0",
         "--network.trunk", "[16]", "--self-play.strategy", "past", "--self-play.snapshot-every", str(3 * STEPS),
         "--run.checkpoint-every", "1000000000"]  # fmt: skip


def run_to(folder: Path, game: str, rollouts: int, shards: int = 1, seed: int = 7) -> None:
    """Train until `rollouts`, in this process, resuming what is there."""
    flags = [*FLAGS, "--env.name", game, "--run.directory", str(folder), "--run.name", "r", "--run.seed", str(seed),
             "--run.shards", str(shards), "--run.total-steps", str(rollouts * STEPS)]  # fmt: skip
    config = load_config("", flags, folder)
    store = RunStore(folder, "r")
    with contextlib.closing(Run(config, store, Tracker())) as run:
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


@pytest.mark.parametrize(("game", "shards"), [("connect4", 1), ("kuhn", 2)])
def test_twenty_rollouts_equal_ten_and_a_new_process_and_ten(tmp_path, game, shards):
    run_to(tmp_path / "straight", game, 20, shards)
    for rollouts in (10, 20):
        script = tmp_path / f"half-{rollouts}.py"
        script.write_text(
            f"import sys\nfrom pathlib import Path\n\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from test_resume import run_to\n\nif __name__ == '__main__':\n"
            f"    run_to(Path({str(tmp_path / 'halves')!r}), {game!r}, {rollouts}, {shards})\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, timeout=300)
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
