"""Delay, noise and greed of opponents, through real matches of Connect 4: seat 1 is the opponent's."""

import numpy as np
import pytest
import torch

from pvp_ml.games import registry
from pvp_ml.match import IDLE, Live, Member, Scripted
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.selfplay.collect.collector import Collector
from pvp_ml.selfplay.collect.handicaps import blur, chance, normal_noise
from pvp_ml.selfplay.collect.seat_actors import SeatActors
from pvp_ml.selfplay.plans import LineupMix, PlanSource

KEYS = np.random.default_rng(5).integers(0, 2**64, 20_000, np.uint64)


def actor(seed: int):
    kind = registry.find("connect4")
    policy = Policy(NetworkConfig(trunk=(16,)), kind.spec(kind.config()).interface)
    policy.initialise(torch.Generator().manual_seed(seed))
    return policy.actor()


class Folder:
    """Every member is the same policy."""

    def actor(self, content_hash):
        return actor(4)


def played(opponent):
    """(clear observations, mask, choices) of the opponent's decisions, and the trainee's choices, in one rollout."""
    kind = registry.find("connect4")
    game = kind.build(kind.config(), 64)
    spec = game.spec
    mix = LineupMix(((1.0, (Live(), opponent)),), ((1.0, spec.scenarios[0].name),), rotate=False)
    actors = SeatActors(spec, {"main": actor(3)}, Folder())
    made = Collector(game, 40, actors, RewardMixer(spec, RewardConfig()), PlanSource(11, 0, 1, spec.teams, mix))
    made.collect()
    r = made.rollout
    acted = r.acting[1:-1]
    seats = np.arange(2)[None, None, :] == np.array([0, 1])[:, None, None, None]
    own, other = (acted & seat for seat in seats)
    return r.obs[1:-1][other], r.mask[1:-1][other], r.actions[1:-1][other][:, 0], r.actions[1:-1][own][:, 0]


def agreement(opponent) -> float:
    """Share of the opponent's decisions that are its likeliest legal choice for what is really there."""
    obs, mask, choices, _ = played(opponent)
    judge, rows = actor(4), len(obs)
    out = judge.heads.decision(rows)
    judge.act(np.ascontiguousarray(obs), mask.copy(), np.zeros(rows, np.uint64), np.ones(rows, np.bool_), out)
    return float((out.actions[:, 0] == choices).mean())


@pytest.mark.parametrize("late", [Member("h", delay=0.3), Scripted("random", delay=0.3)], ids=["member", "scripted"])
def test_a_late_opponent_gives_no_input_as_often_as_configured(late):
    *_, choices, own = played(late)
    assert (choices == IDLE).mean() == pytest.approx(0.3, abs=0.05)
    assert (own >= 0).all(), "the trainee is never late"


@pytest.mark.parametrize("prompt", [Member("h"), Scripted("random")], ids=["member", "scripted"])
def test_without_delay_every_decision_is_an_input(prompt):
    *_, choices, _ = played(prompt)
    assert (choices >= 0).all()


def test_greed_is_a_matter_of_whole_matches():
    assert agreement(Member("h", greedy=1.0)) == 1.0
    drawn = agreement(Member("h"))
    assert drawn < 0.4, "an untrained policy draws nearly evenly from seven columns"
    assert agreement(Member("h", greedy=0.5)) == pytest.approx(0.5 + 0.5 * drawn, abs=0.17)


def test_noise_changes_what_an_opponent_sees_and_so_what_it_does():
    clear, hazy, blind = (agreement(Member("h", greedy=1.0, noise=noise)) for noise in (0.0, 0.3, 10.0))
    assert clear == 1.0
    assert blind < hazy < 1.0
    assert blind < 0.6


def test_noise_is_in_deviations_of_each_feature():
    seen = actor(4)
    width = len(seen.statistics["obs/var"])
    seen.statistics["obs/var"][:] = np.linspace(0.0, 9.0, width)
    obs = np.zeros((len(KEYS), width), np.float32)
    haze = np.full(len(KEYS), 2.0, np.float32)
    haze[::2] = 0.0
    blurred = blur(seen, obs, haze, KEYS)
    assert (blurred[::2] == 0.0).all()
    wanted = 2.0 * np.sqrt(seen.statistics["obs/var"])
    np.testing.assert_allclose(blurred[1::2].std(axis=0), wanted, rtol=0.04, atol=1e-6)
    np.testing.assert_allclose(blurred[1::2].mean(axis=0), 0.0, atol=0.04 * 6.0)


def test_draws_have_their_shares_and_shape():
    for share in (0.0, 0.1, 1.0):
        assert chance(share, KEYS).mean() == pytest.approx(share, abs=0.01)
    normal = normal_noise(KEYS, 3)
    assert normal.std(axis=0) == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(normal.T)[0, 1]) < 0.03
