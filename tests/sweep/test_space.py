"""Sweep files: what is accepted, what is refused, what is drawn."""

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import load_preset
from pvp_ml.sweep.space import draw, preset_data, read_sweep

GOOD = """
preset: nh/quick
settings: {eval.matches: 100}
ranges:
  ppo.learning_rate: {low: 1e-4, high: 1e-2, log: true}
  env.matches: {low: 64, high: 512, whole: true}
  network.trunk: [[64, 64], [128, 128]]
trial_seconds: 40
"""


def read(tmp_path, text):
    path = tmp_path / "sweep.yml"
    path.write_text(text)
    return read_sweep(path)


def test_a_sweep_file_is_read(tmp_path):
    config = read(tmp_path, GOOD)
    assert config.rung_seconds == (10.0, 20.0, 40.0)
    assert config.goal == "eval/win_rate"


def test_draws_lie_inside_and_spread_in_powers(tmp_path):
    config = read(tmp_path, GOOD)
    drawn = [draw(config.ranges, np.random.default_rng(seed)) for seed in range(400)]
    rates = np.array([one["ppo.learning_rate"] for one in drawn])
    assert rates.min() >= 1e-4
    assert rates.max() <= 1e-2
    assert 0.42 < (rates < 1e-3).mean() < 0.58, "half of the powers lie below the middle one"
    assert all(isinstance(one["env.matches"], int) and 64 <= one["env.matches"] <= 512 for one in drawn)
    assert {tuple(one["network.trunk"]) for one in drawn} == {(64, 64), (128, 128)}


def test_a_trial_is_a_preset(tmp_path):
    config = read(tmp_path, GOOD)
    data = preset_data(config, {"ppo.learning_rate": 1e-3, "env.matches": 64, "network.trunk": [64, 64]})
    assert data == {
        "extends": "nh/quick", "eval": {"matches": 100}, "ppo": {"learning_rate": 1e-3}, "env": {"matches": 64},
        "network": {"trunk": [64, 64]},
    }  # fmt: skip
    assert load_preset("nh/quick", tmp_path).data["env"]["name"] == "nh"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "a sweep is a mapping"),
        ("preset: nh/quick\nranges: {}", "'ranges' is empty"),
        ("preset: nh/quick\nranges: {a: [1]}", "'a' has 1 choices"),
        ("preset: nh/quick\nranges: {a: {low: 2, high: 1}}", "low \\(2\\) must be below high \\(1\\)"),
        ("preset: nh/quick\nranges: {a: {low: 0, high: 1, log: true}}", "must start above 0"),
        ("preset: nh/quick\nrange: {a: [1, 2]}", "did you mean 'ranges'"),
        ("preset: nh/quick\nranges: {a: [1, 2]}\ntrial_seconds: -3", "trial_seconds"),
    ],
)
def test_mistakes_are_named(tmp_path, text, said):
    with pytest.raises(UserError, match=said):
        read(tmp_path, text)
