"""Flags that say where matches are played, and what is refused before anything starts."""

import pytest

from pvp_ml.cluster.local import LocalShards
from pvp_ml.errors import UserError
from pvp_ml.match import Live
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.placement import object_store_bytes, open_shards
from pvp_ml.run.trainer import blueprint
from pvp_ml.selfplay.plans import LineupMix

GAME = ["--game", "connect4", "--env.matches", "8", "--network.trunk", "[8]", "--run.shards", "1"]
SELF = LineupMix(((1.0, (Live(), Live())),))


@pytest.mark.parametrize(
    ("flags", "distribute", "is_used"),
    [
        ([], False, False),
        (["--distribute"], True, True),
        (["--distributed"], True, True),
        (["--distributed", "--run.seed", "3"], True, True),
        (["--distribute", "4"], 4, True),
        (["--distribute=4"], 4, True),
        (["--distribute", "1"], 1, True),
        (["--distribute", "--ray-address", "auto"], True, True),
        (["--ray-address", "10.0.0.1:6379"], False, True),
        (["--no-distribute"], False, False),
    ],
)
def test_flags(tmp_path, flags, distribute, is_used):
    cluster = load_config("", [*GAME, *flags], tmp_path).cluster
    assert cluster.distribute == distribute
    assert type(cluster.distribute) is type(distribute)
    assert cluster.is_used is is_used


@pytest.mark.parametrize("flags", [["--distribute", "-3"], ["--distribute", "many"], ["--staleness", "-1"]])
def test_nonsense_is_refused(tmp_path, flags):
    with pytest.raises(UserError):
        load_config("", [*GAME, *flags], tmp_path)


def test_an_address_alone_in_the_environment_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    shards = open_shards(load_config("", GAME, tmp_path), SELF, tmp_path)
    assert isinstance(shards, LocalShards)
    shards.close()


def test_the_environment_gives_the_address_of_a_distributed_run(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: not tested")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        open_shards(load_config("", [*GAME, "--distribute", "2"], tmp_path), SELF, tmp_path)


def test_more_workers_than_matches_is_refused(tmp_path):
    with pytest.raises(UserError, match="9 workers for 8 matches"):
        open_shards(load_config("", [*GAME, "--distribute", "9"], tmp_path), SELF, tmp_path)


def test_the_object_store_holds_two_rollouts_of_everybody(tmp_path):
    """Connect 4: 84 features, 7 choices, 1 head; 8 matches of 2 seats, 32 steps and 2 more."""
    plan = blueprint(load_config("", GAME, tmp_path))
    spec = plan.spec()
    row = 4 * spec.obs_size + 7 + 4 + 32
    assert object_store_bytes(plan) == 2 * 8 * 2 * 34 * row + 64 * 1024 * 1024
