"""Shares become lineups."""

import numpy as np
import pytest
from pydantic import ValidationError

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import MAIN, Bot, Live, Member, Scripted
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.selfplay.league import Entry, League
from pvp_ml.selfplay.matchmaking import Matchmaker, SelfPlayConfig
from pvp_ml.selfplay.plans import PlanSource

GAME = registry.find("connect4")
SPEC = GAME.spec(GAME.config())
RNG = np.random.default_rng(0)


def mix(config: dict, league: League | None = None, progress: Progress | None = None):
    maker = Matchmaker(SPEC, SelfPlayConfig(**config), {})
    return maker.mix(league or League(), progress or Progress(), RNG)


def shares(made) -> dict:
    total = sum(weight for weight, _ in made.lineups)
    met: dict = {}
    for weight, lineup in made.lineups:
        met[lineup[1]] = met.get(lineup[1], 0.0) + weight / total
    return met


def league_of(count: int) -> League:
    league = League()
    for number in range(count):
        league.add(Entry(f"{number:064x}", f"m{number}", "past", number))
    return league


def test_the_default_is_pure_self_play():
    assert shares(mix({})) == {Live(MAIN): 1.0}


def test_strategy_past_without_members_is_self_play_and_with_members_is_half_of_it():
    assert shares(mix({"strategy": "past"})) == {Live(MAIN): 1.0}
    made = shares(mix({"strategy": "past"}, league_of(4)))
    assert made[Live(MAIN)] == pytest.approx(0.5)
    assert sum(share for who, share in made.items() if isinstance(who, Member)) == pytest.approx(0.5)


def test_shares_are_relative_and_schedules_move_them():
    config = {"opponents": {"self": 3, "tactician": 1, "random": {"share": {"type": "linear", "initial_value": 0.0,
              "final_value": 4.0, "change_over_time_steps": 10}}}}  # fmt: skip
    assert shares(mix(config)) == {Live(MAIN): 0.75, Bot("tactician"): 0.25}
    later = shares(mix(config, progress=Progress(rollouts=10)))
    assert later[Live(MAIN)] == pytest.approx(0.375)
    assert later[Bot("random")] == pytest.approx(0.5), "a bot of the game comes before a player of the same name"


def test_handicaps_reach_the_opponent():
    config = {"opponents": {"past": {"delay": 0.2, "greedy": 0.5, "noise": 0.1}, "noop": {"share": 1, "delay": 0.3}}}
    made = shares(mix(config, league_of(1)))
    assert Member(f"{0:064x}", 0.2, 0.5, 0.1) in made
    assert Scripted("noop", 0.3) in made


def test_random_delays_differ_between_opponents():
    delay = {"type": "expression", "expression": "random() * 0.2"}
    made = shares(mix({"opponents": {"past": {"delay": delay}}}, league_of(8)))
    delays = {who.delay for who in made}
    assert len(delays) == 8
    assert all(0.0 <= d <= 0.2 for d in delays)


def test_exploiters_meet_the_newest_main_policy_or_the_whole_league():
    config = {"exploiters": {"hunter": {"share": 0.2}, "wolf": {"share": 0.1, "against": "league"}}}
    assert shares(mix(config)) == {Live(MAIN): 1.0}, "before the first snapshot there is nobody to hunt"
    made = mix(config, league_of(3))
    weights: dict = {}
    for weight, lineup in made.lineups:
        weights[lineup[0]] = weights.get(lineup[0], 0.0) + weight
    assert weights == {
        Live("hunter"): pytest.approx(0.2),
        Live("wolf"): pytest.approx(0.1),
        Live(MAIN): pytest.approx(0.7),
    }
    hunted = {lineup[1] for _, lineup in made.lineups if lineup[0] == Live("hunter")}
    assert hunted == {Member(f"{2:064x}")}


def test_files_and_scripts_of_a_target_are_met_alike_and_delays_reach_scripts():
    league = League()
    for number in range(3):
        league.add(Entry(f"{number:064x}", f"file{number}", "target", 0))
    models = ("a.zip", "b.zip", "c.zip", "tactician", "noop")
    made = shares(mix({"opponents": {"self": 1, "target": {"share": 1, "models": models, "delay": 0.25}}}, league))
    assert {who: share for who, share in made.items() if who != Live(MAIN)} == {
        **{Member(f"{number:064x}", 0.25): pytest.approx(0.1) for number in range(3)},
        Bot("tactician"): pytest.approx(0.1),
        Scripted("noop", 0.25): pytest.approx(0.1),
    }
    alone = shares(mix({"opponents": {"target": {"models": ("tactician", "noop")}}}))
    assert alone == {Bot("tactician"): 0.5, Scripted("noop", 0.0): 0.5}


def test_an_exploiter_of_the_league_meets_hard_members_more_often():
    league = league_of(3)
    for member, points in ((0, 1.0), (1, 0.5), (2, 0.0)):
        for _ in range(100):
            league.book("wolf", f"{member:064x}", points)
    met = mix({"exploiters": {"wolf": {"share": 0.5, "against": "league"}}}, league).lineups
    chances = [weight / 0.5 for weight, lineup in met if lineup[0] == Live("wolf")]
    assert chances == pytest.approx([0.007, 0.2, 0.8], abs=0.02)


def test_mistakes_are_named():
    with pytest.raises(UserError, match="no opponent 'tactitian'"):
        mix({"opponents": {"tactitian": 1.0}})
    with pytest.raises(UserError, match="shares"):
        mix({"opponents": {"self": 0.0}})
    with pytest.raises(ValidationError):
        SelfPlayConfig(opponents={"past": {"share": 1.0, "dealy": 0.1}})


def test_drawn_lineups_have_the_shares_and_both_seats():
    source = PlanSource(5, 0, 1, SPEC.teams, mix({"opponents": {"self": 0.5, "tactician": 0.5}}))
    plans = source.draw(4000)
    bots = [plan for plan in plans if Bot("tactician") in plan.lineup]
    assert len(bots) / 4000 == pytest.approx(0.5, abs=0.03)
    assert sum(plan.lineup[0] == Bot("tactician") for plan in bots) / len(bots) == pytest.approx(0.5, abs=0.04)
    assert len({plan.seed for plan in plans}) == 4000


def test_shards_share_the_serials_and_a_serial_always_gives_the_same_plan():
    made = mix({"opponents": {"self": 0.5, "tactician": 0.5}})
    one = {plan.serial: plan for plan in PlanSource(5, 0, 1, SPEC.teams, made).draw(60)}
    three = [plan for rank in range(3) for plan in PlanSource(5, rank, 3, SPEC.teams, made).draw(20)]
    assert {plan.serial: plan for plan in three} == one
