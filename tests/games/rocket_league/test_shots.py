"""Shots of packs: each is played once, within its own time, and strikers and goalies are judged differently."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.games.rocket_league.shots import attempt, sample, shots_config
from pvp_ml.match import IDLE, Bot, MatchPlan, StepBuffers

GOES_IN = {"ball": {"position": [0, 4300, 300], "velocity": [0, 3000, 0]}}
SLOWLY = {"ball": {"position": [0, 3000, 93.15], "velocity": [0, 1800, 0]}}
STAYS = {"ball": {"position": [2000, 0, 93.15]}}
OWN_NET = {"ball": {"position": [0, -4300, 300], "velocity": [0, -3000, 0]}}
CAR = {"team": "blue", "position": [3000, -3000, 17], "angles": [0, 0, 0]}


@pytest.fixture
def packs(tmp_path):
    def shots(*balls, seconds=3.0):
        return [{"seconds": seconds, "cars": [CAR], **ball} for ball in balls]

    striker = shots(GOES_IN, STAYS, SLOWLY) + shots(SLOWLY, seconds=0.5)
    for name, kind, content in (("a", "striker", striker), ("b", "goalie", shots(GOES_IN, STAYS, OWN_NET))):
        data = {"format": 1, "name": name, "kind": kind, "shots": content}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    return str(tmp_path)


def test_every_shot_is_judged_by_its_kind_and_within_its_time(rocketsim, packs):
    config, shots = shots_config(RocketLeagueConfig(meshes="generated", packs=(packs,)))
    done = attempt(config, np.arange(len(shots)), shots, bot="idle")
    assert [shot.pack for shot in done.shots] == ["a"] * 4 + ["b"] * 3
    # in · untouched · rolls in within three seconds · too late in half a second | theirs · nothing · conceded
    assert done.success.tolist() == [True, False, True, False, True, True, False]


def test_the_other_car_waits_where_the_shot_does_not_go(rocketsim, packs):
    """Striker's shots fly to +y, goalie's to −y; the ball of shot 1 of each kind is at x = 2000."""
    config, shots = shots_config(RocketLeagueConfig(meshes="generated", packs=(packs,)))
    game = RocketLeagueGame(config, len(shots))
    game.queue([MatchPlan(i, i, (Bot("idle"), Bot("idle")), "training_pack") for i in range(len(shots))])
    out = StepBuffers.allocate(game.spec, len(shots))
    game.start(out)
    for _ in range(15):
        game.step(np.full((len(shots), 2, 1), IDLE, np.int32), out)
    places = [[round(x, -2) for x in game.view(i)["cars"][1]["position"][:2]] for i in (0, 1, 4, 5)]
    game.close()
    assert places == [[3000, -3900], [-3000, -3900], [3000, 3900], [-3000, 3900]]


def test_a_sample_is_spread_evenly():
    assert sample(10, 0).tolist() == list(range(10)) and sample(10, 99).tolist() == list(range(10))
    assert sample(9, 3).tolist() == [0, 4, 8]


def test_the_command_counts_by_kind_and_pack(rocketsim, packs, capsys):
    words = ["bench", "shots", "idle", "--packs", packs, "--meshes", "generated", "--against", "chaser"]
    assert run([*words, "--json"]) == 0
    idle, chaser = json.loads(capsys.readouterr().out)["players"]
    assert (idle["player"], chaser["player"]) == ("idle", "chaser")
    assert idle["all"]["all"]["successes"] == 4 and idle["all"]["all"]["shots"] == 7
    assert idle["kind"]["goalie"]["share"] == pytest.approx(2 / 3)
    assert idle["pack"]["a"]["low"] < 0.5 < idle["pack"]["a"]["high"]
    assert run([*words, "--by-pack"]) == 0
    assert "57.1%" in capsys.readouterr().out


def test_without_packs_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="packs are not there"):
        shots_config(RocketLeagueConfig(meshes="generated", packs=("setup",)))
