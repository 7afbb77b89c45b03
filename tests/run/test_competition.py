"""What a run remembers of its opponents: hunts are counted by match, the frozen opponent is tested on other matches."""

from types import SimpleNamespace

import numpy as np
import pytest

from pvp_ml.games import registry
from pvp_ml.match import MAIN, Live, MatchPlan, Member
from pvp_ml.model.bundle import Training, make_bundle, pack_bundle
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.schedule.schedule import Progress
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


def saved(folder, seed):
    path = folder / f"policy-{seed}.zip"
    path.write_bytes(pack_bundle(bundle(seed)))
    return str(path)


def targets(made):
    return [member.name for member in made.league.of_kind("target")]


def with_targets(folder, *models):
    opponents = {"self": 0.5, "target": {"share": 0.5, "models": models}}
    return Competition(SPEC, SelfPlayConfig.model_validate({"opponents": opponents}), {}, folder / "run", 0)


def test_targets_that_were_added_or_dropped_since_are_met_or_not(tmp_path):
    first, second, third = (saved(tmp_path, seed) for seed in (1, 2, 3))
    before = with_targets(tmp_path, first, second)
    before.league.book(MAIN, before.league.members[0].key, 1.0)
    again = with_targets(tmp_path, first, third)
    again.restore(before.state())
    assert targets(again) == ["policy-1", "policy-3"]
    assert again.league.score(MAIN, again.league.members[0].key).wins == 1
    met = {seat.content_hash for _, lineup in again.mix(Progress()).lineups for seat in lineup if seat != Live(MAIN)}
    assert met == {member.content_hash for member in again.league.members}


def test_a_target_whose_file_is_gone_or_new_since(tmp_path, caplog):
    first, second = saved(tmp_path, 1), saved(tmp_path, 2)
    before = with_targets(tmp_path, first, second)
    (tmp_path / "policy-1.zip").unlink()
    (tmp_path / "policy-2.zip").write_bytes(pack_bundle(bundle(9)))
    again = with_targets(tmp_path, first, second)
    assert "policy-1.zip' is neither a model file nor a scripted player" in caplog.text
    again.restore(before.state())
    assert targets(again) == ["policy-1", "policy-2"], "the league's own copy of the first, the new second"
    assert again.league.members[1].content_hash == bundle(9).content_hash


def test_another_runs_model_is_met_by_a_run_that_was_begun_without_it(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/model.zip").write_bytes(pack_bundle(bundle(4)))
    before = Competition(SPEC, SelfPlayConfig(strategy="past"), {}, tmp_path / "run", 0)
    for name, kind in (("latest", "latest"), ("past", "past")):
        opponents = SelfPlayConfig.model_validate({"opponents": {name: {"share": 1, "run": "other"}}})
        again = Competition(SPEC, opponents, {}, tmp_path / "run", 0)
        again.restore(before.state())
        assert [member.kind for member in again.league.members] == [kind]
