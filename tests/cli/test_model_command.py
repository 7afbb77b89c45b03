import json
from pathlib import Path

import pytest

from pvp_ml.cli import run
from pvp_ml.games import registry
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes


@pytest.fixture
def models(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PVP_ML_HOME", str(tmp_path / "home"))
    kind = registry.find("connect4")
    spec, network = kind.spec(kind.config()), NetworkConfig(trunk=(8,))
    tensors = {name: np.zeros(shape, np.float32) for name, shape in tensor_shapes(network, spec.interface).items()}
    (tmp_path / "models").mkdir()
    write_bundle(
        tmp_path / "models/zero.zip", make_bundle(spec, network, tensors, empty_normalizer(network, spec.interface))
    )
    return tmp_path


def test_list_inspect_verify(models, capsys):
    assert run(["model", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["models"]
    assert ("zero", "connect4") in [(row["name"], row["game"]) for row in rows]
    assert run(["model", "inspect", "zero"]) == 0
    shown = capsys.readouterr().out
    assert "column 7" in shown
    assert run(["model", "inspect", "zero", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["game"] == "connect4"
    assert run(["model", "verify", "models/zero.zip"]) == 0
    assert "verified, connect4, fits the game" in capsys.readouterr().out


def test_the_list_says_who_is_hardest_and_where_a_file_is(models, capsys):
    assert run(["model", "list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.replace("│", "").splitlines()]
    rows = {cells[0]: cells for cells in lines if cells}
    ours = rows["SelfTaughtConnect4"]
    assert ours[-1] == "shipped"
    assert ours[ours.index("against") + 1] == "tactician", "not random, which it always beats"
    assert rows["zero"][-1] == str(Path("models/zero.zip")) and "measured" in rows["zero"]


def test_a_damaged_file_is_named(models, capsys):
    path = models / "models/zero.zip"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(bytes(data))
    assert run(["model", "verify", "zero"]) == 2
    assert "zero.zip" in capsys.readouterr().err
    (models / "models/junk.zip").write_bytes(b"no zip at all")
    assert run(["model", "list"]) == 0
    assert "cannot be read" in " ".join(capsys.readouterr().out.split())


def test_a_model_plays_without_its_path(models, capsys):
    assert run(["eval", "--model", "zero", "--against", "random", "--matches", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["matches"] == 10


def test_export_to_onnx_needs_no_torch_and_runs(models, capsys):
    import numpy as np

    onnxruntime = pytest.importorskip("onnxruntime")
    assert run(["model", "export", "zero", "--onnx", "zero.onnx"]) == 0
    file = models / "zero.onnx"
    assert f"{file.stat().st_size:,} bytes" in capsys.readouterr().out
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    mask = np.ones((3, 7), np.bool_)
    mask[1, :5] = False
    noise = np.zeros((3, 7), np.float32)
    noise[2, 4] = 1.0
    obs = np.zeros((3, session.get_inputs()[0].shape[1]), np.float32)
    actions, log_prob = session.run(None, {"obs": obs, "mask": mask, "noise": noise})
    assert actions.tolist() == [[0], [5], [4]]  # all alike: the first that is legal, unless noise says otherwise
    assert log_prob == pytest.approx(-np.log([7, 2, 7]), abs=1e-6)
    assert run(["model", "export", "zero"]) == 2
    assert "no format is chosen" in capsys.readouterr().err


def test_export_as_a_bot_asks_the_models_game(models, capsys):
    assert run(["model", "export", "zero", "--rlbot", "bot"]) == 2
    words = "game 'connect4' has no export as a bot of the original — choose from: rocket_league"
    assert words in capsys.readouterr().err and not (models / "bot").exists()


def test_models_of_runs_that_are_kept_elsewhere_are_listed(models, capsys):
    (models / "far/one").mkdir(parents=True)
    (models / "models/zero.zip").rename(models / "far/one/model.zip")
    assert run(["model", "list", "--json"]) == 0
    assert '"one"' not in capsys.readouterr().out
    assert run(["model", "list", "--directory", "far", "--json"]) == 0
    assert '"name": "one"' in capsys.readouterr().out


def test_flags_of_an_rlbot_folder_are_refused_without_one(models, capsys):
    assert run(["model", "export", "zero", "--onnx", "zero.onnx", "--tick-skip", "4"]) == 2
    assert "are for RLBot folders" in capsys.readouterr().err and not (models / "zero.onnx").exists()
