"""Training from a script, on the same folders as the command line."""

import numpy as np
import pytest

import pvp_ml
from pvp_ml.cli import run as command
from pvp_ml.scripting.runs import flags

SMALL = {
    "shards": 1, "view": "off", "tensorboard": False, "env": {"matches": 16},
    "ppo": {"n_steps": 8, "batch_size": 64}, "network": {"trunk": [16]}, "eval": {"matches": 8},
}  # fmt: skip


def test_settings_become_flags():
    words = flags({"learning_rate": 3e-4, "ppo": {"clip": {"type": "linear", "initial_value": 0.2}}, "name": "x y"})
    assert words == ["--learning-rate=0.0003", '--ppo.clip={"type": "linear", "initial_value": 0.2}', "--name=x y"]
    assert flags({"run": {"seed": np.int64(3)}, "wandb": ""}) == ["--run.seed=3", "--wandb="]


def test_a_run_trains_resumes_and_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = pvp_ml.train(game="connect4", name="a", total_steps=256, **SMALL)
    assert run.folder.samefile(tmp_path / "experiments/a")
    assert run.metrics["steps"][-1] == 256
    assert len({len(column) for column in run.metrics.values()}) == 1, "columns of equal length"
    assert np.isnan(run.metrics["eval/win_rate"][0])
    assert 0.0 <= run.metrics["eval/win_rate"][-1] <= 1.0
    longer = pvp_ml.train(game="connect4", name="a", total_steps=512, **SMALL)
    assert longer.metrics["steps"][-1] == 512, "the same name resumes"
    assert longer.metrics["rollouts"].max() == 4
    result = longer.evaluate("random", matches=10, seed=2)
    assert result.total.matches == 10
    assert longer.model.name == "a"
    assert command(["eval", "--model", "experiments/a/model.zip", "--against", "random", "--matches", "4"]) == 0


def test_a_run_is_found_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pvp_ml.UserError, match="there is no run 'b'"):
        pvp_ml.find_run("b")
    (tmp_path / "experiments/b").mkdir(parents=True)
    with pytest.raises(pvp_ml.UserError, match="has no model yet"):
        _ = pvp_ml.find_run("b").model


def test_a_wrong_setting_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pvp_ml.UserError, match="did you mean --learning-rate"):
        pvp_ml.train(game="connect4", learning_rat=1)
