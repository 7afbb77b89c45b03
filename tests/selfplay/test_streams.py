"""Nobody measures or records on matches that are trained on, and no two purposes share matches."""

from itertools import combinations
from typing import get_args

from pvp_ml.cli.exploit import on_other_matches
from pvp_ml.cluster.codec import encode
from pvp_ml.games import registry
from pvp_ml.match import Live
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.checkpoint import _restore_shards
from pvp_ml.selfplay import record as recording
from pvp_ml.selfplay.evaluate import Contestant, make_plans
from pvp_ml.selfplay.plans import LineupMix, PlanSource, Stream, stream_seed

CONNECT4 = registry.find("connect4")
SPEC = CONNECT4.spec(CONNECT4.config())
SIDES = (Contestant("a", make=lambda spec: None), Contestant("random", bot="random"))


def trained_on(seed, matches=20_000):
    plans = PlanSource(seed, 0, 1, SPEC.teams, LineupMix(((1.0, (Live(), Live())),))).draw(matches)
    return {plan.seed for plan in plans}


def measured_on(seed):
    return {plan.seed for plan in make_plans(SPEC, SIDES, 500, seed, ("default",))}


def test_evaluation_plays_no_match_of_training():
    for seed in (0, 1, 7):
        assert len(measured_on(seed)) == 250
        assert not measured_on(seed) & trained_on(seed)  # all 250 were, before streams had names


def test_streams_share_no_match():
    seeds = {
        stream: {stream_seed(stream, seed, n) for seed in range(3) for n in range(500)} for stream in get_args(Stream)
    }
    assert {len(found) for found in seeds.values()} == {1500}
    for one, other in combinations(seeds.values(), 2):
        assert not one & other
    assert all(0 <= seed < 2**63 for found in seeds.values() for seed in found)


def test_a_hunt_trains_and_measures_on_matches_that_its_prey_never_saw(tmp_path):
    config = load_config("", ["--env.name", "connect4", "--run.seed", "3"], tmp_path)
    hunted = on_other_matches(config).run.seed
    assert not (trained_on(hunted) | measured_on(hunted)) & (trained_on(3) | measured_on(3))
    assert on_other_matches(config).run.seed == hunted


def test_what_is_recorded_is_not_what_is_measured(monkeypatch):
    seeds = []

    def played(game, first, second, matches, seed, progress=None):
        seeds.append(seed)
        first.make(SPEC)._count = 1
        raise InterruptedError

    monkeypatch.setattr(recording, "evaluate", played)
    try:
        recording.record(CONNECT4.build(CONNECT4.config(), 1), SIDES[0], SIDES[1], 10, 0)
    except InterruptedError:
        assert not measured_on(seeds[0]) & (measured_on(0) | trained_on(0))
    assert len(seeds) == 1


def test_a_resume_with_other_shards_begins_after_the_furthest_shard():
    """Two shards take turns: one drew 100 plans, the other 300, hence serials up to 599 are used."""
    skipped = []
    shards = type("Shards", (), {"count": 1, "skip_plans": lambda self, drawn: skipped.append(drawn)})()
    files = {f"shard-{rank}.bin": encode({"drawn": drawn}) for rank, drawn in enumerate((100, 300))}
    _restore_shards(shards, files, 2, True)
    assert skipped == [600]
