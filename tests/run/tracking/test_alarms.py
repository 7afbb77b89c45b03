"""Warnings come once, in time, and with what to do."""

import logging

import pytest

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.machine import auto_batch, auto_matches, bytes_per_match, free_bytes
from pvp_ml.run.tracking.alarms import Alarms, warn_at_start
from pvp_ml.run.tracking.tracker import CLASSIC, Point, Tracker


def point(**values: float) -> Point:
    return Point(1, 1, 1.0, {name.replace("__", "/"): value for name, value in values.items()})


def warnings(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_rewards_outside_nought_to_ten(caplog):
    alarms = Alarms(memory=lambda: None)
    alarms.write(point(match__reward_size=9.9, match__finished=50))
    assert warnings(caplog) == []
    for _ in range(3):
        alarms.write(point(match__reward_size=37.25, match__finished=50))
    assert warnings(caplog) == [
        "a match pays about 37.2 (match/reward_size); between 0 and 10 works best: use smaller reward weights, "
        "or set ppo.normalize_rewards"
    ]
    caplog.clear()
    Alarms(is_normalised=True, memory=lambda: None).write(point(match__reward_size=37.25, match__finished=50))
    assert warnings(caplog) == [], "our own NH presets pay more and learn well"


def test_matches_that_never_pay(caplog):
    alarms = Alarms(memory=lambda: None)
    for _ in range(7):
        alarms.write(point(match__reward_size=0.0, match__finished=50))
    assert warnings(caplog) == []
    alarms.write(point(match__reward_size=0.0, match__finished=50))
    assert warnings(caplog) == ["400 matches paid no reward at all: check the reward weights"]


def test_memory_before_it_runs_out(caplog):
    free = [4 << 30, 300 << 20]
    alarms = Alarms(memory=lambda: free.pop(0))
    alarms.write(point(ppo__rows=1.0))
    alarms.write(point(ppo__rows=1.0))
    assert len(warnings(caplog)) == 1
    assert warnings(caplog)[0].startswith("only 315 MB of memory are free: stop (it saves)")


def test_a_run_that_cannot_fit_and_a_penalty_that_rewards(caplog, tmp_path):
    flags = ["--num-envs", "1000", "--n-steps", "100", "--reward-damage-received", "0.1", "--reward-death", "-1"]
    config = load_config("nh/core", flags, tmp_path)
    need = 1000 * bytes_per_match(config.env.spec, 100)
    warn_at_start(config, int(need / 0.79))
    assert warnings(caplog) == [
        "reward.weights.damage_points_received is 0.1, which rewards a bad event; penalties are negative"
    ]
    warn_at_start(config, int(need / 0.81))
    assert "rollouts need about" in warnings(caplog)[1]


def test_free_memory_is_the_smaller_of_system_and_container(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:    4096 kB\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path) == 4096 * 1024
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path) == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path) == 4096 * 1024


def test_auto_grows_with_cores_and_shrinks_with_memory(tmp_path):
    spec = load_config("", ["--game", "connect4"], tmp_path).env.spec
    assert auto_matches(spec, 32, False, 2, None) == 512
    assert auto_matches(spec, 32, False, 8, 64 << 30) == 2048
    assert auto_matches(spec, 32, True, 2, None) == 32
    little = 4 * 300 * bytes_per_match(spec, 32)  # a quarter of it holds 300 matches
    assert auto_matches(spec, 32, False, 2, little) == 256
    assert auto_matches(spec, 32, False, 2, 0) == 8
    assert [auto_batch(rows, None) for rows in (100, 4096, 5000, 10**6)] == [256, 1024, 1024, 16384]
    assert auto_batch(10**6, 100 << 20) == 512


def test_auto_in_flags_and_presets(tmp_path, monkeypatch):
    monkeypatch.setattr("pvp_ml.run.config.schema.cores", lambda: 4)
    monkeypatch.setattr("pvp_ml.run.config.schema.free_bytes", lambda: None)
    config = load_config("", ["--game", "connect4", "--num-envs", "auto", "--batch-size", "auto"], tmp_path)
    assert config.env.matches == 1024
    assert config.ppo.batch_size == 16384
    (tmp_path / "a.yml").write_text("env: {name: connect4, matches: 64}\nppo: {batch_size: auto, n_steps: 16}\n")
    assert load_config("a.yml", [], tmp_path).ppo.batch_size == 512
    (tmp_path / "a.yml").write_text("env: {name: connect4, matches: lots}\n")
    with pytest.raises(Exception, match=r"env\.matches = 'lots'"):
        load_config("a.yml", [], tmp_path)


def test_classic_names_are_written_beside_ours():
    tracker = Tracker()
    tracker.write(Point(1, 1, 1.0, {"eval/win_rate": 0.25, "match/reward": 2.0, "ppo/entropy": 1.5}))
    assert tracker.last["eval/win_percentage"] == 25.0
    assert tracker.last["episode_reward"] == 2.0
    assert tracker.last["entropy"] == 1.5
    assert "policy_loss" not in tracker.last
    assert len(CLASSIC) == 6


def test_auto_knows_whether_the_game_runs_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pvp_ml.run.config.schema.cores", lambda: 2)
    monkeypatch.setattr("pvp_ml.run.config.schema.free_bytes", lambda: None)
    flags = ["--game", "nh", "--num-envs", "auto"]
    assert load_config("", flags, tmp_path).env.matches == 512
    assert load_config("", [*flags, "--env.remote", "127.0.0.1:7070"], tmp_path).env.matches == 32
    assert load_config("", [*flags, "--env.remote-command", "java -jar server.jar"], tmp_path).env.matches == 32


def test_a_game_says_which_of_its_terms_are_penalties(caplog, tmp_path):
    warn_at_start(load_config("", ["--game", "nh", "--reward.weights.damage_received", "0.1"], tmp_path), None)
    assert warnings(caplog) == [
        "reward.weights.damage_received is 0.1, which rewards a bad event; penalties are negative"
    ]
