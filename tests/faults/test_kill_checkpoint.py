"""R1: kill -9 while checkpointing. Every kill resumes, and nothing that loads differs from what was written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks and sends SIGKILL")


def kill(folder, rounds, seed):
    """Counts of kill_writer.py, run in a small fresh interpreter."""
    script = Path(__file__).with_name("kill_writer.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(rounds), str(seed)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def check(counts, rounds):
    """What R1 promises."""
    assert counts["kills"] == rounds
    assert counts["random"] >= rounds // 2
    assert counts["steps"] > 0
    for never in ("lost", "different", "too_old", "too_new", "torch"):
        assert counts[never] == 0, counts
    print(f"figures: {rounds} kills, {counts['lost']} runs lost, {counts['different']} states differ")
    assert counts["folders"] == 2  # as many as are kept: what the dead left lying was cleared away


def test_200_kills(tmp_path):
    check(kill(tmp_path, 200, seed=1), 200)


@pytest.mark.nightly
def test_1000_kills(tmp_path):
    check(kill(tmp_path, 1000, seed=2), 1000)
