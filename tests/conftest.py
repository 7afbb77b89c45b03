"""Tests see nothing of the user: another home, an empty environment, one locale, time zone and terminal.

What takes minutes to make (compiled fights, the VGC simulator) is kept in `.test-cache` at the project's root; both are
keyed by everything they depend on. Also for tests of any folder: `specimens`, and the seed and bars of learning.
"""

import atexit
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent
KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC", "PATHEXT", "CI", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
KEPT_PREFIXES = (
    "PYTEST_", "COV_", "COVERAGE_", "PIP_", "NPM_CONFIG_", "npm_config_", "SSL_CERT", "REQUESTS_CA", "NODE_EXTRA",
    "ATEN_", "OPENBLAS_", "MKL_", "BLIS_", "OMP_",  # how sums are rounded
)  # fmt: skip


def clean_environment(own: dict[str, str], home: str) -> dict[str, str]:
    """What tests and the processes they start may see; registries stay reachable through the user's settings."""
    kept = {name: value for name, value in own.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    user = Path(own.get("HOME") or own.get("USERPROFILE") or home)
    for name, place in (("PIP_CONFIG_FILE", ".config/pip/pip.conf"), ("NPM_CONFIG_USERCONFIG", ".npmrc")):
        if (user / place).is_file():
            kept.setdefault(name, str(user / place))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a busy machine is the rule
    return kept | threads | {
        "HOME": home, "USERPROFILE": home, "LOCALAPPDATA": home, "PVP_ML_CACHE": str(ROOT / ".test-cache"),
        "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "COLUMNS": "100", "LINES": "40",
        "PYTHONUTF8": "1",
    }  # fmt: skip


if os.environ.get("PVP_ML_TESTED") != str(ROOT):  # pytest's workers inherit what the first process made
    home = tempfile.mkdtemp(prefix="pvp-ml-tests-")
    owner = os.getpid()  # processes that are forked from this one run its exit functions too
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(home, ignore_errors=True))
    clean = clean_environment(dict(os.environ), home)
    os.environ.clear()
    os.environ.update(clean, PVP_ML_TESTED=str(ROOT))
    if hasattr(time, "tzset"):
        time.tzset()

sys.path.insert(0, str(Path(__file__).parent / "rl"))
sys.path.insert(0, str(Path(__file__).parent))

from margins import learning_seed, margin, pytest_addoption, pytest_collection_modifyitems  # noqa: E402, F401


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
