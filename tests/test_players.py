"""Scripted players: legal in every game, the same in every batch."""

from itertools import product

import numpy as np
import pytest

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.model.bundle import make_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule

SPEC = GameSpec(
    name="duel",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("me", 2, (Feature("hp"), Feature("ready", "flag"))),),
    heads=(
        Head("style", ("none", "hit", "cast")),
        Head("weapon", ("keep", "sword", "staff"), rules=(Rule("sword", "any", (("style", "hit"),)),)),
        Head("eat", ("no", "yes"), rules=(Rule("yes", "none", (("style", "hit"), ("weapon", "staff"))),)),
        Head("aim", ("low", "high"), rules=(Rule("low", "none", (("style", "cast"),)),), fallback="low"),
    ),
    rewards=(RewardTerm("win"),),
    max_steps=10,
)


def rows(count, mask=None):
    """serials, seats, obs, mask, keys of `count` rows."""
    rng = np.random.default_rng(5)
    mask = np.ones((count, SPEC.mask_size), np.bool_) if mask is None else mask
    return (
        np.arange(count),
        np.zeros(count, np.int32),
        np.zeros((count, SPEC.obs_size), np.float32),
        mask,
        rng.integers(0, 2**63, count).astype(np.uint64),
    )


def is_legal(action, mask):
    """The rules of SPEC, written out by hand."""
    style, weapon, eat, aim = action
    if not (mask[style] and mask[3 + weapon] and mask[6 + eat]):
        return False
    if weapon == 1 and style != 1:
        return False
    if eat == 1 and (style == 1 or weapon == 2):
        return False
    open_aims = [a for a in (0, 1) if mask[8 + a] and not (a == 0 and style == 2)]
    return aim in (open_aims or [0])


@pytest.mark.parametrize("name", ["random", "noop"])
def test_only_legal_actions_under_random_masks(name):
    mask = np.random.default_rng(1).random((4000, SPEC.mask_size)) < 0.6
    mask[:, [0, 3, 6]] = True
    actions = players.make(name, SPEC).decide(*rows(4000, mask))
    assert actions.shape == (4000, 4)
    assert actions.dtype == np.int32
    assert all(is_legal(a, m) for a, m in zip(actions.tolist(), mask, strict=True))


def test_random_reaches_every_legal_joint_action_with_the_right_chance():
    actions = players.make("random", SPEC).decide(*rows(60_000))
    everything = np.ones(SPEC.mask_size, bool)
    legal = {a for a in product(range(3), range(3), range(2), range(2)) if is_legal(a, everything)}
    seen, counts = np.unique(actions, axis=0, return_counts=True)
    assert {tuple(row) for row in seen.tolist()} == legal
    share = dict(zip(map(tuple, seen.tolist()), counts / 60_000, strict=True))
    # none (1/3) · keep (1/2: sword needs hit) · no (1/2) · low (1/2)
    assert share[(0, 0, 0, 0)] == pytest.approx(1 / 24, abs=0.004)
    # hit (1/3) · sword (1/3) · no (1: yes is forbidden) · high (1/2)
    assert share[(1, 1, 0, 1)] == pytest.approx(1 / 18, abs=0.004)


def test_noop_takes_the_first_legal_choice():
    mask = np.ones((1, SPEC.mask_size), np.bool_)
    mask[0, 0] = False  # no "none": hit; keep; no; low
    assert players.make("noop", SPEC).decide(*rows(1, mask)).tolist() == [[1, 0, 0, 0]]


def test_a_row_plays_the_same_in_any_batch():
    serials, seats, obs, mask, keys = rows(64)
    player = players.make("random", SPEC)
    together = player.decide(serials, seats, obs, mask, keys)
    order = np.random.default_rng(2).permutation(64)
    assert (player.decide(serials[order], seats, obs, mask[order], keys[order]) == together[order]).all()
    alone = [player.decide(serials[i : i + 1], seats[:1], obs[:1], mask[i : i + 1], keys[i : i + 1]) for i in range(64)]
    assert (np.concatenate(alone) == together).all()


def test_an_empty_head_is_reported_with_its_match():
    mask = np.ones((3, SPEC.mask_size), np.bool_)
    mask[1, :3] = False
    with pytest.raises(UserError, match="match 1: a head without fallback has no legal choice"):
        players.make("random", SPEC).decide(*rows(3, mask))


def test_uniform_is_uniform_and_keyed():
    keys = np.arange(20_000, dtype=np.uint64)  # neighbouring keys must not give neighbouring numbers
    numbers = players.uniform(keys, 3)
    assert numbers.shape == (20_000, 3)
    assert (numbers > 0).all() and (numbers < 1).all()
    assert numbers.mean(0) == pytest.approx([0.5] * 3, abs=0.01)
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(numbers[:, 0], numbers[:, 1])[0, 1]) < 0.03
    assert (players.uniform(keys[5:6], 3) == numbers[5]).all()


def test_unknown_and_unfit_players_are_refused(monkeypatch):
    with pytest.raises(UserError, match="no scripted player 'randm' — did you mean 'random'"):
        players.find("randm")
    picky = players.PlayerType("picky", "plays chess", players.RandomPlayer, ("chess",))
    monkeypatch.setattr(players, "find", lambda name: picky)
    with pytest.raises(UserError, match="'picky' does not play 'duel' — it plays: chess"):
        players.make("picky", SPEC)


def bundle_of(network, seed=0):
    rng = np.random.default_rng(seed)
    tensors = {
        n: rng.normal(size=s, scale=0.4).astype(np.float32) for n, s in tensor_shapes(network, SPEC.interface).items()
    }
    statistics = {n: np.full(s, 2.0) for n, s in normalizer_shapes(network, SPEC.interface).items()}
    return make_bundle(SPEC, network, tensors, statistics)


def play(player, obs, serials, seats, mask):
    """Actions [T,B,H] of obs [T,B,D], keys from row and step."""
    keys = np.arange(obs.shape[0] * obs.shape[1], dtype=np.uint64).reshape(obs.shape[:2]) * np.uint64(7919)
    return np.stack([player.decide(serials, seats, obs[t], mask, keys[t]) for t in range(len(obs))])


@pytest.mark.parametrize(
    "network",
    [
        NetworkConfig(trunk=(16,)),
        NetworkConfig(trunk=(16,), frames=(0, 1, 3)),
        NetworkConfig(trunk=(16,), memory=8),
        NetworkConfig(trunk=(16,), heads="mlp", head_layers=(8,), memory=4, frames=(0, 2)),
    ],
)
def test_a_bundle_plays_each_match_by_itself(network):
    rng = np.random.default_rng(3)
    obs = rng.normal(size=(6, 10, SPEC.obs_size)).astype(np.float32)
    serials, seats = np.arange(10) // 2, (np.arange(10) % 2).astype(np.int32)
    mask = np.ones((10, SPEC.mask_size), np.bool_)
    together = play(players.BundlePlayer(bundle_of(network), SPEC), obs, serials, seats, mask)
    # the same rows, one match at a time, by a player that has already played other matches under the same numbers
    other = players.BundlePlayer(bundle_of(network), SPEC)
    play(other, obs[::-1] + 1.0, serials, seats, mask)
    other.begin(serials)
    keys = np.arange(60, dtype=np.uint64).reshape(6, 10) * np.uint64(7919)
    for row in range(10):
        one = slice(row, row + 1)
        alone = [other.decide(serials[one], seats[one], obs[t, one], mask[one], keys[t, one]) for t in range(6)]
        assert (np.concatenate(alone) == together[:, row]).all()
    assert len(np.unique(together.reshape(-1, 4), axis=0)) > 3


def test_frames_are_stacked_newest_first_from_zeros():
    network = NetworkConfig(trunk=(16,), frames=(0, 2))
    bundle = bundle_of(network)
    obs = np.random.default_rng(4).normal(size=(4, 1, SPEC.obs_size)).astype(np.float32)
    player = players.BundlePlayer(bundle, SPEC, greedy=True)
    seen = play(player, obs, np.array([9]), np.zeros(1, np.int32), np.ones((1, SPEC.mask_size), np.bool_))
    zero = np.zeros_like(obs[0])
    stacks = [np.concatenate([obs[t], obs[t - 2] if t >= 2 else zero], axis=1) for t in range(4)]
    actor = players.actor_of(bundle)
    out = actor.heads.decision(4)
    actor.act(
        np.concatenate(stacks), np.ones((4, SPEC.mask_size), np.bool_), np.zeros(4, np.uint64), np.ones(4, bool), out
    )
    assert (seen[:, 0] == out.actions).all()
    player.end(np.array([9]))
    assert not player._rows


def test_greedy_ignores_the_keys():
    player = players.BundlePlayer(bundle_of(NetworkConfig(trunk=(16,))), SPEC, greedy=True)
    serials, seats, obs, mask, keys = rows(32)
    first = player.decide(serials, seats, obs, mask, keys)
    assert (player.decide(serials, seats, obs, mask, keys + np.uint64(1)) == first).all()


def test_a_bundle_of_another_game_is_refused():
    from dataclasses import replace

    with pytest.raises(UserError, match="plays 'duel', not 'chess'"):
        players.BundlePlayer(bundle_of(NetworkConfig()), replace(SPEC, name="chess"))
