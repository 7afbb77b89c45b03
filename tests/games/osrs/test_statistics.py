"""How fights between scripted players end, against what was measured on the original server (fights in brackets)."""

from pathlib import Path

import pytest

from pvp_ml.games import registry
from pvp_ml.selfplay.evaluate import evaluate, find_contestant

BUILDS = {"pure": 138, "zerker": 151, "med": 163, "lms-pure": 200, "lms-zerker": 229, "lms-med": 235}


def play(first, second, matches, scenario="default"):
    kind = registry.find("nh")
    game = kind.build(kind.config(), 256)
    sides = [find_contestant(name, game.spec, Path()) for name in (first, second)]
    return evaluate(game, *sides, matches, scenarios=[scenario]).to_json()


@pytest.mark.nightly
def test_nh_plugin_against_the_bot():
    """37.3 % (30.9–44.1), 184 ticks."""
    result = play("nh-plugin", "nh-bot", 2000)
    assert result["score"] == pytest.approx(0.373, abs=0.06) and result["mean_steps"] == pytest.approx(184, abs=8)


@pytest.mark.nightly
def test_random_against_the_bot():
    assert play("random", "nh-bot", 2000)["score"] == pytest.approx(0.275, abs=0.04)


@pytest.mark.nightly
def test_nh_plugin_against_itself():
    assert play("nh-plugin", "nh-plugin", 2000)["mean_steps"] == pytest.approx(186, abs=8)


@pytest.mark.nightly
@pytest.mark.parametrize("build", BUILDS)
def test_length_of_fights_by_build(build):
    result = play("nh-plugin", "nh-plugin", 2000, f"build-{build}")
    assert result["mean_steps"] == pytest.approx(BUILDS[build], rel=0.05)
