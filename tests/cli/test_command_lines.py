"""The command lines that people know, as they are written, with small settings added: scripts and `python -m`."""

import json
import logging
import os
import runpy
import shlex
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from pvp_ml.cli import run
from pvp_ml.model.bundle import read_bundle
from pvp_ml.run.tracking.tracker import read_metrics

SMALL = "--total-timesteps 128 --num-envs 8 --n-steps 8 --network.trunk [8] --run.shards 1 --eval.matches 4 --view off"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Somewhere with a model that was trained for a moment."""
    place = tmp_path_factory.mktemp("somewhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["train", "--game", "connect4", "--name", "Trained", "--no-tensorboard", *shlex.split(SMALL)]) == 0
    return place


@pytest.fixture
def typed(folder, monkeypatch, capsys):
    """Type a line in that folder; returns what it printed."""
    monkeypatch.chdir(folder)

    def enter(line: str, small: str = "", code: int = 0) -> str:
        words = [*shlex.split(line), *shlex.split(small)]
        if words[:2] == ["python", "-m"]:
            monkeypatch.setattr(sys, "argv", words[2:])
            start = lambda: runpy.run_module(words[2], run_name="__main__", alter_sys=False)  # noqa: E731
        else:
            (script,) = entry_points(group="console_scripts", name=words[0])
            monkeypatch.setattr(sys, "argv", words)
            start = script.load()
        with pytest.raises(SystemExit) as ended:
            start()
        shown = capsys.readouterr()
        assert ended.value.code == code, shown.err
        return shown.out

    return enter


def saved(folder: Path, name: str) -> dict:
    return yaml.safe_load((folder / f"experiments/{name}/config.yml").read_text())


def test_train_with_a_preset_file_that_only_the_package_has(typed, folder):
    assert not (folder / "config").exists()
    typed("train --preset config/nh/core.yml --experiment MyExperiment", SMALL)
    assert saved(folder, "MyExperiment")["reward"]["weights"]["damage_dealt"] == 0.25
    assert read_bundle(folder / "experiments/MyExperiment/model.zip").metadata.training.steps == 128
    assert list((folder / "tensorboard/MyExperiment").glob("events*")), "as TensorBoard's own command expects"


def test_the_long_line(typed, folder):
    typed(
        "train --preset config/nh/core.yml --experiment Long --total-timesteps 10000000 --num-envs 100 "
        "--learning-rate 3e-4 --n-steps 1024 --batch-size 64 --reward-damage-dealt 0.1 --reward-ko 1.0",
        SMALL,
    )
    config = saved(folder, "Long")
    assert (config["ppo"]["learning_rate"], config["ppo"]["batch_size"]) == (3e-4, 64)
    assert config["reward"]["weights"]["damage_points_dealt"] == 0.1
    assert config["reward"]["weights"]["win"] == 1.0
    assert config["reward"]["weights"]["damage_dealt"] == 0.25, "shares of hitpoints are another term"


def test_train_by_the_name_of_the_originals_preset(typed, folder):
    typed("train --preset PastSelfPlay --name X", SMALL)
    assert set(saved(folder, "X")["self_play"]["opponents"]) == {"self", "past"}
    states = {row["name"]: row["state"] for row in json.loads(typed("train show --json"))["runs"]}
    assert states["X"] == "finished"
    assert "X is not running (finished)" in typed("train cleanup --name X")
    typed("train cleanup --name all")
    assert "finished" in typed("train show")


def test_modules(typed, folder):
    typed(
        "python -m pvp_ml.run_train_job --preset config/nh/prioritized-past-self-play.yml",
        f"{SMALL} --no-tensorboard --name Job",
    )
    typed("python -m pvp_ml.train --game connect4 --name Plain", f"{SMALL} --no-tensorboard")
    assert [p["steps"] for p in read_metrics(folder / "experiments/Plain/metrics.jsonl")] == [64, 128, 128]
    assert read_bundle(folder / "experiments/Job/model.zip").metadata.game == "nh"


@pytest.fixture
def boards(monkeypatch):
    """What TensorBoard was asked for, instead of starting one."""
    asked = []

    def tensorboard(*, logdir: str = "tensorboard", port: int = 0, wait: bool = False, stop: bool = False) -> None:
        asked.append("stop" if stop else "start")

    monkeypatch.setattr("pvp_ml.cli.runs.tensorboard.tensorboard", tensorboard)
    return asked


def test_the_job_runner_starts_tensorboard_and_train_stops_it(typed, boards):
    typed("python -m pvp_ml.run_train_job --game connect4 --name Board", SMALL)
    assert boards == ["start"]
    typed("train tensorboard --stop")
    typed("train tensorboard")
    assert boards == ["start", "stop", "start"]


def test_the_exploiter_strategy_hunts(typed, folder):
    typed("train --game connect4 --name Hunted --self-play.strategy exploiter", f"{SMALL} --no-tensorboard")
    assert saved(folder, "Hunted")["self_play"]["exploiters"]["main-exploiter-1"]["against"] == "main"
    assert any("main-exploiter-1/ppo/rows" in row for row in read_metrics(folder / "experiments/Hunted/metrics.jsonl"))


def test_evaluating(typed, folder):
    model = "experiments/Trained/model.zip"
    for line in (f"python -m pvp_ml.evaluate --model {model}", f"eval --model-path {model}"):
        (result,) = json.loads(typed(line, "--against tactician --matches 4 --json"))["results"]
        assert (result["matches"], result["second"]) == (4, "tactician")


def test_serving(typed, monkeypatch):
    asked = []

    async def serve(config, tell):
        asked.append(config)

    monkeypatch.setattr("pvp_ml.cli.serve.serve_until_stopped", serve)
    typed("serve-api --model experiments/Trained/model.zip --port 5555")
    typed("python -m pvp_ml.api")
    first, second = asked
    assert (first.port, first.host, [path.name for path in first.models]) == (5555, "127.0.0.1", ["model.zip"])
    assert (second.port, str(second.models_dir)) == (9999, "models")
    assert first.closes_on_error and second.closes_on_error  # clients of the old API know no errors
    typed("pvp-ml serve --model experiments/Trained/model.zip")
    typed("serve-api --protocol current")
    assert [config.closes_on_error for config in asked] == [True, True, False, False]


@pytest.mark.parametrize(
    ("line", "first", "second"),
    [
        ("eval --plugin baseline --target noop", "baseline", "noop"),
        ("eval --plugin stayalive --target baseline", "stayalive", "nh-bot"),
        ("eval --plugin baseline --target stayalive", "baseline", "stayalive"),
    ],
)
def test_evaluating_plugins_by_their_old_names(typed, line, first, second):
    (result,) = json.loads(typed(line, "--num-episodes 4 --json --max-ticks 60"))["results"]
    assert (result["first"], result["second"], result["matches"]) == (first, second, 4)
    if second == "noop":
        assert sum(result["choices"]["attack"]["mage_attack"]) > 0
        attacks = next(signal for signal in result["signals"] if signal["name"] == "attacks")
        assert attacks["first"] > 5 and attacks["second"] == 0  # it never acts


def test_tensorboard_is_started_once_and_stopped(typed, folder, monkeypatch, tmp_path):
    started = []
    popen = subprocess.Popen
    (tmp_path / "stub/tensorboard").mkdir(parents=True)  # a process is known by its command line: only the code is ours
    (tmp_path / "stub/tensorboard/__init__.py").touch()
    (tmp_path / "stub/tensorboard/main.py").write_text("import time; time.sleep(60)")

    def fake(command, **settings):
        started.append(command)
        return popen(command, env={**os.environ, "PYTHONPATH": str(tmp_path / "stub")}, **settings)

    monkeypatch.setattr("pvp_ml.cli.runs.tensorboard.subprocess.Popen", fake)
    first = typed("train tensorboard")
    try:
        assert typed("train tensorboard") == first.split(" (")[0] + "\n", "shared"
        (command,) = started
        assert command[command.index("--host") + 1] == "127.0.0.1"
        assert 6006 <= int(command[command.index("--port") + 1]) < 6056
        assert command[command.index("--logdir") + 1] == "tensorboard"
    finally:
        pid = json.loads((folder / "tensorboard/.server.json").read_text())["pid"]
        assert "stopped TensorBoard" in typed("pvp-ml tensorboard --stop")
        assert os.waitpid(pid, 0)[1] == signal.SIGTERM
    assert "TensorBoard is not running" in typed("pvp-ml tensorboard --stop")


def test_a_detached_run_starts_where_it_was_asked_to_and_has_tensorboard(typed, monkeypatch):
    started, shown = [], []
    monkeypatch.setattr(
        "pvp_ml.run.jobs.start_detached",
        lambda store, words: started.append(list(words)) or SimpleNamespace(name="far"),
    )
    monkeypatch.setattr("pvp_ml.cli.runs.tensorboard.tensorboard", lambda logdir: shown.append(logdir))
    typed("train --preset toys/connect4 --name far --milestone 025M --warm-start Y --detach --lr 1e-4")
    (words,) = started
    for pair in (["--preset", "toys/connect4"], ["--milestone", "025M"], ["--warm-start", "Y"], ["--lr", "1e-4"]):
        assert pair in [words[i : i + 2] for i in range(len(words))]
    assert shown == ["tensorboard"]
    typed("train --preset toys/connect4 --name far --detach --no-tensorboard")
    assert shown == ["tensorboard"]


def test_the_console_scripts_are_declared():
    scripts = {entry.name: entry.value for entry in entry_points(group="console_scripts")}
    assert scripts["train"] == "pvp_ml.cli:train_script"
    assert scripts["eval"] == "pvp_ml.cli:eval_script"
    assert scripts["serve-api"] == "pvp_ml.cli:serve_script"
    assert scripts["tensorboard"].startswith("tensorboard.")


def test_log_level(monkeypatch, capsys):
    for level, expected in (("DEBUG", logging.DEBUG), ("warning", logging.WARNING), ("nonsense", logging.INFO)):
        monkeypatch.setenv("LOG_LEVEL", level)
        assert run(["config", "show", "--game", "kuhn"]) == 0
        assert logging.getLogger("pvp_ml").level == expected


@pytest.mark.parametrize(
    ("flag", "term", "value"),
    [
        ("--reward-damage-dealt", "damage_points_dealt", 0.1),
        ("--reward-damage-received", "damage_points_received", -0.1),
        ("--reward-ko", "win", 1.5),
        ("--reward-death", "lost", -1.5),
        ("--reward-health-preserved", "health_preserved", 0.5),
    ],
)
def test_reward_flags_are_weights_of_terms(flag, term, value, capsys):
    assert run(["config", "show", "--preset", "nh/core", flag, str(value)]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["reward"]["weights"][term] == value
