"""Programs outside in a seat: the worked example sees and does what our own model does; bad answers are refused."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.external.driver import ExternalDriver
from pvp_ml.games.rocket_league.external.state import Spectator, state_of
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.match import Bot, External, MatchPlan, StepBuffers
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes
from pvp_ml.players import BundlePlayer

pytest.importorskip("RocketSim")

CONFIG = RocketLeagueConfig(meshes="generated", timeout_s=20.0, setters={"random": 1.0})
OWN_MODEL = [sys.executable, "-m", "pvp_ml.games.rocket_league.external.own_model"]


def bundle():
    spec, network, rng = describe(CONFIG), NetworkConfig(trunk=(16,)), np.random.default_rng(3)
    shapes = tensor_shapes(network, spec.interface)
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return make_bundle(spec, network, tensors, empty_normalizer(network, spec.interface))


def begun(rival=None):
    game = RocketLeagueGame(CONFIG, 2)
    out = StepBuffers.allocate(game.spec, 2)
    rival = rival or External("b")
    game.queue([MatchPlan(7, 1, (External("a"), rival)), MatchPlan(9, 2, (External("a"), rival))])
    game.start(out)
    return game, out


def test_a_state_holds_the_whole_observation_and_mask():
    game, out = begun()
    spectator, rng = Spectator(CONFIG), np.random.default_rng(5)
    for _ in range(40):
        for row in (0, 1):
            state = json.loads(json.dumps(state_of(game, row)))
            for seat in (0, 1):
                obs, mask = spectator.see(state, seat)
                np.testing.assert_allclose(obs, out.obs[row, seat], atol=2e-4)
                assert np.array_equal(mask & out.acting[row, seat], out.mask[row, seat])
        choices = [[rng.choice(np.flatnonzero(mask)) for mask in row] for row in out.mask]
        game.step(np.array(choices, np.int32)[:, :, None], out)
    game.close()


def test_our_own_model_outside_chooses_as_it_does_inside(tmp_path):
    """The worked example of the docs, in a process of its own."""
    model = bundle()
    write_bundle(tmp_path / "own.zip", model)
    game, out = begun(Bot("chaser"))
    inside = BundlePlayer(model, game.spec, True)
    outside = ExternalDriver(game, [*OWN_MODEL, str(tmp_path / "own.zip")])
    outside.begin(np.array([7, 9]))
    same = 0
    for _ in range(30):
        asked = np.nonzero(out.acting)
        given = (out.serial[asked[0]], asked[1].astype(np.int32), out.obs[asked], out.mask[asked])
        keys = np.zeros(len(asked[0]), np.uint64)
        mine, theirs = inside.decide(*given, keys), outside.decide(*given, keys)
        same += int((mine == theirs).all(1).sum())
        actions = np.full((2, 2, 1), -1, np.int32)
        actions[asked] = theirs
        game.step(actions, out)
    assert same >= 57  # of 60: rows of the table that do the same to a car may differ
    outside.close()
    game.close()


BAD = {
    "nothing ready": ("print('{}')", "did not say that it is ready"),
    "no JSON": ("print('hello')", "answered hello"),
    "the end": ("pass", "has ended"),
    "seven numbers": ("print('{\"ready\": true}', flush=True); input(); print('{\"controls\": [[0,0,0,0,0,0,0]]}')",
                      "answered no 1 × 8 controls"),
    "too much": ("print('{\"ready\": true}', flush=True); input(); print('{\"controls\": [[2,0,0,0,0,0,0,0]]}')",
                 "outside −1…1"),
    "not a number": ("print('{\"ready\": true}', flush=True); input(); print('{\"controls\": [[NaN,0,0,0,0,0,0,0]]}')",
                     "outside −1…1"),
    "silence": ("print('{\"ready\": true}', flush=True); import time; time.sleep(60)", "gave no answer for 0.2 s"),
}  # fmt: skip


@pytest.mark.parametrize("which", BAD, ids=lambda w: w.replace(" ", "-"))
def test_what_a_program_answers_is_not_trusted(which):
    code, error = BAD[which]
    game, out = begun(Bot("idle"))
    with pytest.raises(UserError, match=error):
        driver = ExternalDriver(
            game, [sys.executable, "-c", f"input(); {code}"], answer_s=0.2 if which == "silence" else 30
        )
        driver.decide(np.array([7]), np.array([0], np.int32), out.obs[:1, 0], out.mask[:1, 0], np.zeros(1, np.uint64))
    game.close()


def test_a_preset_cannot_start_a_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign.yml").write_text("env: {name: rocket_league}\neval: {opponents: ['external:touch obeyed']}")
    assert run(["train", "--preset", "foreign.yml", "--total-timesteps", "1"]) == 2
    assert "'external:touch obeyed' is neither a bot" in capsys.readouterr().err
    assert not (tmp_path / "obeyed").exists()


def test_eval_seats_a_program_and_refuses_what_cannot(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_bundle(tmp_path / "own.zip", bundle())
    (tmp_path / "straight.py").write_text(
        "import json, sys\nsys.stdin.readline(); print('{\"ready\": true}', flush=True)\n"
        "for line in sys.stdin:\n"
        "    turns = json.loads(line)['turns']\n"
        "    print(json.dumps({'controls': [[1, 0, 0, 0, 0, 0, 0, 0]] * len(turns)}), flush=True)\n"
    )
    words = ["eval", "--model", "own.zip", "--matches", "2", "--meshes", "generated", "--timeout-s", "2", "--json"]
    assert run([*words, "--against", f"external:{shlex.quote(sys.executable)} straight.py"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["results"]
    assert (report["second"], report["matches"]) == ("external:straight.py", 2)
    assert run(["eval", "--model", "random", "--game", "connect4", "--against", "external:true"]) == 2
    assert "'connect4' cannot seat a program" in capsys.readouterr().err
    assert run([*words, "--against", "external:no-such-program-here"]) == 2
    assert "there is no program 'no-such-program-here'" in capsys.readouterr().err
