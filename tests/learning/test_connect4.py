"""Connect 4 from self-play alone, with the preset that ships, played from either seat."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pvp_ml.cluster.local import LocalShards
from pvp_ml.match import Live
from pvp_ml.model.bundle import Training, make_bundle
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.learning import Learning
from pvp_ml.run.trainer import blueprint
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.plans import LineupMix


def trained(flags):
    """The preset in one process."""
    torch.set_num_threads(1)
    config = load_config("toys/connect4", ["--run.shards", "1", *flags], Path.cwd())
    spec = config.env.spec
    scenarios = tuple((share, name) for name, share in config.env.scenarios.items())
    learning = Learning(LocalShards(blueprint(config), LineupMix(((1.0, (Live(), Live())),), scenarios)))
    learning.shards.initialise()
    progress = Progress(total_steps=config.run.total_steps)
    while progress.steps < config.run.total_steps:
        learning.collect(progress)
        learning.learn(progress)
        progress = replace(progress, steps=progress.steps + learning.steps_per_rollout, rollouts=progress.rollouts + 1)
    policy = learning.trainees["main"].policy
    training = Training(steps=progress.steps, seconds=0.0, run="t", seed=0, date="2026-11-15", versions={})
    bundle = make_bundle(spec, policy.network, policy.tensors(), policy.normalizer, training, ())
    learning.shards.close()
    return config, bundle


def scores(config, bundle, opponent, matches):
    """From each seat."""
    game = config.env.type.build(config.env.settings, 128)
    against = find_contestant(opponent, config.env.spec, Path.cwd())
    report = evaluate(game, Contestant.of_bundle("x", bundle, greedy=True), against, matches, 3)
    return [tally.score for tally in report.by_team]


def test_a_short_run_beats_random_play(learning_seed, margin):
    flags = ["--run.total-steps", "400000", "--env.matches", "256", "--run.seed", str(learning_seed)]
    config, bundle = trained(flags)
    margin("score from the worse seat", min(scores(config, bundle, "random", 400)), at_least=0.75)


@pytest.mark.nightly
def test_the_whole_preset(learning_seed, margin):
    """Two to seven minutes of one core, by its rounding."""
    config, bundle = trained(["--run.seed", str(learning_seed)])
    margin("score against random", min(scores(config, bundle, "random", 2000)), at_least=0.97)
    margin("score against tactician", min(scores(config, bundle, "tactician", 8000)), at_least=0.80)
