"""Models that fit the games, and a server in a thread that tests talk to."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browsing import launched, window
from ringside import Ringside, bundle_for

from pvp_ml import data_files
from pvp_ml.model.bundle import write_bundle


@pytest.fixture(scope="session")
def corner(tmp_path_factory):
    """A working directory with a random model for each game in `models/`, except where a real one ships."""
    folder = tmp_path_factory.mktemp("corner")
    (folder / "models").mkdir()
    for name, game in (("GeneralizedNh", "nh"), ("Axe", "dharok"), ("Stones", "connect4")):
        if not (data_files.PACKAGE / "models" / f"{name}.zip").is_file():
            write_bundle(folder / "models" / f"{name}.zip", bundle_for(game))
    return folder


@pytest.fixture(scope="session")
def board(corner, tmp_path_factory):
    """Connect 4 on a server without limits of rate."""
    with Ringside("connect4", corner, tmp_path_factory.mktemp("kept"), messages_per_s=1e9, burst=1e9) as ring:
        yield ring


@pytest.fixture(scope="session")
def fight(corner, tmp_path_factory):
    """NH on a server with the usual limits."""
    with Ringside("nh", corner, tmp_path_factory.mktemp("kept")) as ring:
        yield ring


@pytest.fixture(scope="module")
def browser():
    with launched() as started:
        yield started


@pytest.fixture
def page(browser):
    """A wide window, dark."""
    with window(browser) as opened:
        yield opened


@pytest.fixture
def picture(tmp_path):
    """`picture(page, name)` keeps a screenshot; PVP_ML_SCREENSHOTS=FOLDER says where."""
    folder = Path(os.environ.get("PVP_ML_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=folder / f"{name}.png")
