"""A bot teaches a policy while it plays."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pvp_ml.errors import UserError
from pvp_ml.run.coaching import CoachConfig, Notebook, coach
from pvp_ml.run.config.schema import load_config

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


def test_a_coach_must_be_a_bot_of_the_game(tmp_path):
    policy, game = pupil(tmp_path)
    with pytest.raises(UserError, match="has no bot 'nobody'"):
        coach(game, policy, CoachConfig(bot="nobody"), 1)
    game.close()


def test_a_notebook_keeps_the_newest():
    book = Notebook(4, 1, 1, 1)
    for start in (0, 3):
        rows = np.arange(start, start + 3, dtype=np.float32)[:, None]
        book.write(rows, np.ones((3, 1), bool), rows.astype(np.int32))
    assert len(book) == 4 and sorted(book.obs[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0] and book.count == 6
