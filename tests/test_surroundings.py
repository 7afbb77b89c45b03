"""Tests see nothing of the user, and the settings that tests read do reach them."""

import os
import re
from pathlib import Path

from surroundings import ASKED, clean_environment

TESTS = Path(__file__).parent


def test_only_ways_to_programs_and_registries_are_kept(tmp_path):
    user = tmp_path / "user"
    (user / ".config/pip").mkdir(parents=True)
    (user / ".config/pip/pip.conf").write_text("")
    own = {
        "HOME": str(user), "PATH": "/bin", "PIP_INDEX_URL": "x", "OPENBLAS_CORETYPE": "Haswell", "PYTHONPATH": "/x",
        "PVP_ML_HOME": "/x", "PVP_ML_CACHE": "/x", "PVP_ML_TOKEN": "x", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Tokyo",
        "REMOTE_ENV_PORT": "1", "PVP_ML_SOAK_S": "40", "OMP_NUM_THREADS": "8",
    }  # fmt: skip
    clean = clean_environment(own, "/empty", "/cache")
    assert clean["HOME"] == clean["USERPROFILE"] == "/empty" and clean["PVP_ML_CACHE"] == "/cache"
    assert (clean["LANG"], clean["TZ"], clean["OMP_NUM_THREADS"]) == ("C.UTF-8", "UTC", "1")
    assert clean["PIP_CONFIG_FILE"] == str(user / ".config/pip/pip.conf")
    assert {"PATH", "PIP_INDEX_URL", "OPENBLAS_CORETYPE", "PVP_ML_SOAK_S"} <= clean.keys()
    assert not {"PYTHONPATH", "PVP_ML_HOME", "PVP_ML_TOKEN", "REMOTE_ENV_PORT"} & clean.keys()


def test_every_setting_that_a_test_reads_reaches_it():
    read = re.compile(r"""environ(?:\.get)?[\[(]["'](PVP_ML_\w+)""")
    found = {name for path in TESTS.rglob("*.py") for name in read.findall(path.read_text(encoding="utf-8"))}
    assert {"PVP_ML_SOAK_S", "PVP_ML_TRACES"} <= found
    assert found - {"PVP_ML_TESTED", "PVP_ML_CACHE"} <= set(ASKED)  # those two come from conftest.py


def test_this_process_has_a_home_of_its_own():
    home = Path(os.environ["HOME"])
    assert "pvp-ml-tests-" in home.name and Path.home() == home
    assert os.environ["PVP_ML_CACHE"] == str(TESTS.parent / ".test-cache")
