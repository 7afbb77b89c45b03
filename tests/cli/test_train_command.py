"""Training as a user starts it: small runs in a folder of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import pip_install
from pvp_ml.model.bundle import read_bundle
from pvp_ml.run.tracking.tracker import read_metrics

SMALL = [
    "--game", "connect4", "--num-envs", "8", "--n-steps", "8", "--batch-size", "64", "--trunk", "[16]", "--shards", "1",
    "--eval.matches", "8", "--view", "off", "--no-tensorboard",
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_train_then_go_on(here, capsys):
    assert run(["train", *SMALL, "--name", "a", "--total-timesteps", "192"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"win rate against random: \d+\.\d % \(\d+\.\d–\d+\.\d\) over 8 matches", shown)
    folder = here / "experiments/a"
    assert read_bundle(folder / "model.zip").metadata.training.steps == 192
    assert [result.opponent for result in read_bundle(folder / "model.zip").metadata.results] == ["random"]
    assert [p["steps"] for p in read_metrics(folder / "metrics.jsonl")] == [64, 128, 192, 192]

    assert run(["train", *SMALL, "--name", "a", "--total-timesteps", "192"]) == 0
    assert "give a larger --total-timesteps" in capsys.readouterr().out

    assert run(["train", *SMALL, "--name", "a", "--total-timesteps", "320"]) == 0
    assert [p["steps"] for p in read_metrics(folder / "metrics.jsonl")] == [64, 128, 192, 192, 256, 320, 320]
    assert run(["eval", "--model", "experiments/a/model.zip", "--against", "random", "--matches", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["results"][0]["matches"] == 10


def test_the_saved_config_starts_the_same_run(here):
    assert run(["train", *SMALL, "--name", "a", "--total-timesteps", "64"]) == 0
    assert run(["train", "--preset", "experiments/a/config.yml", "--name", "b"]) == 0
    saved = [(here / f"experiments/{name}/config.yml").read_text() for name in "ab"]
    assert saved[0].replace("name: a", "name: b") == saved[1]
    points = [read_metrics(here / f"experiments/{name}/metrics.jsonl")[0] for name in "ab"]
    same = {k for k in points[0] if not k.startswith("time") and k != "seconds"}
    assert {k: points[0][k] for k in same} == {k: points[1][k] for k in same}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--ppo.gama", "1"], "did you mean --ppo.gamma?"),
        (["--self-play.opponents.ghost", "1"], "has no opponent 'ghost'"),
        (["--eval.opponents", "[ghost]"], "'ghost' is neither a bot"),
        (["--name", "../x"], "run name '../x' is not usable"),
        (["--name", "all"], "run name 'all' is not usable"),
        (["--keep-checkpoints", "1"], "keep_checkpoints = 1"),
    ],
)
def test_a_mistake_leaves_nothing_behind(here, capsys, flags, says):
    assert run(["train", *SMALL, "--total-timesteps", "64", *flags]) == 2
    assert says in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_an_unwritable_directory(here, capsys):
    (here / "file").write_text("in the way")
    assert run(["train", *SMALL, "--name", "a", "--run.directory", "file/below"]) == 2
    error = capsys.readouterr().err
    assert "cannot create run folder" in error
    assert error.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["file"]


def test_without_torch_the_extra_is_named(here, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["train", *SMALL, "--name", "a"]) == 2
    assert capsys.readouterr().err == f"pvp-ml: training needs torch, which is not installed — {pip_install('train')}\n"


def start(folder: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pvp_ml", "train", *SMALL, "--name", "a", "--total-timesteps", "0", *flags]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], path: Path, lines: int, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if path.exists() and len(path.read_bytes().splitlines()) >= lines:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} has no {lines} lines after {seconds} s")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_leaves(here, number):
    process = start(here)
    try:
        wait_for(process, here / "experiments/a/metrics.jsonl", 3)
        process.send_signal(number)
        before = time.monotonic()
        _, error = process.communicate(timeout=120)
        took = time.monotonic() - before
    finally:
        process.kill()
    assert process.returncode == 130, error
    assert took < 20
    steps = read_metrics(here / "experiments/a/metrics.jsonl")[-1]["steps"]
    assert read_bundle(here / "experiments/a/model.zip").metadata.training.steps == steps
    assert run(["train", *SMALL, "--name", "a", "--total-timesteps", str(steps + 64)]) == 0
    points = [p["steps"] for p in read_metrics(here / "experiments/a/metrics.jsonl")]
    assert points == sorted(points)
    assert points[-1] == steps + 64


def test_two_trainers_on_one_run(here, capsys):
    process = start(here)
    try:
        wait_for(process, here / "experiments/a/metrics.jsonl", 1)
        assert run(["train", *SMALL, "--name", "a"]) == 2
        assert f"in use by process {process.pid}" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()
