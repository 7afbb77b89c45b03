"""Lets tests of any folder import `specimens`, and keeps matrix products on one thread: a busy machine is the rule."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "rl"))
