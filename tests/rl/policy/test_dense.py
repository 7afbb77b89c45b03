"""Layers and encoders that are compiled for learning against torch's own: outputs and gradients of whole policies."""

import numpy as np
import pytest
import torch
from specimens import interface_for

from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.policy.torch_network import Network

ROWS = 7
NETWORKS = {
    "pointers": NetworkConfig(embedding=5, encoder=(12, 9), trunk=(16, 11), pointer=6, win_head=True),
    "pooled": NetworkConfig(embedding=4, encoder=(10,), trunk=(13,), pooling="mean_max"),
    "frames": NetworkConfig(embedding=3, encoder=(8, 8), trunk=(12,), frames=(0, 1), critic="separate"),
    "no encoder": NetworkConfig(embedding=3, trunk=(14, 10)),
    "heads of their own": NetworkConfig(embedding=3, encoder=(8,), trunk=(12,), heads="mlp", head_layers=(9, 7)),
    "rows further down": NetworkConfig(embedding=4, encoder=(12, 6), trunk=(16,), pointer=5),
}


def interface_of(name):
    """That of VGC; "rows further down": one head points at rows 1 to 5 of a block, another at row 0."""
    return interface_for("linked") if name == "rows further down" else make_spec(VgcConfig(privileged=False)).interface


def judged(policy, rows):
    """(outputs, flat gradient) of a loss that every output is part of."""
    gradient = torch.zeros(policy.size)
    policy.bind_gradients(gradient)
    found = policy.evaluate(*rows)
    parts = [found.log_prob, found.entropy, found.value, *([found.win_logit] if found.win_logit is not None else [])]
    sum((part * (i + 1.0)).sin().sum() for i, part in enumerate(parts)).backward()
    return [part.detach() for part in parts], gradient


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_function_and_the_same_slopes(name):
    interface = interface_of(name)
    policy = Policy(NETWORKS[name], interface)
    policy.initialise(torch.Generator().manual_seed(3))
    with torch.no_grad():
        policy.flat += 0.1 * torch.randn(policy.size, generator=torch.Generator().manual_seed(4))
    rng = np.random.default_rng(5)
    frames = len(policy.network.frames)
    columns = [
        rng.integers(0, f.vocab, (ROWS, frames)) if f.kind == "id" else rng.normal(0, 1, (ROWS, frames))
        for f in interface.features
    ]
    obs = np.stack(columns, axis=2).reshape(ROWS, -1).astype(np.float32)
    legal = np.ones((ROWS, interface.mask_size), np.bool_)
    actions = np.stack([rng.integers(0, size, ROWS) for size in interface.head_sizes], axis=1)
    rows = torch.from_numpy(obs), None, torch.from_numpy(legal), torch.from_numpy(actions)
    ours, slopes = judged(policy, rows)
    policy.net = Network(policy.network, interface, policy.layout)
    theirs, truth = judged(policy, rows)
    for mine, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, right, rtol=1e-4, atol=1e-5)
    assert float(truth.norm()) > 1.0
    for part, (mine, right) in enumerate(zip(policy.views(slopes).values(), policy.views(truth).values(), strict=True)):
        assert float((mine - right).norm()) <= 1e-4 * float(truth.norm()), list(policy.shapes)[part]


def test_mixed_precision_takes_torchs_way():
    """bfloat16 has no numpy arrays; the layers must notice."""
    interface = make_spec(VgcConfig(privileged=False)).interface
    policy = Policy(NETWORKS["pointers"], interface)
    policy.initialise(torch.Generator().manual_seed(3))
    obs = torch.zeros(2, interface.obs_size)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        low = policy.win_logits(obs)
    torch.testing.assert_close(low, policy.win_logits(obs).detach(), rtol=0.05, atol=0.05)
