"""Phases and early stopping: conditions over metrics, settings that change, a phase that survives a resume."""

import contextlib
from pathlib import Path

import pytest
import yaml

from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.expression import Expression
from pvp_ml.run.conditions import holds
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

PRESET = {
    "env": {"name": "connect4", "matches": 8},
    "network": {"trunk": [8]},
    "ppo": {"n_steps": 8, "batch_size": 32, "learning_rate": 1e-3},
    "run": {"shards": 1, "total_steps": 64 * 6},
    "phases": [
        {"name": "first", "promote": "phase_steps >= 128 and match_length > 0", "min_steps": 64},
        {"name": "second", "settings": {"ppo": {"learning_rate": 1e-4}, "self_play": {"opponents": {"tactician": 1}}}},
    ],
}


def opened(folder: Path, total: int = 64 * 6, **changes):
    path = folder / "preset.yml"
    path.write_text(yaml.safe_dump({**PRESET, **changes}))
    flags = ["--run.directory", str(folder), "--run.name", "r", "--run.total-steps", str(total)]
    config = load_config(str(path), flags, folder)
    return contextlib.closing(Run(config, RunStore(folder, "r"), Tracker()))


def test_a_condition_is_false_until_everything_in_it_is_known():
    condition = Expression("eval_nh_bot_score > 0.9")
    assert not holds(condition, {})
    assert not holds(condition, {"eval/nh-bot/score": float("nan")})
    assert not holds(condition, {"eval/nh-bot/score": 0.9})
    assert holds(condition, {"eval/nh-bot/score": 0.91})


def test_a_run_goes_through_its_phases_and_remembers_where_it_is(tmp_path):
    with opened(tmp_path, total=64 * 4) as run:
        train(run)
        assert run.phase == 1
        assert run.config.ppo.learning_rate.at(run.progress) == 1e-4
        assert list(run.config.self_play.mixture()) == ["tactician"]
        weights = run.learning.trainees["main"].policy.flat.clone()
        updates = run.learning.trainees["main"].updates
    assert updates >= 4, "the optimiser went on through the change"
    with opened(tmp_path) as again:
        assert again.resume()
        assert again.phase == 1
        assert again.progress.steps == 64 * 4
        assert (again.learning.trainees["main"].policy.flat == weights).all()
        train(again)
        assert again.tracker.last["match/win_rate"] < 0.5, "only the tactician is met in the second phase"


def test_early_stopping(tmp_path):
    section = {**PRESET["run"], "early_stopping": "match_length > 0 and ppo_rows > 0"}
    with opened(tmp_path, total=64 * 50, run=section, phases=[]) as run:
        train(run)
        assert 0 < run.progress.steps < 64 * 50


def test_a_phase_cannot_change_the_network(tmp_path):
    phases = [{"name": "x", "settings": {"network": {"trunk": [16]}}}]
    with pytest.raises(UserError, match="phase 'x' sets 'network'"), opened(tmp_path, phases=phases):
        pass
