"""`train --seeds`, `compare`, `league show|rate` and `exploit` on a tiny run, through the command line."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.cli.exploit import hunting_config
from pvp_ml.model.bundle import read_bundle
from pvp_ml.run.store.checkpoint_facts import read_facts, read_league
from pvp_ml.run.tracking.tracker import read_metrics

TINY = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "16", "--ppo.batch-size", "64", "--run.shards",
        "1", "--network.trunk", "[8]", "--eval.matches", "8", "--tracking.view", "off", "--tracking.tensorboard",
        "false"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two finished runs with leagues."""
    folder = tmp_path_factory.mktemp("runs")
    flags = ["--name", "tiny", "--total-timesteps", "384", "--self-play.strategy", "past"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["train", *TINY, *flags, "--self-play.snapshot-every", "128", "--seeds", "2"]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()


def test_compare_joins_seeds(folder, capsys):
    assert (folder / "experiments" / "tiny-seed1" / "model.zip").is_file()
    assert run(["compare", "tiny", "--metric", "match/length", "--json", "--png", "curve.png"]) == 0
    last = json.loads(capsys.readouterr().out)["tiny"]
    assert last["seeds"] == 2
    assert last["low"] <= last["value"] <= last["high"]
    assert (folder / "curve.png").stat().st_size > 5000


def test_league_show(folder, capsys):
    assert run(["league", "show", "tiny-seed0", "--json"]) == 0
    league = json.loads(capsys.readouterr().out)
    assert [m["steps"] for m in league["members"]] == [128, 256, 384]
    assert run(["league", "show", "tiny-seed0", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith(",main,step-128,step-256,step-384")
    assert run(["league", "show", "tiny-seed0", "--png", "heat.png"]) == 0
    assert (folder / "heat.png").stat().st_size > 5000
    assert run(["league", "show", "nothing"]) == 2


def test_league_rate_puts_the_tactician_above_random(capsys):
    models = ["experiments/tiny-seed0/model.zip", "tactician", "random"]
    assert run(["league", "rate", "--models", *models, "--matches", "30", "--json"]) == 0
    ratings = {row["name"]: row["rating"] for row in json.loads(capsys.readouterr().out)["ratings"]}
    assert ratings["tactician"] > ratings["random"] + 100.0


HUNT = [*TINY[2:], "--budget", "256", "--eval.matches", "10"]


def hunts() -> dict[str, Path]:
    return {path.name: path for path in Path("experiments").glob("exploit-*")}


def test_exploit_reports_a_win_rate_and_hunts_each_model_in_a_run_of_its_own(capsys):
    models = [f"experiments/tiny-seed{seed}/model.zip" for seed in (0, 1)]
    for seed, model in enumerate(models):
        assert run(["exploit", model, *HUNT]) == 0
        text = capsys.readouterr().out
        assert f"best response to tiny-seed{seed} (384 steps) after 256 steps" in text
        assert f"win rate against tiny-seed{seed}" in text
        assert "over 10 matches" in text
    made = hunts()
    assert sorted(name.rsplit("-", 1)[0] for name in made) == ["exploit-tiny-seed0", "exploit-tiny-seed1"]
    for name, path in made.items():
        (target,) = read_league(path).of_kind("target")
        assert target.content_hash.startswith(name.rsplit("-", 1)[1])
    assert run(["exploit", models[0], *HUNT, "--name", next(n for n in made if "seed1" in n)]) == 2
    assert "does not hunt model" in capsys.readouterr().err


@pytest.mark.parametrize("own", [True, False])
def test_a_hunt_begins_with_the_model_that_it_is_given(own):
    model = "experiments/tiny-seed0/model.zip"
    begin = ["--warm-start", model] if own else []
    name = f"own-{own}"
    assert run(["exploit", model, *HUNT, *begin, "--name", name, "--learning-rate", "0"]) == 0
    before, after = (read_bundle(Path(path)).tensors for path in (model, f"experiments/{name}/model.zip"))
    assert all(np.array_equal(before[key], after[key]) for key in before) == own


def test_an_interrupted_exploit_is_saved_and_plays_no_more_matches(monkeypatch, capsys):
    from pvp_ml.run.trainer import Run

    record = Run.record

    def interrupted(self, *args):
        record(self, *args)
        signal.raise_signal(signal.SIGINT)

    model = "experiments/tiny-seed0/model.zip"
    with monkeypatch.context() as patch:
        patch.setattr(Run, "record", interrupted)
        assert run(["exploit", model, *HUNT, "--name", "cut"]) == 130
    text = capsys.readouterr().out
    assert "saved at 128 steps; rerun to resume" in text
    assert "win rate" not in text
    assert not any("eval/win_rate" in point for point in read_metrics(Path("experiments/cut/metrics.jsonl")))
    assert run(["exploit", model, *HUNT, "--name", "cut"]) == 0
    assert read_facts(Path("experiments/cut"))["steps"] == 256


def test_exploit_takes_the_quick_preset_and_meets_nobody_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.zip"
    (tmp_path / "presets/connect4").mkdir(parents=True)
    (tmp_path / "presets/connect4/quick.yml").write_text(
        "env: {name: connect4}\nppo: {n_steps: 77}\nself_play: {opponents: {self: 0.5, random: 0.5}}\n"
    )
    config = hunting_config(model, "connect4", 1000, "", ())
    assert (config.ppo.n_steps, config.run.total_steps) == (77, 1000)
    assert list(config.self_play.mixture()) == ["target"]
    assert config.self_play.opponents["target"].models == (model.as_posix(),)
    assert hunting_config(model, "kuhn", 1000, "", ()).ppo.n_steps == 32, "no such preset: the defaults"
