"""The compiled heads against torch's own passes: values and gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import fight_heads, head_sets, legal_of, plain_interface, random_policy, random_rows

from pvp_ml.model.network_config import NetworkConfig


def both(heads, kind, rows, seed):
    """Log-prob, entropy and flat gradient of a mixed loss, once each way."""
    interface = plain_interface(heads, 5)
    policy = random_policy(NetworkConfig(trunk=(12,), heads=kind), interface, seed % 997, 0.8)
    rng = np.random.default_rng(seed)
    obs, _, mask, _ = random_rows(policy.network, interface, rows, rng)
    out = policy.actor().heads.decision(rows)
    policy.actor().act(obs, mask, rng.integers(0, 2**64, rows, np.uint64), np.zeros(rows, np.bool_), out)
    legal = torch.from_numpy(legal_of(interface, mask, out.actions))
    weight, bonus = torch.from_numpy(rng.normal(size=(2, rows)).astype(np.float32))
    results = []
    for with_log_probs in (False, True):
        gradient = torch.zeros(policy.size)
        policy.bind_gradients(gradient)
        new = policy.evaluate(
            torch.from_numpy(obs), None, legal, torch.from_numpy(out.actions).long(), None, with_log_probs
        )
        (weight * new.log_prob + bonus * new.entropy.sum(1) + new.entropy[:, -1]).sum().backward()
        assert (new.log_probs is None) != with_log_probs
        results.append((new.log_prob.detach(), new.entropy.detach(), gradient))
    return results


def close(one, other):
    for a, b in zip(one, other, strict=True):
        assert float((a - b).abs().max()) <= 2e-5 * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize("kind", ["table", "independent"])
def test_fight_heads(kind):
    close(*both(fight_heads(), kind, 700, 4))


@settings(max_examples=40, deadline=None)
@given(head_sets(), st.sampled_from(["table", "independent"]), st.integers(0, 2**32 - 1))
def test_any_heads(heads, kind, seed):
    close(*both(heads, kind, 9, seed))
