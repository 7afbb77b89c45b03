"""The compiled fights never index outside an array: a build with bounds checks over random and recorded fights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_no_index_leaves_its_array(tmp_path):
    script = Path(__file__).parent / "bounds_checked.py"
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PVP_ML_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script), "10000"], env=checked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("10000 ticks") == 2
    print("figures: " + "; ".join(done.stdout.splitlines()))
