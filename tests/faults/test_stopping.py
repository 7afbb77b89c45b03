"""R15: a trainer stopped at any moment saves, leaves within 5 s, and leaves nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "stop_trials.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def trials(count: int, two_shards: int, folder: Path) -> list[dict]:
    command = [sys.executable, str(SCRIPT), str(count), str(two_shards), str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def check(results: list[dict], count: int) -> None:
    assert len(results) == count
    for result in results:
        assert result["children"] == [], result
        assert result["memory"] == [], result
        assert result["took"] <= 5.0 * result["slowness"], result
        assert result["saved"] == result["steps"], result
        stopped_in_startup = result["code"] == -15 and result["signal"] == "SIGTERM" and not result["steps"]
        assert result["code"] == 130 or stopped_in_startup, result
    slowest = max(result["took"] / result["slowness"] for result in results)
    print(f"figures: {count} stops, slowest exit {slowest:.1f} s, 0 children, 0 shared memory left")
    assert sum(result["steps"] > 0 for result in results) >= count // 2
    assert {result["signal"] for result in results} == {"SIGINT", "SIGTERM"}


def test_ten_times(tmp_path):
    check(trials(10, 1, tmp_path), 10)


@pytest.mark.nightly
def test_a_hundred_times(tmp_path):
    check(trials(100, 40, tmp_path), 100)
