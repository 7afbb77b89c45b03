"""Minds decide as the players do, and what they tell adds up."""

from itertools import pairwise

import numpy as np
import pytest
from ringside import bundle_for, spec_of

from pvp_ml import players
from pvp_ml.model.calibration import Calibration
from pvp_ml.players import BundlePlayer
from pvp_ml.web.minds import PolicyMind, ScriptedMind, Sight

NETWORKS = {
    "plain": {},
    "memory": {"memory": 8},
    "frames": {"frames": (0, 1, 3)},
    "a head each": {"heads": "mlp", "head_layers": (8,)},
    "no win head": {"win_head": False, "critic": "shared", "privileged": False},
}


def sights(spec, count):
    rng = np.random.default_rng(3)
    for _ in range(count):
        mask = rng.random(spec.mask_size) < 0.7
        mask[np.concatenate([[0], np.cumsum(spec.head_sizes)[:-1]])] = True
        obs, hidden = (rng.normal(0, 2, n).astype(np.float32) for n in (spec.obs_size, spec.privileged_size))
        yield Sight(obs, hidden, mask, int(rng.integers(1, 2**62)))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("greedy", [False, True])
def test_a_mind_decides_as_the_player_does(name, greedy):
    spec = spec_of("nh")
    bundle = bundle_for("nh", **NETWORKS[name])
    measured = Calibration(
        opponent="self", matches=9, slope=0.5, offset=1.0, brier=0.2, constant=0.25, error=0, curve=()
    )
    mind, player = PolicyMind(bundle, spec, greedy, measured), BundlePlayer(bundle, spec, greedy)
    serial, seat = np.zeros(1, np.int64), np.zeros(1, np.int32)
    player.begin(serial)
    edges = np.concatenate([[0], np.cumsum(spec.head_sizes)])
    for sight in sights(spec, 12):
        action, thought = mind.decide(sight)
        key = np.array([sight.key], np.uint64)
        assert action.tolist() == player.decide(serial, seat, sight.obs[None], sight.mask[None], key)[0].tolist()
        for h, (low, high) in enumerate(pairwise(edges)):
            part = thought.probs[low:high]
            assert part.sum() == pytest.approx(1.0, abs=1e-5)
            assert part[action[h]] > 0
            if greedy:
                assert part[action[h]] == part.max()
        assert (thought.win is None) == (name == "no win head")
        assert np.isfinite(thought.value)


def test_a_chance_to_win_is_told_only_where_it_was_measured_and_as_it_was_corrected():
    spec, bundle = spec_of("nh"), bundle_for("nh")
    sight = next(sights(spec, 1))
    raw = float(BundlePlayer(bundle, spec)._actor.evaluate(sight.obs[None], sight.privileged[None])[1][0])
    assert PolicyMind(bundle, spec).decide(sight)[1].win is None
    fitted = Calibration(opponent="self", matches=9, slope=0.5, offset=1.0, brier=0.2, constant=0.25, error=0, curve=())
    odds = np.sqrt(raw / (1 - raw)) * np.e
    assert PolicyMind(bundle, spec, measured=fitted).decide(sight)[1].win == pytest.approx(odds / (1 + odds), abs=1e-5)


def test_the_value_looks_behind_the_curtain_and_the_action_does_not():
    spec = spec_of("nh")
    mind = PolicyMind(bundle_for("nh"), spec)
    sight = next(sights(spec, 1))
    one = mind.decide(sight)
    other = mind.decide(Sight(sight.obs, sight.privileged + 1.0, sight.mask, sight.key))
    assert one[0].tolist() == other[0].tolist() and one[1].win == other[1].win
    assert one[1].value != other[1].value


def test_a_scripted_player_says_nothing():
    spec = spec_of("nh")
    action, thought = ScriptedMind(players.make("noop", spec), 0).decide(next(sights(spec, 1)))
    assert thought is None and action.shape == (12,) and action[0] == 0
