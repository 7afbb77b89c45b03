import json

import pytest

from pvp_ml.cli import run


def test_json_has_counts_and_interval(capsys):
    words = [
        "eval",
        "--player",
        "random",
        "--game",
        "connect4",
        "--against",
        "random",
        "tactician",
        "--num-episodes",
        "60",
    ]
    assert run([*words, "--json", "--seed", "3"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [r["second"] for r in results] == ["random", "tactician"]
    for result in results:
        assert result["matches"] == result["wins"] + result["ties"] + result["losses"] == 60
        assert 0 <= result["low"] <= result["score"] <= result["high"] <= 1
    assert results[1]["score"] < 0.3


def test_same_seed_same_result(capsys):
    words = ["eval", "--model", "random", "--game", "kuhn", "--against", "random", "--matches", "50", "--json"]
    run(words)
    first = capsys.readouterr().out
    run(words)
    assert capsys.readouterr().out == first
    run([*words, "--seed", "1"])
    assert capsys.readouterr().out != first


def test_the_games_settings_are_flags(capsys):
    assert (
        run(
            [
                "eval",
                "--model",
                "random",
                "--game",
                "rps",
                "--against",
                "random",
                "--matches",
                "8",
                "--env.rounds",
                "5",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["results"][0]["mean_steps"] == 5


def test_table_for_people(capsys):
    assert run(["eval", "--model", "random", "--game", "kuhn", "--against", "random", "--matches", "20"]) == 0
    assert "95 % interval" in " ".join(capsys.readouterr().out.split())


def test_figures_of_many_scenarios_fit_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["eval", "--model", "random", "--game", "nh", "--against", "random", "--matches", "6", "--scenario"]
    assert run([*words, "build-pure", "build-lms-zerker"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("build-lms-zerker")]
    assert len(lines) == 2 and "…" not in "".join(lines), "one row of results, one of figures, no name cut"
    assert len(lines[1].split()) == 7


def test_actions_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "new" / "scores.png"
    words = ["eval", "--model", "player:random", "--game", "connect4", "--matches", "20", "--against", "tactician"]
    assert run([*words, "--scenario", "all", "--actions", "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "column: 1" in printed and "stones (sum stones)" in printed and "seat0-starts" in printed
    assert picture.read_bytes()[:4] == b"\x89PNG" and picture.stat().st_size > 5000


def test_settings_as_game_show_takes_them(capsys):
    words = ["eval", "--model", "random", "--game", "rps", "--against", "random", "--matches", "8", "--json"]
    assert run([*words, "--set", "rounds=5"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["mean_steps"] == 5
    assert run([*words, "--set", "rounds"]) == 2
    assert "write --set KEY=VALUE" in capsys.readouterr().err


def test_a_ladder_gives_a_rating(capsys):
    pytest.importorskip("RocketSim")
    words = ["eval", "--game", "rocket_league", "--model", "shooter", "--ladder", "--matches", "2", "--json"]
    assert run([*words, "--meshes", "generated", "--timeout-s", "3"]) == 0
    printed = json.loads(capsys.readouterr().out)
    rungs, last = printed["results"], printed["rating"]
    assert [rung["second"] for rung in rungs] == list(last["ladder"]) and len(rungs) == 6
    assert last["low"] < last["rating"] < last["high"]


def test_a_game_without_a_ladder_says_so(capsys):
    assert run(["eval", "--game", "kuhn", "--model", "random", "--ladder"]) != 0
    assert "has no ladder" in capsys.readouterr().err


def test_strength_and_accounts_are_flags_of_eval(capsys):
    words = ["eval", "--model", "GeneralizedNh", "--strength", "1", "--against", "nh-bot", "--matches", "20", "--json"]
    assert run([*words, "--env.account", "rune-pure", "--env.opponent-account", "maxed"]) == 0
    result = json.loads(capsys.readouterr().out)["results"][0]
    assert result["first"] == "GeneralizedNh@strength=1" and result["score"] < 0.3
    assert run(["eval", "--model", "GeneralizedNh@delay=1", "--strength", "5", "--against", "nh-bot"]) != 0
    assert "dial of its own" in capsys.readouterr().err
    assert run([*words, "--env.account", "nobody"]) != 0
    assert "there is no account 'nobody'" in capsys.readouterr().err
