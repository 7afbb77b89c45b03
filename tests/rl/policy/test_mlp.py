"""Gradients without autograd against torch's: the same loss, over random networks, masks, rules and options."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import (
    fight_heads,
    head_sets,
    interface_for,
    legal_of,
    plain_interface,
    random_policy,
    random_rows,
)

from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.accelerator import backward
from pvp_ml.rl.loss import LossWeights, Minibatch
from pvp_ml.rl.policy.mlp import PlainBatch, PlainGradient, is_plain_policy
from pvp_ml.rl.policy.plain_input import CHUNK, PlainRows
from pvp_ml.rl.policy.policy import Anchor
from pvp_ml.rl.policy.torch_network import Network
from pvp_ml.spec import Block, Feature, Interface

NETWORKS = {
    "shared": NetworkConfig(trunk=(32, 24)),
    "one layer": NetworkConfig(trunk=(17,), heads="independent"),
    "three layers": NetworkConfig(trunk=(16, 12, 8), win_head=True),
    "separate": NetworkConfig(trunk=(16, 12), critic="separate", critic_trunk=(24, 8, 5)),
    "privileged": NetworkConfig(trunk=(16,), critic="separate", privileged=True, win_head=True),
    "linear critic": NetworkConfig(trunk=(16,), critic="separate", critic_trunk=(), privileged=True),
    "frames": NetworkConfig(trunk=(16,), frames=(0, 2), critic="separate", privileged=True, clip=1.5),
    "pooled": NetworkConfig(trunk=(16, 12), encoder=(10,), pooling="mean_max"),
    "encoded": NetworkConfig(trunk=(16,), encoder=(10, 6), win_head=True),
    "pooled, two critics": NetworkConfig(
        trunk=(16,), encoder=(10, 6), pooling="mean_max", frames=(0, 1), critic="separate", privileged=True
    ),
}
WEIGHTS = LossWeights(clip=0.2, value_clip=None, value_coef=0.5, entropy=(0.01,), win_coef=0.3, teacher=0.0, magnet=0.0)


def field_interface(heads):
    """A ball, three cars and two pads: numbers and flags, alone and in repeated blocks."""
    car = (*(Feature(f"c{i}") for i in range(4)), Feature("alive", "flag"))
    blocks = (
        Block("field.ball", 1, (Feature("x"), Feature("y"))),
        Block("field.car", 3, car),
        Block("field.time", 1, (Feature("left"),)),
        Block("field.pad", 2, (Feature("x"), Feature("there", "flag"))),
    )
    return Interface(blocks, heads, (Block("hidden", 1, tuple(Feature(f"p{i}") for i in range(4))),))


def empty_places(interface, obs):
    """In every other row the last two cars are alike, as empty places are: all their numbers are cut at the limit."""
    obs.reshape(-1, interface.obs_size)[::2, 2 + 5 : 2 + 15] = 1e9


def both(network, heads, weights, rows, seed):
    """(sums, win logits, flat gradient) of one minibatch, with torch and without."""
    interface = field_interface(heads) if network.encoder else plain_interface(heads, 9, privileged=4)
    policy = random_policy(network, interface, seed % 997, 0.4)
    rng = np.random.default_rng(seed)
    obs, privileged, mask, _ = random_rows(network, interface, 2 * rows, rng)
    if network.encoder:
        empty_places(interface, obs)
    out = policy.actor().heads.decision(2 * rows)
    keys = rng.integers(0, 2**64, 2 * rows, np.uint64)
    policy.actor().act(obs, mask, keys, np.zeros(2 * rows, np.bool_), out)
    legal = legal_of(interface, mask, out.actions)
    index = rng.permutation(2 * rows)[:rows]
    float32 = [rng.normal(0, s, rows).astype(np.float32) for s in (0.2, 1.0, 1.0, 1.0)]
    off, advantage, returns, value = float32
    log_prob = out.log_prob[index] + off
    won = np.where(rng.random(rows) < 0.3, np.nan, rng.integers(0, 3, rows) / 2).astype(np.float32)
    win_weight = rng.uniform(0.2, 3.0, rows).astype(np.float32)
    values = np.zeros(2 * rows, np.float32)
    values[index] = value
    weights = replace(weights, entropy=tuple(weights.entropy[0] * (1 + h) for h in range(len(heads))))

    anchors = {}
    for k, name in enumerate(("teacher", "magnet")):
        other = random_policy(network, interface, seed % 997 + 1 + k, 0.4)
        anchors[name] = Anchor(other.flat.detach(), other.normalizer)
    theirs = torch.zeros(policy.size)
    policy.bind_gradients(theirs)
    policy.net = Network(network, interface, policy.layout)  # torch's own layers
    tensors = (torch.from_numpy(x[index]) for x in (obs, privileged, legal, out.actions.astype(np.int64)))
    rest = (torch.from_numpy(x) for x in (log_prob, value, advantage, returns, won, win_weight))
    judged = backward(policy, Minibatch(*tensors, *rest), anchors, weights)

    ours = torch.zeros(policy.size)
    width = interface.obs_size
    source = PlainRows(*(np.ascontiguousarray(x) for x in (obs[:, :width], obs[:, width:], privileged, legal)),
                       out.actions, values)  # fmt: skip
    taught = (won, win_weight) if network.win_head else (None, None)
    batch = PlainBatch(index, log_prob, advantage, returns, *taught)
    sums, win = PlainGradient(policy, ours, anchors).add(source, batch, weights)
    return (judged.sums, judged.win_logit, theirs), (sums, win, ours)


def close(torchs, plains):
    sums, win, gradient = torchs
    np.testing.assert_allclose(plains[0], sums.numpy(), rtol=1e-4, atol=1e-3)
    assert (win is None) == (plains[1] is None)
    if win is not None:
        np.testing.assert_allclose(plains[1], win.numpy(), rtol=1e-4, atol=1e-5)
    assert float(gradient.abs().max()) > 0.0
    assert float((gradient - plains[2]).norm()) <= 1e-5 * float(gradient.norm())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS,
        replace(WEIGHTS, value_clip=0.4, clip=0.05),
        replace(WEIGHTS, policy=0.0, entropy=(0.0,)),
        replace(WEIGHTS, magnet=0.7),
        replace(WEIGHTS, policy=0.0, entropy=(0.0,), teacher=0.4, magnet=0.2),
    ],
    ids=["default", "clipped", "critic only", "magnet", "two anchors"],
)
def test_fights(name, weights):
    """More rows than one chunk holds, and not a whole number of chunks."""
    close(*both(NETWORKS[name], fight_heads(), weights, CHUNK + 77, 4))


@settings(max_examples=40, deadline=None)
@given(head_sets(), st.sampled_from(list(NETWORKS)), st.sampled_from([0.0, 0.5]), st.integers(0, 2**32 - 1))
def test_any_heads(heads, name, magnet, seed):
    close(*both(NETWORKS[name], heads, replace(WEIGHTS, magnet=magnet), 9, seed))


@pytest.mark.parametrize("bad", ["advantage", "weights"])
def test_what_is_not_a_number_is_not_hidden(bad):
    """The trainee skips such an update; it must see it."""
    interface = plain_interface(fight_heads(), 9)
    policy = random_policy(NetworkConfig(trunk=(8,)), interface)
    if bad == "weights":
        policy.tensors()["actor/0/weight"][3, 2] = np.nan
    rng = np.random.default_rng(0)
    obs, _, mask, _ = random_rows(policy.network, interface, 5, rng)
    actions = np.zeros((5, len(interface.heads)), np.int32)
    rows = PlainRows(obs, obs[:, :0], obs[:, :0], legal_of(interface, mask, actions), actions, np.zeros(5, np.float32))
    ones = np.ones(5, np.float32)
    gradient = torch.zeros(policy.size)
    advantage = ones * np.nan if bad == "advantage" else ones
    weights = replace(WEIGHTS, entropy=(0.01,) * len(interface.heads))
    batch = PlainBatch(np.arange(5), -ones, advantage, ones, None, None)
    sums, _ = PlainGradient(policy, gradient, {}).add(rows, batch, weights)
    assert np.isnan(sums[1])
    assert gradient.isnan().any()


def test_other_networks_are_left_to_torch():
    interface = plain_interface(fight_heads(), 9)
    for network in (
        NetworkConfig(trunk=(8,), activation="tanh"),
        NetworkConfig(trunk=(8,), memory=4),
        NetworkConfig(trunk=(8,), heads="mlp"),
    ):
        assert not is_plain_policy(random_policy(network, interface))
    for kind, network in (("blocks", NetworkConfig()), ("linked", NetworkConfig(encoder=(6,), pointer=4))):
        assert not is_plain_policy(random_policy(network, interface_for(kind)))
    assert is_plain_policy(random_policy(NetworkConfig(trunk=(8,)), interface))
