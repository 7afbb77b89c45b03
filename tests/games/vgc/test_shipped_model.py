"""GeneralistVgc: fits the game as it is, says how strong it is, and beats the bots."""

from pathlib import Path

import pytest

import pvp_ml
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.model.bundle import read_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate

FILE = Path(pvp_ml.__file__).parent / "models" / "GeneralistVgc.zip"


def test_it_fits_and_its_card_has_the_figures():
    bundle = read_bundle(FILE)
    assert bundle.interface.digest == make_spec(VgcConfig()).interface_digest and bundle.network.pointer == 64
    assert [(result.opponent, result.matches) for result in bundle.metadata.results] == [("heuristics", 1000)] * 3
    for result in bundle.metadata.results:
        assert f"{result.score:.1%}" in bundle.card


@pytest.mark.parametrize(("bot", "matches", "share"), [("random", 24, 0.75), ("heuristics", 40, 0.65)])
def test_it_beats_the_bots(build, bot, matches, share):
    model = Contestant.of_bundle("GeneralistVgc", read_bundle(FILE), greedy=True)
    report = evaluate(build(8), model, Contestant(bot, bot=bot), matches, 3)
    assert report.total.score >= share


def test_it_states_a_chance_to_win_that_was_measured():
    found = read_bundle(FILE).metadata.calibration
    assert {one.opponent for one in found} >= {"self", "heuristics"} and all(one.brier < 0.25 for one in found)
