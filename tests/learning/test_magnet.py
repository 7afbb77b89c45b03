"""The magnet is the policy itself until it begins to pull."""

import numpy as np
import pytest
import torch
from session import Session

PPO = {"n_steps": 8, "batch_size": 1024, "n_epochs": 1, "normalize_observations": False, "learning_rate": 1e-3}


def spoiled(game, **ppo):
    """A session whose policy is far from uniform, as after a warm start."""
    session = Session(game, 128, {**PPO, **ppo}, {"trunk": (16,)})
    with torch.no_grad():
        session.policy.flat.add_(torch.randn(session.policy.size, generator=torch.Generator().manual_seed(1)))
    session.learning.shards.refresh()
    return session


@pytest.mark.parametrize("game", ["kuhn", "rock_paper_scissors"])
def test_the_first_rollout_is_not_pulled_anywhere(game):
    session = spoiled(game, magnet={"weight": 1.0})
    session.train(1)
    assert session.metrics.get("ppo/kl_magnet", 0.0) < 1e-4  # a network of zeros: 0.3 and more
    session.close()


def test_a_magnet_whose_weight_begins_later_begins_as_the_policy_of_that_moment():
    weight = {"type": "jump", "jumps": {0: 0.0, 4: 1.0}, "clock": "rollouts"}
    session = spoiled("kuhn", learning_rate=0.05, magnet={"weight": weight})
    session.train(4)
    magnet = session.learning.shards.memories[0].anchors["magnet"]
    assert torch.equal(magnet.flat, session.policy.flat)
    session.train(2)
    assert 0.0 < session.metrics["ppo/kl_magnet"] < 1.0
    assert not torch.equal(magnet.flat, session.policy.flat), "without a refresh it stays"
    session.close()


def test_a_trainee_that_starts_again_takes_its_magnet_along():
    session = spoiled("kuhn", magnet={"weight": 1.0})
    session.train(2)
    session.policy.flat.data.add_(1.0)
    session.learning.restart("main", "main")
    magnet = session.learning.shards.memories[0].anchors["magnet"]
    assert np.array_equal(magnet.flat.numpy(), session.policy.flat.numpy())
    session.close()


def test_a_magnet_follows_as_an_exponential_average():
    session = spoiled("kuhn", learning_rate=0.05, magnet={"weight": 0.1, "average": 0.25})
    magnet = session.learning.shards.memories[0].anchors["magnet"]
    session.train(1)
    expected = session.policy.flat.detach().clone()
    for _ in range(3):
        session.train(1)
        expected += 0.25 * (session.policy.flat.detach() - expected)
        torch.testing.assert_close(magnet.flat, expected, rtol=1e-5, atol=1e-7)
    assert float((magnet.flat - session.policy.flat.detach()).abs().max()) > 1e-3
    session.close()
