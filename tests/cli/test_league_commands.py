"""`train --seeds`, `compare`, `league show|rate` and `exploit` on a tiny run, through the command line."""

import json

import pytest

from pvp_ml.cli import run

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


def test_exploit_reports_a_win_rate(capsys):
    model = "experiments/tiny-seed0/model.zip"
    assert run(["exploit", model, *TINY[2:], "--budget", "256", "--eval.matches", "10"]) == 0
    text = capsys.readouterr().out
    assert "win rate against tiny-seed0" in text
    assert "over 10 matches" in text
