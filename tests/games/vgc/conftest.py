import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # vgc_playing, vgc_tracing


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
