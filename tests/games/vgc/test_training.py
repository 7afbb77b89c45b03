"""From recording to a trained model, through the commands that the page of the game names."""

import json
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.model.bundle import read_bundle
from pvp_ml.model.network_config import is_critic

TEAMS = ["--env.teams", '["miraidon-offence", "shadow-rider"]', "--env.workers", "1"]
SMALL = [
    "--env.matches", "8", "--ppo.n-steps", "8", "--ppo.batch-size", "64", "--run.shards", "1", "--eval.matches", "4",
    "--eval.every", "0", "--run.total-steps", "128", "--tracking.tensorboard", "false", "--tracking.view", "off",
]  # fmt: skip


@pytest.fixture(scope="module")
def clone(installation, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    recording, model = str(folder / "teacher.zip"), str(folder / "clone.zip")
    assert run(["bc", "record", "vgc", "--bot", "max-power", "--matches", "12", "--out", recording, *TEAMS]) == 0
    assert run(["bc", "train", "--preset", "vgc/bc-warm-start", "--recording", recording, "--out", model]) == 0
    return model


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_clone_becomes_the_start_and_the_teacher(clone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["train", "--preset", "vgc/bc-warm-start", "--bc-model", clone, "--name", "a", *SMALL,
                "--ppo.critic-warmup", "9"]) == 0  # fmt: skip
    before, after = read_bundle(Path(clone)).tensors, read_bundle(tmp_path / "experiments/a/model.zip").tensors
    for name, array in after.items():  # only the critic has learned, from a fresh start
        assert np.array_equal(array, before[name]) == (not is_critic(name)), name
    assert run(["train", "--preset", "vgc/bc-warm-start", "--bc-model", clone, "--name", "b", *SMALL,
                "--ppo.critic-warmup", "0"]) == 0  # fmt: skip
    rows = [row for row in metrics(tmp_path / "experiments/b") if "ppo/kl_teacher" in json.dumps(row)]
    assert rows, "the clone is also the teacher"


def test_without_its_clone_the_preset_says_what_it_needs(installation, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["train", "--preset", "vgc/bc-warm-start", "--name", "c", *SMALL]) == 2
    assert "--bc-model FILE" in capsys.readouterr().err
