"""Pay for unusual sights."""

import numpy as np
import pytest
from specimens import plain_heads, random_policy

from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.novelty import add_novelty, novelty
from pvp_ml.rl.rollout import Rollout, RolloutShape
from pvp_ml.spec import Block, Feature, Interface


def seeing_policy():
    """Features: a number, a constant, an id; mean 2, deviation 3."""
    features = (Feature("x"), Feature("level", constant=True), Feature("kind", "id", 9))
    policy = random_policy(NetworkConfig(trunk=(4,)), Interface((Block("b", 1, features),), plain_heads(2)))
    policy.normalizer["obs/mean"][:] = 2.0
    policy.normalizer["obs/var"][:] = 9.0
    policy.normalizer["obs/count"][:] = 100.0
    return policy


def test_only_numbers_that_change_count_beyond_one_deviation_up_to_the_clip():
    policy = seeing_policy()
    obs = np.array([[2, 99, 8], [4, 0, 0], [8, 0, 0], [-7, 0, 0], [1e6, 0, 0]], np.float32)
    assert novelty(policy, obs) == pytest.approx([0, 0, 1, 2, 4], abs=1e-4)


def test_a_step_is_paid_for_what_it_led_to_but_not_across_matches():
    policy = seeing_policy()
    rollout = Rollout(RolloutShape(3, 2, 1, 3, 0, 2, 1))
    rollout.obs[..., 0] = 2.0
    rollout.obs[2, :, 0, 0] = 8.0  # after step 1, novelty 1 in both matches
    rollout.obs[3, :, 0, 0] = -7.0  # after step 2, novelty 2
    rollout.seated[:] = 0
    rollout.end[2, 1] = 1  # the second match ended in step 2: its next observation belongs to another
    assert add_novelty(rollout, 0, policy, 0.5) == pytest.approx(0.5 + 0.5 + 1.0)
    assert rollout.reward[:, :, 0].T.tolist() == [[0, 0.5, 1.0, 0], [0, 0.5, 0, 0]]
    assert add_novelty(rollout, 1, policy, 0.5) == 0.0
    policy.normalizer["obs/count"][:] = 0.0
    assert add_novelty(rollout, 0, policy, 0.5) == 0.0
