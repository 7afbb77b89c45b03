"""The terminal: text of files and servers is shown, not obeyed; no mistake of a user ends in a traceback."""

import json
import logging

import pytest

from pvp_ml.cli import run
from pvp_ml.documents.strict_yaml import read_yaml
from pvp_ml.errors import UserError, visible
from pvp_ml.games.replay import Replay, replay_text
from pvp_ml.match import Bot, External, MatchPlan
from pvp_ml.rl.schedule.expression import Expression
from pvp_ml.selfplay.league import Entry, League

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"


def test_what_steers_a_terminal_is_written_out():
    assert visible("plain ü 漢字 — fine\n\ttab") == "plain ü 漢字 — fine\n\ttab"
    assert visible(ESCAPES) == "\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202e"
    assert str(UserError(f"file {ESCAPES}", f"hint {ESCAPES}")).isprintable()


@pytest.mark.parametrize(
    "words",
    [["game", "show", ESCAPES], ["model", "inspect", ESCAPES], ["train", "--preset", ESCAPES], [ESCAPES],
     ["train", f"--{ESCAPES}"], ["jobs", "stop", ESCAPES], ["replay", "show", ESCAPES]],
)  # fmt: skip
def test_errors_do_not_repeat_escapes(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    printed = capsys.readouterr()
    assert (printed.out + printed.err).replace("\n", "").isprintable()


def test_a_replay_with_escapes_in_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = MatchPlan(0, 7, (External("0"), Bot("random")))
    replay = Replay("connect4", "d" * 64, {}, plan, (), (ESCAPES, "b"))
    text = replay_text(replay).replace('"connect4"', json.dumps(f"connect4{ESCAPES}"))
    (tmp_path / "x.replay").write_text(text)
    assert run(["replay", "show", "x.replay"]) == 2
    printed = capsys.readouterr()
    assert "connect4\\x1b[2J" in printed.err
    assert "\x1b" not in printed.err + printed.out


def test_narration_is_shown_and_not_obeyed(tmp_path, capsys, monkeypatch):
    import pvp_ml.cli.watch as watch_module

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch_module, "narrate", lambda *_: iter([f"the server says {ESCAPES}"]), raising=False)
    run(["watch", "connect4", "--seed", "1"])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "\\x1b[2J" in printed.out


def test_a_league_with_escapes_and_markup_in_a_name(capsys):
    from pvp_ml.cli.runs.league import _print_members

    league = League()
    league.add(Entry("a" * 64, f"[red]x{ESCAPES}", "past", 1))
    _print_members(league, ["a" * 64], [league.members[0].name])
    printed = capsys.readouterr().out
    assert "\x1b[2J" not in printed
    assert "[red]" in printed


def test_the_log_of_a_run_folder(tmp_path, capsys):
    (tmp_path / "far" / "checkpoints").mkdir(parents=True)
    (tmp_path / "far" / "logs").mkdir()
    (tmp_path / "far" / "logs" / "train.log").write_text(f"line {ESCAPES}\n")
    assert run(["jobs", "logs", "far", "--directory", str(tmp_path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_log_lines_are_shown_and_not_obeyed():
    from pvp_ml.cli import _Visible

    record = logging.LogRecord("x", logging.WARNING, "f", 1, "the server said %s", (ESCAPES,), None)
    assert _Visible("%(message)s").format(record).isprintable()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1:30", "1:30"), ("1:30.5", "1:30.5"), ("010", 10), ("-07", -7), ("0x10", 16), ("0o17", 15), ("0b101", 5),
     ("1_000", 1000), ("1.5", 1.5), ("3e-4", 3e-4), ("-.5", -0.5), (".inf", float("inf")), ("12", 12), ("+3", 3),
     ("1_000.5", 1000.5), ("0x", "0x"), ("٣", "٣"), ("1__", 1), ("off", "off"), ("1.", 1.0)],
)  # fmt: skip
def test_numbers_in_yaml_are_what_they_look_like(text, value):
    assert read_yaml(text) == value
    assert type(read_yaml(text)) is type(value)


def test_rounding_to_impossible_digits():
    assert Expression("round(t, 1e308)").evaluate({"t": 1.25}) == 1.25
    assert Expression("round(t, -1e308)").evaluate({"t": 1.25}) == 0.0
    assert Expression("round(t, 0/0)").evaluate({"t": 1.25}) == 1.0
    assert Expression("round(t, 1)").evaluate({"t": 1.26}) == 1.3


MISTAKES = [
    *(["config", "show", "--game", "nh", "--env-kwargs", value] for value in ("5", "x", "{1: 2}", "[1]", "1:30")),
    ["config", "show", "--game", "connect4", "--num-envs", "1:30"],
    ["config", "show", "--game", "connect4", "--seed", "1:30"],
    ["config", "show", "--game", "connect4", "--seed", "0xFFFFFFFFFFFFFFFFFFFF"],
    ["watch", "connect4", "--seed", "0x"],
    ["eval", "--model", "x", "--seed", "1:30"],
    ["serve", "--plugin", "random", "--game", "connect4", "--port", "99999"],
    ["sim-server", "--port", "99999"],
    ["play", "connect4", "--port", "99999"],
    ["config", "show", "--preset", "\0"],
    ["model", "inspect", "/"],
    ["replay", "show", "/"],
]


@pytest.mark.parametrize("words", MISTAKES, ids=lambda w: " ".join(w)[:60].replace("\0", "NUL"))
def test_a_mistake_is_one_line(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("pvp-ml: ")
    assert "Traceback" not in printed


ODD = ["1: 2", "? [a, b]\n: 2", "null: 3", "ppo: {1: 2}", "phases: [{name: 1}]", "env: {3: 4}",
       "phases: [{name: a, settings: {1: 2}}]", "reward: {weights: {1: 2}}"]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_keys_of_a_preset_are_named(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.yml").write_text(f"game: connect4\n{text}\n")
    assert run(["config", "show", "--preset", "odd.yml"]) == 2
    assert capsys.readouterr().err.startswith("pvp-ml: ")
