"""Weights, own expressions, team spirit and zero-sum, worked by hand."""

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal


def game(teams=((0,), (1,)), terms=("win", "damage")):
    return GameSpec(
        "g", 1, teams, (Block("b", 1, (Feature("f"),)),), (Head("h", ("a",)),), tuple(RewardTerm(t) for t in terms),
        max_steps=9, signals=(Signal("hits"), Signal("food")),
    )  # fmt: skip


def mixed(spec, terms, signals=None, progress=None, **config):
    mixer = RewardMixer(spec, RewardConfig.model_validate(config))
    mixer.set(progress or Progress())
    terms = np.array(terms, np.float32)[None]
    signals = np.zeros((1, spec.seats, 2), np.float32) if signals is None else np.array(signals, np.float32)[None]
    out = np.zeros(terms.shape[:2], np.float32)
    mixer.mix(terms, signals, out)
    return out[0].tolist()


def test_without_weights_winning_counts_or_everything():
    assert mixed(game(), [[1, 5], [-1, 7]]) == [1, -1]
    assert mixed(game(terms=("goals", "touches")), [[1, 5], [2, 7]]) == [6, 9]


def test_schedules_over_the_whole_run():
    """`clock: run` can be read from the first step on, for weights, team spirit and zero-sum."""
    rise = {"type": "linear", "initial_value": 0.0, "final_value": 1.0, "clock": "run"}
    half = Progress(steps=50, total_steps=100)
    terms = [[2, 0], [0, 0]]
    assert mixed(game(), terms, progress=half, weights={"win": rise}) == pytest.approx([1.0, 0.0])
    assert mixed(game(), terms, progress=half, weights={"win": 1.0}, zero_sum=rise) == pytest.approx([2.0, -1.0])
    team = game(teams=((0, 1),))
    assert mixed(team, terms, progress=half, weights={"win": 1.0}, team_spirit=rise) == pytest.approx([1.5, 0.5])
    fall = {**rise, "initial_value": 3.0}
    fresh = RewardMixer(game(), RewardConfig.model_validate({"weights": {"win": fall}}))
    assert fresh.weights.tolist() == [3.0, 0.0]


def test_weights_and_schedules():
    ramp = {"type": "linear", "initial_value": 1.0, "final_value": 0.0, "change_over_time_steps": 100}
    weights = {"damage": 0.1, "win": ramp}
    assert mixed(game(), [[1, 5], [-1, 7]], weights=weights) == pytest.approx([1.5, -0.3])
    assert mixed(game(), [[1, 5], [-1, 7]], progress=Progress(rollouts=50), weights=weights) == pytest.approx(
        [1.0, 0.2]
    )


def test_own_terms_over_signals():
    own = {"snack": {"expression": "hits * (food < 2)", "weight": 0.5}}
    assert mixed(game(), [[0, 0], [0, 0]], [[3, 1], [4, 5]], expressions=own) == [1.5, 0.0]


def test_clip_comes_before_sharing():
    assert mixed(game(), [[3, 0], [-9, 0]], clip=2.0, zero_sum=0.5) == [2 + 1, -2 - 1]


def test_team_spirit_and_zero_sum_by_hand():
    spec = game(teams=((0, 2), (1, 3)))
    terms = [[4, 0], [1, 0], [0, 0], [3, 0]]
    # spirit ½: own half plus half the team's mean (2 and 2); zero-sum 1: minus the opponents' mean (2)
    assert mixed(spec, terms, team_spirit=0.5, zero_sum=1.0) == [1.0, -0.5, -1.0, 0.5]
    assert mixed(spec, terms, team_spirit=1.0) == [2, 2, 2, 2]
    assert sum(mixed(spec, terms, zero_sum=1.0)) == 0


def test_unknown_names_are_refused_with_the_nearest_one():
    with pytest.raises(UserError, match="did you mean 'damage'"):
        mixed(game(), [[0, 0]] * 2, weights={"damge": 1.0})
    with pytest.raises(UserError, match="did you mean 'hits'"):
        mixed(game(), [[0, 0]] * 2, expressions={"x": {"expression": "hit * 2"}})
