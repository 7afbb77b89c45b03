"""The shipped models fit the game as it is, say how strong they are, and score, with teammates too."""

from pathlib import Path

import pytest

import pvp_ml
from pvp_ml.games.registry import find
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.model.bundle import read_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate

pytest.importorskip("RocketSim")

MODELS = Path(pvp_ml.__file__).parent / "models"
CONFIG = RocketLeagueConfig(meshes="generated", timeout_s=30.0)


@pytest.mark.parametrize("name", ["RocketRookie", "RocketStriker"])
def test_it_fits_and_its_card_has_the_figures(name):
    bundle = read_bundle(MODELS / f"{name}.zip")
    assert bundle.interface.digest == describe(CONFIG).interface_digest
    rungs = [rung for rung, _ in find("rocket_league").presentation.ladder]
    assert set(rungs) <= {result.opponent for result in bundle.metadata.results}
    for result in bundle.metadata.results:
        assert f"{result.score:.1%}" in bundle.card
    assert "Rating" in bundle.card


@pytest.mark.parametrize(
    ("mode", "name"), [("1v1", "RocketStriker"), ("2v2", "RocketDuo"), ("3v3", "RocketTrio"), ("2v1", "RocketStriker")]
)
def test_people_meet_the_strongest_one_of_their_mode(mode, name):
    rival = find("rocket_league").presentation.default_rival(CONFIG.model_copy(update={"mode": mode}))
    assert rival == name and (MODELS / f"{rival}.zip").is_file()


@pytest.mark.parametrize(("mode", "name"), [("2v2", "RocketDuo"), ("3v3", "RocketTrio")])
def test_a_team_fits_and_beats_chasers(mode, name):
    config = CONFIG.model_copy(update={"mode": mode, "timeout_s": 60.0})
    bundle = read_bundle(MODELS / f"{name}.zip")
    assert bundle.interface.digest == describe(config).interface_digest
    assert all(f"{result.score:.1%}" in bundle.card for result in bundle.metadata.results)
    game = find("rocket_league").build(config, 12)
    team, chasers = Contestant.of_bundle(name, bundle), Contestant("chaser", bot="chaser")
    report = evaluate(game, team, chasers, 12, 3, ("random_ground",))
    game.close()
    assert report.total.score >= 0.6  # 0.9 over 1,000 matches


def test_the_striker_scores_against_a_car_that_does_not_move():
    """Within half a minute, on the arena that it was not trained on."""
    game = find("rocket_league").build(CONFIG, 12)
    model = Contestant.of_bundle("RocketStriker", read_bundle(MODELS / "RocketStriker.zip"))
    report = evaluate(game, model, Contestant("idle", bot="idle"), 12, 3, ("random_ground",))
    game.close()
    assert report.total.score >= 0.75 and report.total.losses == 0
