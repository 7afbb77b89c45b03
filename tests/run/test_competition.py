"""What a run remembers of its opponents: hunts are counted by match, the frozen opponent is tested on other matches."""

from types import SimpleNamespace

import numpy as np
import pytest

from pvp_ml.games import registry
from pvp_ml.match import Live, MatchPlan, Member
from pvp_ml.model.bundle import Training, make_bundle
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.selfplay import competition
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.competition import TEST_CHUNK, TEST_MOST, Competition
from pvp_ml.selfplay.matchmaking import SelfPlayConfig
from pvp_ml.selfplay.tally import Tally

CONNECT4 = registry.find("connect4")
SPEC = CONNECT4.spec(CONNECT4.config())


def bundle(seed):
    policy = Policy(NetworkConfig(trunk=(4,)), SPEC.interface)
    with np.errstate(all="ignore"):
        policy.flat.data.fill_(0.01 * seed)
    training = Training(steps=0, seconds=0.0, run="x", seed=0, date="2026-11-18", versions={})
    return make_bundle(SPEC, policy.network, policy.tensors(), policy.normalizer, training, ())


def test_a_hunt_is_counted_once_a_match_however_many_seats_it_holds(tmp_path):
    spec = SimpleNamespace(teams=((0, 1), (2, 3)), seats=4, interface=SPEC.interface, scenarios=SPEC.scenarios, bots=())
    made = Competition(spec, SelfPlayConfig(exploiters={"wolf": {}}), {}, tmp_path / "run", 0)
    lineup = (Live("wolf"), Live("wolf"), Member("ab"), Member("ab"))
    for serial, result in enumerate(((1, 1, -1, -1), (-1, -1, 1, 1), (0, 0, 0, 0))):
        made.record([Outcome(MatchPlan(serial, 0, lineup), 9, result, (0.0,) * 4, False, 0, np.zeros((4, 0)))])
    hunt = made.hunts["wolf"]
    assert (hunt.wins, hunt.ties, hunt.losses) == (1, 1, 1)


@pytest.fixture
def frozen_test(tmp_path, monkeypatch):
    """Calls of `_is_stronger` against an opponent that is beaten with a given chance, and the seeds that were used."""
    made = Competition(SPEC, SelfPlayConfig(strategy="frozen"), {}, tmp_path / "run", 5)
    made.join(bundle(1), "frozen-0", "frozen", 0)
    rng, seeds = np.random.default_rng(2), []

    def ask(chance, steps):
        def evaluate(game, first, second, matches, seed):
            seeds.append(seed)
            wins = int(rng.binomial(matches, chance))
            return SimpleNamespace(total=Tally("all", wins=wins, losses=matches - wins))

        monkeypatch.setattr(competition, "evaluate", evaluate)
        frozen = made.league.of_kind("frozen")[0]
        return made._is_stronger(bundle(2), frozen, steps, lambda rows: SimpleNamespace(close=lambda: None))

    return ask, seeds


def test_a_policy_that_wins_55_percent_takes_the_frozen_place(frozen_test):
    ask, _ = frozen_test
    assert TEST_MOST >= 2000 and TEST_CHUNK == 100
    accepted = {chance: np.mean([ask(chance, steps) for steps in range(300)]) for chance in (0.5, 0.55)}
    assert accepted[0.55] > 0.9  # with 800 matches: 0.72, and a quarter undecided
    assert accepted[0.5] < 0.08


def test_the_frozen_opponent_is_tested_on_new_matches_at_every_step(frozen_test):
    ask, seeds = frozen_test
    for steps in (1000, 2000, 3000):
        ask(0.525, steps)
    assert len(set(seeds)) == len(seeds) >= 6
    first = list(seeds)
    seeds.clear()
    ask(0.525, 1000)
    assert seeds[0] == first[0], "the same step of the same run tests on the same matches"
