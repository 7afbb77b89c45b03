"""The numpy actor against torch: the same choices from the same noise, for every network shape."""

import numpy as np
import pytest
import torch
from specimens import SHAPES, interface_for, legal_of, random_policy, random_rows

from pvp_ml.errors import UserError
from pvp_ml.model.actor import Actor
from pvp_ml.model.sampling.heads import gumbel_noise
from pvp_ml.rl.policy.export import DecidingModule

ROWS = 10_000


def acted(shape, rows=ROWS, seed=5):
    network, kind = SHAPES[shape]
    interface = interface_for(kind)
    policy = random_policy(network, interface, seed)
    rng = np.random.default_rng(seed)
    obs, privileged, mask, memory = random_rows(network, interface, rows, rng)
    keys = rng.integers(0, 2**64, rows, np.uint64)
    greedy = rng.random(rows) < 0.1
    actor, out = policy.actor(), policy.actor().heads.decision(rows, value=True)
    before = None if memory is None else memory.copy()
    assert actor.act(obs, mask, keys, greedy, out, privileged, memory) == -1
    noise = np.zeros(mask.shape, np.float32)
    gumbel_noise(keys, mask, noise)
    noise[greedy] = 0.0
    return policy, (obs, privileged, mask, before), (keys, greedy, noise), (out, out.value, memory)


def as_tensor(array):
    return None if array is None else torch.from_numpy(array)


@pytest.mark.parametrize("shape", SHAPES)
def test_torch_chooses_the_same_10000_actions_from_the_same_noise(shape):
    policy, (obs, privileged, mask, memory), (_, _, noise), (out, value, after) = acted(shape)
    module = DecidingModule(policy.network, policy.interface, policy.tensors(), policy.normalizer)
    inputs = [as_tensor(a) for a in (obs, mask, noise, memory) if a is not None]
    with torch.no_grad():
        actions, log_prob, *rest = module(*inputs)
        legal = legal_of(policy.interface, mask, out.actions)
        new = policy.evaluate(
            as_tensor(obs), as_tensor(privileged), as_tensor(legal), as_tensor(out.actions).long(), as_tensor(memory)
        )
    assert (actions.numpy() != out.actions).sum() == 0
    assert np.abs(log_prob.numpy() - out.log_prob).max() <= 1e-5 * max(1.0, np.abs(out.log_prob).max())
    assert np.abs(new.log_prob.numpy() - out.log_prob).max() <= 1e-5 * max(1.0, np.abs(out.log_prob).max())
    assert np.abs(new.value.numpy() - value).max() <= 1e-5 * max(1.0, np.abs(value).max())
    assert (legal == out.legal).all()
    if rest:
        assert np.abs(rest[0].numpy() - after).max() <= 1e-5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_is_its_rows_one_by_one(shape):
    policy, (obs, privileged, mask, memory), (keys, greedy, _), (out, value, after) = acted(shape, 1_100)
    actor = policy.actor()
    for row in range(0, 1_100, 7):
        one = slice(row, row + 1)
        alone = actor.heads.decision(1, value=True)
        state = None if memory is None else memory[one].copy()
        actor.act(obs[one], mask[one], keys[one], greedy[one], alone, privileged[one], state)
        assert (alone.actions[0] == out.actions[row]).all()
        assert alone.log_prob[0] == pytest.approx(out.log_prob[row], abs=1e-5, rel=1e-5)
        assert alone.value[0] == pytest.approx(value[row], abs=1e-5, rel=1e-5)
        if state is not None:
            assert np.abs(state[0] - after[row]).max() <= 1e-5
    state = None if memory is None else memory.copy()
    values, _ = actor.evaluate(obs, privileged, state)
    assert state is None or (state == memory).all()
    assert np.abs(values - value).max() <= 1e-5 * max(1.0, np.abs(value).max())


@pytest.mark.parametrize("shape", [name for name, (network, _) in SHAPES.items() if network.privileged])
def test_actions_do_not_depend_on_privileged_features(shape):
    policy, (obs, privileged, mask, memory), (keys, greedy, _), (out, value, _) = acted(shape, 600)
    actor, again = policy.actor(), policy.actor().heads.decision(600, value=True)
    actor.act(obs, mask, keys, greedy, again, privileged + 3.0, memory)
    assert (again.actions == out.actions).all() and (again.log_prob == out.log_prob).all()
    assert np.abs(again.value - value).max() > 0.1


def test_stacked_frames_are_normalised_frame_by_frame_and_privileged_input_comes_after_all_of_them():
    network, kind = SHAPES["frames"]
    interface = interface_for(kind)
    policy = random_policy(network, interface)
    d = interface.obs_size
    assert tuple(policy.shapes["actor/0/weight"]) == (16, 2 * d)
    assert tuple(policy.shapes["critic/0/weight"]) == (16, 2 * d + interface.privileged_size)
    obs = np.tile(policy.normalizer["obs/mean"].astype(np.float32), (1, 2))
    assert np.abs(policy.actor()._input(obs)).max() == 0.0
    obs[0, d + 1] += 1.0
    seen = policy.actor()._input(obs)[0]
    assert np.flatnonzero(seen).tolist() == [d + 1]
    assert seen[d + 1] == pytest.approx(policy.normalizer["obs/var"][1] ** -0.5, rel=1e-5)


def test_a_constant_feature_is_exactly_zero_however_large():
    network, kind = SHAPES["default"]
    interface = interface_for(kind)
    policy = random_policy(network, interface)
    policy.normalizer["obs/mean"][3], policy.normalizer["obs/var"][3] = 12_345.0, 0.0
    actor = policy.actor()
    obs = np.zeros((4, interface.obs_size), np.float32)
    obs[:, 3] = 12_345.0
    assert (actor._input(obs)[:, 3] == 0.0).all()


def test_win_probability_equals_torch():
    policy, (obs, _, mask, memory), _, (out, _, _) = acted("everything", 300)
    legal = legal_of(policy.interface, mask, out.actions)
    privileged = np.zeros((300, policy.interface.privileged_size), np.float32)
    with torch.no_grad():
        new = policy.evaluate(*(as_tensor(a) for a in (obs, privileged, legal)), as_tensor(out.actions).long(),
                              as_tensor(memory))  # fmt: skip
    _, found = policy.actor().evaluate(obs, privileged, memory)
    assert np.abs(found - torch.sigmoid(new.win_logit).numpy()).max() <= 1e-5


def test_the_actor_follows_the_weights_and_refuses_wrong_ones():
    network, kind = SHAPES["default"]
    policy = random_policy(network, interface_for(kind))
    actor, obs = policy.actor(), np.ones((3, 9), np.float32)
    keys, greedy, mask = np.zeros(3, np.uint64), np.ones(3, np.bool_), np.ones((3, actor.heads.columns), np.bool_)
    first, then = (actor.heads.decision(3, probs=True) for _ in range(2))
    actor.act(obs, mask, keys, greedy, first)
    with torch.no_grad():
        policy.flat.mul_(2.0)
    actor.act(obs, mask, keys, greedy, then)
    assert np.abs(first.probs - then.probs).max() > 0.01
    tensors = dict(policy.tensors())
    tensors.pop("value/bias")
    with pytest.raises(UserError, match="value/bias"):
        Actor(network, policy.interface, tensors, policy.normalizer)
    with pytest.raises(UserError, match="head/weight"):
        Actor(network, policy.interface, policy.tensors() | {"head/weight": first.probs}, policy.normalizer)


@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities_are_those_of_the_choices_made(shape):
    """The joint log-probability is the sum over heads, each given the picks before it; greedy heads take the top."""
    policy, (obs, privileged, mask, memory), (keys, _, _), _ = acted(shape, 600)
    actor, greedy = policy.actor(), np.zeros((600, len(policy.interface.heads)), np.bool_)
    greedy[:, 0] = True
    out = actor.heads.decision(600, probs=True)
    actor.act(obs, mask, keys, greedy, out, privileged, memory)
    picked = np.take_along_axis(out.probs, (actor.heads.offset[:-1] + out.actions).astype(np.int64), axis=1)
    assert np.log(picked.astype(np.float64)).sum(1) == pytest.approx(out.log_prob, abs=2e-4, rel=2e-4)
    assert (out.probs[~out.legal] == 0.0).all()
    first = out.probs[:, : policy.interface.heads[0].size]
    assert (picked[:, 0] == first.max(axis=1)).all()
    if policy.interface.heads[1:]:
        second = out.probs[:, actor.heads.offset[1] : actor.heads.offset[2]]
        assert (picked[:, 1] < second.max(axis=1)).any()  # the others are drawn
