"""Tests see nothing of the user: another home, an empty environment, one locale, time zone and terminal.

What takes minutes to make (compiled fights, the VGC simulator) is kept in `.test-cache` at the project's root; both are
keyed by everything they depend on. Also for tests of any folder: `specimens`, and the seed and bars of learning.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent / "rl"))
sys.path.insert(0, str(Path(__file__).parent))

from surroundings import clean_environment  # noqa: E402

if os.environ.get("PVP_ML_TESTED") != str(ROOT):  # pytest's workers inherit what the first process made
    home = tempfile.mkdtemp(prefix="pvp-ml-tests-")
    owner = os.getpid()  # processes that are forked from this one run its exit functions too
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(home, ignore_errors=True))
    clean = clean_environment(dict(os.environ), home, str(ROOT / ".test-cache"))
    os.environ.clear()
    os.environ.update(clean, PVP_ML_TESTED=str(ROOT))
    if hasattr(time, "tzset"):
        time.tzset()

pytest_plugins = ["margins", "schedule"]


def pytest_collection_finish():
    """torch, numba and all tests are a million objects that stay; the collector need not go through them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def installation():
    """The VGC simulator, fetched into the tests' own cache by one worker while others wait.

    Without Node or a network every test that needs it is skipped.
    """
    from pvp_ml.errors import UserError
    from pvp_ml.games.vgc.node import install

    (ROOT / ".test-cache").mkdir(exist_ok=True)
    with FileLock(ROOT / ".test-cache" / "vgc.lock"):
        try:
            install.setup(print)
            return install.find()
        except UserError as error:
            pytest.skip(f"NO VGC SIMULATOR, NOT TESTED: {error}")
