"""Schedules with `clock: run`, the finished share of the run, through a whole run."""

import json

import pytest

from pvp_ml.cli import run
from pvp_ml.run.tracking.tracker import read_metrics

SMALL = [
    "--game", "connect4", "--num-envs", "8", "--n-steps", "8", "--batch-size", "64", "--trunk", "[8]", "--shards", "1",
    "--eval.matches", "4", "--view", "off", "--no-tensorboard", "--total-steps", "192",
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def over_the_run(first: float, last: float) -> str:
    return json.dumps({"type": "linear", "initial_value": first, "final_value": last, "clock": "run"})


def test_rewards_and_the_teacher_may_follow_the_run(here):
    assert run(["train", *SMALL, "--name", "clone"]) == 0
    words = ["--reward.weights.win", over_the_run(1.0, 0.5), "--reward.zero-sum", over_the_run(0.0, 1.0),
             "--reward.team-spirit", over_the_run(0.0, 1.0), "--ppo.teacher.weight", over_the_run(1.0, 0.0),
             "--ppo.teacher.model", "experiments/clone/model.zip"]  # fmt: skip
    assert run(["train", *SMALL, "--name", "taught", *words]) == 0
    points = [p for p in read_metrics(here / "experiments/taught/metrics.jsonl") if "ppo/rows" in p]
    assert [point["steps"] for point in points] == [64, 128, 192]
    assert all(point["ppo/kl_teacher"] > 0.0 for point in points[1:]), "the first rollout only gathers statistics"


@pytest.mark.parametrize(
    "words", [["--reward.zero-sum", over_the_run(0.0, 1.0)], ["--learning-rate", over_the_run(1e-3, 0.0)]]
)
def test_a_run_without_an_end_has_no_such_clock(here, words, capsys):
    assert run(["train", *SMALL, "--total-steps", "0", "--name", "endless", *words]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert "has 'clock: run', but run.total_steps is 0" in printed
    assert words[0].strip("-").split(".")[-1].replace("-", "_") in printed
    assert not (here / "experiments").exists(), "nothing is written"
