"""Torch's side of multi-head actions: joint probabilities, entropies and gradients by enumeration."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import head_sets, legal_of, plain_interface, random_policy

from pvp_ml.model.network_config import NetworkConfig


def evaluated(heads, seed, kind):
    """One observation, one mask, every joint action."""
    rng = np.random.default_rng(seed)
    interface = plain_interface(heads, 3)
    policy = random_policy(NetworkConfig(trunk=(8,), heads=kind, head_layers=(6,)), interface, seed % 1000, 1.0)
    joints = np.array(list(product(*(range(h.size) for h in heads))), np.int32)
    mask = np.repeat(rng.random((1, interface.mask_size)) < 0.7, len(joints), axis=0)
    legal = legal_of(interface, mask, joints)
    obs = torch.from_numpy(np.repeat(rng.normal(size=(1, 3)).astype(np.float32), len(joints), axis=0))
    return policy.evaluate(obs, None, torch.from_numpy(legal), torch.from_numpy(joints).long()), joints, legal, policy


@settings(max_examples=40, deadline=None)
@given(head_sets(), st.integers(0, 2**32 - 1), st.sampled_from(["table", "independent", "mlp"]))
def test_joint_probabilities_sum_to_one_illegal_ones_are_exactly_zero_and_entropies_add_up(heads, seed, kind):
    new, joints, legal, policy = evaluated(heads, seed, kind)
    probability = new.log_prob.detach().double().exp()
    offset = policy.layout.offset.numpy()
    is_legal = legal[np.arange(len(joints))[:, None], offset + joints].all(axis=1)
    assert (probability.numpy()[~is_legal] == 0.0).all()
    assert float(probability.sum()) == pytest.approx(1.0, abs=1e-5)
    possible = probability > 0
    joint_entropy = -(probability[possible] * probability[possible].log()).sum()
    chained = (probability[:, None] * new.entropy.detach().double()).sum()
    assert float(chained) == pytest.approx(float(joint_entropy), abs=1e-5)
    assert float(joint_entropy) <= np.log(max(1, is_legal.sum())) + 1e-6


def test_masked_logits_get_no_gradient():
    from pvp_ml.rl.policy.actions import head_entropies, joint_log_prob, masked_log_probs

    logits = torch.randn(50, 3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    legal = torch.rand(50, 3, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    legal[:, :, 0] = True
    log_probs = masked_log_probs(logits, legal)
    (
        joint_log_prob(log_probs, torch.zeros(50, 3, dtype=torch.long)) + head_entropies(log_probs).sum(1)
    ).sum().backward()
    assert (logits.grad[~legal] == 0.0).all()
    assert logits.grad[legal].abs().max() > 0.1


def test_the_table_lets_no_head_see_itself_or_later_heads():
    from specimens import plain_heads

    interface = plain_interface(plain_heads(3, 2, 4), 3)
    policy = random_policy(NetworkConfig(trunk=(8,)), interface, 1, 1.0)
    everything = torch.ones(1, 9, dtype=torch.bool)
    obs = torch.zeros(1, 3)
    one = policy.evaluate(obs, None, everything, torch.tensor([[0, 1, 3]]), with_log_probs=True).log_probs
    other = policy.evaluate(obs, None, everything, torch.tensor([[0, 0, 2]]), with_log_probs=True).log_probs
    assert (one[:, :2] == other[:, :2]).all()
    assert (one[:, 2] - other[:, 2]).abs().max() > 0.01
