import sys
from pathlib import Path

import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.node import install

sys.path.insert(0, str(Path(__file__).parent))  # vgc_playing, vgc_tracing


@pytest.fixture(scope="session")
def installation():
    """The simulator; fetched when it is missing. Without Node or a network every test that needs it is skipped."""
    try:
        return install.find()
    except UserError:
        try:
            install.setup(print)
            return install.find()
        except UserError as error:
            pytest.skip(f"NO VGC SIMULATOR, NOT TESTED: {error}")


@pytest.fixture
def build(installation):
    """Builds games and closes them."""
    from pvp_ml.games.vgc.config import VgcConfig
    from pvp_ml.games.vgc.game import VgcGame

    games = []

    def make(matches=1, **settings):
        games.append(VgcGame(VgcConfig(**{"workers": 1, **settings}), matches))
        return games[-1]

    yield make
    for game in games:
        game.close()
