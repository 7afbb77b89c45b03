"""A seat held by a server: the same matches as when the model plays here."""

import numpy as np
import pytest
from served_duel import bundle_of, running

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.registry import find
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.serve.remote_player import RemotePlayer


def connect4():
    game = find("connect4")
    return game.build(game.config(), 16)


@pytest.fixture
def model(tmp_path):
    spec, network = connect4().spec, NetworkConfig(trunk=(16,))
    rng = np.random.default_rng(1)
    tensors = {n: rng.normal(size=s).astype(np.float32) for n, s in tensor_shapes(network, spec.interface).items()}
    statistics = {n: np.ones(s) for n, s in normalizer_shapes(network, spec.interface).items()}
    write_bundle(tmp_path / "mine.zip", make_bundle(spec, network, tensors, statistics))
    return tmp_path / "mine.zip"


def test_greedy_matches_are_the_same_here_and_there(model):
    game = connect4()
    here = find_contestant(str(model), game.spec, model.parent, greedy=True)
    random = find_contestant("bot:random", game.spec, model.parent)
    expected = evaluate(game, here, random, 60).total
    with running(models=(model,)) as server:
        url = f"tcp://127.0.0.1:{server.ports[0]}/mine"
        there = Contestant("there", make=lambda spec: RemotePlayer(url, spec, greedy=True))
        assert evaluate(connect4(), there, random, 60).total == expected


def test_the_command_takes_an_address(model, capsys):
    with running(models=(model,)) as server:
        address = f"tcp://127.0.0.1:{server.ports[0]}"
        assert run(["eval", "--model", str(model), "--against", address, "--matches", "10", "--json"]) == 0
    assert '"matches": 10' in capsys.readouterr().out


def test_a_server_that_is_gone_or_serves_another_game_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="does not answer"):
        evaluate(connect4(), Contestant("x", make=lambda s: RemotePlayer("tcp://127.0.0.1:1/x", s)), _noop(), 2)
    write_bundle(tmp_path / "duel.zip", bundle_of(NetworkConfig(trunk=(8,))))
    with running(models=(tmp_path / "duel.zip",)) as server:
        url = f"tcp://127.0.0.1:{server.ports[0]}/duel"
        with pytest.raises(UserError, match="bad_obs"):
            evaluate(connect4(), Contestant("x", make=lambda s: RemotePlayer(url, s)), _noop(), 2)
    with pytest.raises(UserError, match="is no address"):
        RemotePlayer("http://x", connect4().spec)


def _noop():
    return find_contestant("player:noop", connect4().spec, None)
