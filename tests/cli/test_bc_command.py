"""`pvp-ml bc record|train` end to end, and what it refuses."""

from pvp_ml.cli import run
from pvp_ml.model.bundle import read_bundle


def test_record_then_train_gives_a_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["bc", "record", "noop", "--game", "connect4", "--out", "r.zip", "--matches", "12"]) == 0
    assert "decisions of noop" in capsys.readouterr().out
    flags = ["--env.name", "connect4", "--network.trunk", "[16]", "--epochs", "2"]
    assert run(["bc", "train", "--recording", "r.zip", "--out", "clone.zip", *flags]) == 0
    assert "same action" in capsys.readouterr().out
    assert read_bundle(tmp_path / "clone.zip").network.trunk == (16,)
    assert run(["bc", "train", "--recording", "clone.zip", "--out", "x.zip", *flags]) == 2
    assert run(["bc", "record", "noop", "--game", "connect4", "--out", "nowhere/r.zip", "--matches", "2"]) == 2
    assert run(["bc", "record", "tactician", "--game", "connect4", "--out", "b.zip", "--matches", "2"]) == 2
    errors = capsys.readouterr().err
    assert "bot inside the game" in errors and "cannot write" in errors
