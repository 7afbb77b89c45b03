"""League invariants over random event sequences."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.match import MAIN, Bot, Live, MatchPlan, Member
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.league import Entry, League, player_key

TEAMS = ((0,), (1,))


def entry(number: int, kind: str = "past") -> Entry:
    return Entry(f"{number:064x}", f"step-{number}", kind, number * 1000)


def outcome(lineup, result: int, fault: int = 0, serial: int = 0) -> Outcome:
    return Outcome(MatchPlan(serial, 0, lineup), 10, (result, -result), (0.0, 0.0), False, fault, np.zeros((2, 0)))


events = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 40)),
        st.tuples(st.just("match"), st.integers(0, 30), st.sampled_from([-1, 0, 1]), st.booleans()),
    ),
    max_size=60,
)


def play(league: League, sequence) -> None:
    for event in sequence:
        if event[0] == "add":
            league.add(entry(event[1]))
        elif league.members:
            member = Member(league.members[event[1] % len(league.members)].content_hash)
            lineup = (Live(MAIN), member) if event[3] else (member, Live(MAIN))
            league.record([outcome(lineup, event[2])], TEAMS)


@given(events, st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_invariants_hold_after_any_sequence(sequence, size):
    league = League(size=size)
    play(league, sequence)
    members = league.of_kind("past", "exploiter")
    assert len(members) <= size
    assert len({m.content_hash for m in members}) == len(members)
    if members:
        for chances in (league.past_chances(), *(league.pfsp_chances(w) for w in ("hard", "even", "linear"))):
            assert chances.sum() == pytest.approx(1.0)
            assert (chances >= 0.0).all()
        assert league.pfsp_chances("hard").min() >= 0.02 / len(members) - 1e-12
    for first, row in league.payoff.items():
        for second, score in row.items():
            mirror = league.score(second, first)
            assert (score.wins, score.ties, score.losses) == (mirror.losses, mirror.ties, mirror.wins)
    again = League.from_json(json.loads(json.dumps(league.to_json())))
    assert again == league


@given(events)
@settings(max_examples=30, deadline=None)
def test_void_matches_and_matches_against_oneself_change_nothing(sequence):
    league = League()
    play(league, sequence)
    before = json.dumps(league.to_json(), sort_keys=True)
    others = [Member(m.content_hash) for m in league.members] or [Bot("nh-bot")]
    league.record([outcome((Live(MAIN), others[0]), 1, fault=2), outcome((Live(MAIN), Live(MAIN)), 1)], TEAMS)
    assert json.dumps(league.to_json(), sort_keys=True) == before


def test_many_wins_at_once_lower_a_quality_evenly():
    """Each win counts with the chance of the meeting; one after the other they would ban the member for good."""
    league = League(learning_rate=0.01)
    league.add(entry(1))
    league.add(entry(2))
    lineup = (Live(MAIN), Member(entry(1).content_hash))
    league.record([outcome(lineup, 1, serial=i) for i in range(600)], TEAMS)
    assert league.members[0].quality == pytest.approx(1.0 - 600 * 0.01 / (2 * 0.5))
    assert league.past_chances()[0] < 0.01 / 2
    before = league.members[0].quality
    league.record([outcome(lineup, 1)], TEAMS)
    assert before - league.members[0].quality == pytest.approx(0.01 / 0.01), "at most η / RAREST a win"


def test_quality_rule_by_hand():
    league = League(learning_rate=0.1)
    league.add(entry(1))
    league.add(entry(2))
    assert [m.quality for m in league.members] == [1.0, 1.0]
    lineup = (Live(MAIN), Member(entry(1).content_hash))
    league.record([outcome(lineup, 1)], TEAMS)
    assert [m.quality for m in league.members] == [pytest.approx(1.0 - 0.1 / (2 * 0.5)), 1.0]
    assert league.past_chances()[0] == pytest.approx(1.0 / (1.0 + np.exp(0.1)))
    league.record([outcome(lineup, -1), outcome(lineup, 0)], TEAMS)
    assert league.members[0].quality == pytest.approx(0.9), "losing and tying leave the quality alone"
    league.add(entry(3))
    assert league.members[-1].quality == 1.0, "a new member starts at the highest quality"


def test_pfsp_weightings_by_hand():
    league = League()
    for number in (1, 2):
        league.add(entry(number))
    for _ in range(8):
        league.book(MAIN, entry(1).content_hash, 1.0)
    won = league.form(MAIN, entry(1).content_hash).rate()
    assert won == pytest.approx(8.5 / 9.0, abs=2e-3)
    hard = league.pfsp_chances("hard", floor=0.0)
    assert hard[0] / hard[1] == pytest.approx((1 - won) ** 2 / 0.25, rel=1e-6)
    even = league.pfsp_chances("even", floor=0.0)
    assert even[0] / even[1] == pytest.approx(won * (1 - won) / 0.25, rel=1e-6)


def test_pfsp_goes_by_the_last_matches_not_by_all_of_them():
    """Lost to 2,000 times, then beaten 800 times: of late it is easy, over its lifetime it would be hard."""
    league = League()
    for number in (1, 2):
        league.add(entry(number))
    for points, matches in ((0.0, 2000), (1.0, 800)):
        for _ in range(matches):
            league.book(MAIN, entry(1).content_hash, points)
    assert league.score(MAIN, entry(1).content_hash).rate() < 0.3
    assert league.form(MAIN, entry(1).content_hash).rate() > 0.97
    assert league.pfsp_chances("hard", floor=0.0)[0] < 0.01
    league.forget_form(MAIN)
    assert league.pfsp_chances("hard") == pytest.approx([0.5, 0.5])
    assert league.score(MAIN, entry(1).content_hash).matches == 2800


def test_a_league_of_version_0_1_is_read_and_its_table_becomes_the_form():
    league = League()
    league.add(entry(1))
    for points in [1.0] * 300 + [0.0] * 100:
        league.book(MAIN, entry(1).content_hash, points)
    old = league.to_json()
    del old["forms"]
    form = League.from_json(old).form(MAIN, entry(1).content_hash)
    assert (form.points, form.matches) == (150.0, 200.0)
    assert League.from_json(json.loads(json.dumps(league.to_json()))) == league


def test_eviction_keeps_the_first_and_the_newest_and_thins_the_crowd():
    league = League(size=4)
    for steps in (1, 100, 101, 102, 200, 300):
        league.add(entry(steps))
    kept = [m.steps // 1000 for m in league.members]
    assert kept[0] == 1
    assert kept[-1] == 300
    assert len(kept) == 4
    assert sum(100 <= steps <= 102 for steps in kept) == 1


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=2, max_size=60), st.randoms())
@settings(max_examples=30, deadline=None)
def test_nothing_depends_on_the_order_within_a_batch(results, random):
    def recorded(shuffle: bool) -> dict:
        league = League()
        league.add(entry(1))
        lineup = (Live(MAIN), Member(entry(1).content_hash))
        batch = [outcome(lineup, result, serial=i) for i, result in enumerate(results)]
        if shuffle:
            random.shuffle(batch)
        league.record(batch, TEAMS)
        return league.to_json()

    assert recorded(False) == recorded(True)


def test_elo_ratings_by_hand_and_a_change_of_system_starts_afresh():
    league = League(rating_system="elo")
    league.add(entry(1))
    rival = entry(1).content_hash
    assert league.belief(MAIN).mu == league.belief(rival).mu == 1000.0
    league.book(MAIN, rival, 1.0)
    assert (league.belief(MAIN).mu, league.belief(rival).mu) == (1008.0, 992.0)
    league.book(MAIN, rival, 0.5)
    expected = 1.0 / (1.0 + 10.0 ** (-16.0 / 400.0))
    assert league.belief(MAIN).mu == pytest.approx(1008.0 + 16.0 * (0.5 - expected))
    assert League.from_json(league.to_json()) == league
    league.use_ratings("elo")
    assert league.belief(MAIN).mu > 1000.0
    league.use_ratings("openskill")
    assert league.belief(MAIN).mu == 25.0
    assert league.score(MAIN, rival).matches == 2, "results outlive their ratings"


def test_player_keys_name_everybody_differently():
    keys = {player_key(o) for o in (Live("main"), Live("exploiter"), Member("ab"), Bot("x"))}
    assert len(keys) == 4
