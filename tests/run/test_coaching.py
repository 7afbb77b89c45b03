"""A bot teaches a policy while it plays."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pvp_ml.errors import UserError
from pvp_ml.players import actor_of
from pvp_ml.rl.bc import NEVER_VARIED
from pvp_ml.run.coached_start import pupil_and_coach
from pvp_ml.run.coaching import CoachConfig, ModelCoach, Notebook, coach, shown_in
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.teachers import find_model

pytest.importorskip("RocketSim")

FLAGS = [
    "--env.meshes", "generated", "--env.mode", "1v1", "--env.timeout-s", "20", "--network.trunk", "[64]",
    "--network.encoder", "[]", "--env.setters", '{"random_ground": 1.0}',
]  # fmt: skip


def pupil(tmp_path):
    from pvp_ml.rl.policy.policy import Policy

    config = load_config("rocket_league/ball-touching", FLAGS, tmp_path)
    policy = Policy(config.network, config.env.spec.interface)
    policy.initialise(torch.Generator().manual_seed(1))
    return policy, config.env.type.build(config.env.settings, 8)


def test_the_pupil_comes_to_do_what_the_coach_would_do(tmp_path):
    policy, game = pupil(tmp_path)
    critic = policy.flat[policy.critic_start :].clone()
    heard = []
    options = CoachConfig(
        bot="chaser", opponents=("idle",), rounds=16, rows=512, batch_size=128, passes=8, learning_rate=3e-3
    )
    coach(game, policy, options, 1, heard.append)
    game.close()
    assert heard[0].agreement < 0.05 and heard[-1].agreement > 0.25  # of 90 choices
    assert heard[-1].loss < 0.6 * heard[0].loss and heard[-1].rows >= 16 * 512
    assert torch.equal(policy.flat[policy.critic_start :], critic)


def test_a_coach_must_be_a_bot_of_the_game_or_a_model(tmp_path):
    policy, game = pupil(tmp_path)
    with pytest.raises(UserError, match="has no bot 'nobody'"):
        coach(game, policy, CoachConfig(bot="nobody"), 1)
    game.close()
    with pytest.raises(UserError, match="cannot both coach"):
        load_config("rocket_league/ball-touching", ["--coach.bot", "idle", "--coach.model", "RocketRookie"], tmp_path)
    config = load_config("rocket_league/ball-touching", ["--coach.model", "nobody"], tmp_path)
    with pytest.raises(UserError, match=r"coach\.model: there is no model 'nobody'"):
        pupil_and_coach(config, 1)


TEAM = ["--env.meshes", "generated", "--env.mode", "2v2", "--env.timeout-s", "20", "--coach.model", "RocketStriker"]


def test_a_model_from_1v1_advises_as_if_it_were_alone(tmp_path):
    """What it advises in 2v2 does not change with its teammate or the farther opponent, but with the nearer one."""
    spec = load_config("rocket_league/learner", TEAM, tmp_path).env.spec
    adviser, rng = ModelCoach(actor_of(find_model("RocketStriker", spec))), np.random.default_rng(0)
    obs = rng.normal(size=(200, spec.obs_size)).astype(np.float32)
    mask, keys = np.ones((200, spec.mask_size), np.bool_), rng.integers(0, 2**63, 200).astype(np.uint64)
    at, where = 0, {}
    for block in spec.blocks:
        where[block.name.split(".")[-1]] = at, len(block.features)
        at += block.count * len(block.features)
    ally, (opponent, width) = where["ally"][0], where["opponent"]

    def changed(columns):
        other = obs.copy()
        other[:, columns] = rng.normal(size=other[:, columns].shape)
        return (asked(other) != asked(obs)).any(axis=1).mean()

    def asked(rows):
        return adviser.advice(np.arange(200), np.zeros(200, np.int64), rows, mask, keys)

    assert changed(slice(ally, ally + 2 * width)) == 0.0
    assert changed(slice(opponent + width, opponent + 3 * width)) == 0.0
    assert changed(slice(opponent, opponent + width)) > 0.05


def test_a_copy_of_the_coach_keeps_its_play_beside_a_teammate(tmp_path):
    """From 1v1 to 2v2: after a few rounds it does in most states what it would do alone."""
    config = load_config("rocket_league/learner", TEAM, tmp_path)
    policy, model = pupil_and_coach(config, 1)
    old = {key: array.copy() for key, array in policy.normalizer.items()}
    game, heard = config.env.type.build(config.env.settings, 8), []
    options = CoachConfig(model="RocketStriker", opponents=("chaser",), rounds=8, rows=1024, shown=0.0, greedy=0.0)
    coach(game, policy, options, 1, heard.append, model)
    game.close()
    assert heard[-1].agreement > 0.7 and heard[-1].loss < 0.75 * heard[0].loss  # 0.83 and 0.5 over three seeds
    varied = old["obs/var"] >= NEVER_VARIED
    assert np.array_equal(policy.normalizer["obs/var"][varied], old["obs/var"][varied])
    assert (policy.normalizer["obs/var"][~varied] > NEVER_VARIED).mean() > 0.4  # it has seen its teammate now


def test_a_notebook_keeps_the_newest():
    book = Notebook(4, 1, 1, 1)
    for start in (0, 3):
        rows = np.arange(start, start + 3, dtype=np.float32)[:, None]
        book.write(rows, np.ones((3, 1), bool), rows.astype(np.int32))
    assert len(book) == 4 and sorted(book.obs[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0] and book.count == 6


def test_the_coach_plays_all_matches_at_first_and_a_share_after_a_third():
    assert [round(shown_in(p, 0.1), 6) for p in (0.0, 1 / 6, 1 / 3, 0.9)] == [1.0, 0.55, 0.1, 0.1]
    assert shown_in(0.0, 0.0) == 1.0 and shown_in(1 / 3, 0.0) == pytest.approx(0.0)


COACHED = [*FLAGS, "--env.matches", "8", "--ppo.n-steps", "32", "--ppo.batch-size", "128", "--coach.bot", "chaser",
           "--coach.rounds", "3", "--coach.rows", "256", "--coach.batch-size", "64", "--run.shards", "1",
           "--total-timesteps", "512", "--eval.every", "0", "--eval.matches", "1", "--tracking.view", "off",
           "--tracking.tensorboard", "false", "--ppo.teacher.weight", "0.5"]  # fmt: skip


def test_a_run_with_a_coach_begins_with_the_pupil_and_keeps_it_as_teacher(tmp_path, monkeypatch):
    from rich.console import Console

    from pvp_ml.match import MAIN
    from pvp_ml.model.bundle import read_bundle
    from pvp_ml.run import coached_start
    from pvp_ml.run.session import open_run
    from pvp_ml.run.trainer import train

    monkeypatch.chdir(tmp_path)
    config = load_config("rocket_league/ball-touching", [*COACHED, "--name", "taught"], tmp_path)
    lessons = []
    monkeypatch.setattr(coached_start, "coach", lambda *given: lessons.append(given[2]) or coach(*given), raising=True)
    with open_run(config, Console()) as run:
        pupil = read_bundle(run.store.path / "coached.zip")
        now = run.learning.trainees[MAIN].policy.tensors()
        actor = [name for name in now if name.startswith("actor")]
        assert actor and all(np.array_equal(now[name], pupil.tensors[name]) for name in actor)
        train(run)
        assert run.tracker.last["ppo/kl_teacher"] > 0.0  # it has moved away from the pupil
    assert [options.rounds for options in lessons] == [3]
    longer = load_config(
        "rocket_league/ball-touching", [*COACHED, "--name", "taught", "--total-timesteps", "768"], tmp_path
    )
    with open_run(longer, Console()) as run:
        assert run.progress.steps == 512 and run.config.ppo.teacher.model.endswith("coached.zip")
    assert len(lessons) == 1  # a resumed run is not taught again


def test_a_preset_cannot_name_a_coach_that_the_game_lacks(tmp_path):
    with pytest.raises(UserError, match=r"coach\.bot: game 'rocket_league' has no 'nobody'"):
        load_config("rocket_league/ball-touching", ["--coach.bot", "nobody"], tmp_path)


def test_short_flags_mean_the_learner_not_the_coach(tmp_path):
    words = ["--learning-rate", "2e-4", "--batch-size", "512", "--coach.learning-rate", "3e-3"]
    config = load_config("rocket_league/ball-touching", words, tmp_path)
    assert (config.ppo.learning_rate.value, config.ppo.batch_size, config.coach.learning_rate) == (2e-4, 512, 3e-3)
    assert config.coach.batch_size == 256
