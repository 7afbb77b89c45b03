"""Recorded matches of every toy. A change here means that old replays and resumed runs play differently.

If that is meant: raise the game's `version`, say so in the changelog, and write the new digest here.
"""

import hashlib

import pytest

from pvp_ml.games.conformance.playthrough import record
from pvp_ml.games.registry import configure, find
from pvp_ml.match import Bot, External, MatchPlan

GOLDEN = {
    "matching_pennies": "6a633b3e1ba2c968",
    "rock_paper_scissors": "defdccc291afbc22",
    "biased_rock_paper_scissors": "9ca57b21993d3102",
    "kuhn": "8e70ccde5e491b60",
    "connect4": "131067f6465aadb3",
    "probe:constant_value": "8110fb9200f0dde8",
    "probe:observed_value": "fab863e105c609e2",
    "probe:discounted_value": "af3cc59c7c688445",
    "probe:action": "aa2262589ae886d0",
    "probe:observed_action": "d34fe7cc459071b8",
    "probe:masked_action": "2be4a0e31de169f7",
    "probe:dependent_heads": "454c3a906bacf162",
    "probe:privileged_value": "55e648bfc0a8205b",
    "probe:truncation": "4b4c40279f8a2752",
    "probe:two_seats": "3b4ff58499c62cc0",
    "probe:delayed_acting": "a754213f80b5e07c",
    "probe:identity": "99cb6acbd2054baa",
    "probe:masked_identity": "78cb7eeb741e24ca",
    "probe:memory": "4776a4bd35add7af",
}


def fingerprint(name, settings):
    game = find(name)
    config = configure(game, settings)
    spec = game.spec(config)
    outside = tuple(External("x") for _ in range(spec.seats))
    lineups = [outside, *((Bot(bot), *outside[1:]) for bot in spec.bots)]
    plans = [MatchPlan(i, 1000 + i, lineups[i % len(lineups)]) for i in range(12)]
    traces = record(game.build(config, 4), plans, 5_000, idle=0.02)
    digest = hashlib.sha256()
    for serial in sorted(traces):
        for moment in (*traces[serial].steps, traces[serial].ending):
            for key in sorted(moment):
                digest.update(key.encode() + moment[key].tobytes())
    return digest.hexdigest()[:16]


@pytest.mark.parametrize(("key", "expected"), GOLDEN.items())
def test_recorded_matches_are_played_the_same(key, expected):
    name, _, kind = key.partition(":")
    assert fingerprint(name, {"kind": kind} if kind else {}) == expected
