"""Ratings against closed forms and simulated truth."""

import math

import numpy as np
import pytest

from pvp_ml.selfplay.ratings import ANCHOR_RATING, SCALE, Belief, SequentialTest, bradley_terry, elo, rate_match
from pvp_ml.selfplay.tally import Evaluation, Tally
from pvp_ml.selfplay.tournament import reference_rating


def test_elo_by_hand():
    assert elo(1500.0, 1500.0, 1.0) == (1508.0, 1492.0)
    first, second = elo(1600.0, 1400.0, 0.0)
    assert first == pytest.approx(1600.0 - 16.0 * (1.0 / (1.0 + 10.0 ** (-0.5))))
    assert first + second == pytest.approx(3000.0)


def test_a_win_moves_beliefs_apart_and_a_tie_between_equals_moves_nothing():
    start = Belief()
    winner, loser = rate_match(start, start, 1.0)
    assert winner.mu > start.mu > loser.mu
    assert winner.sigma < start.sigma
    tied, other = rate_match(start, start, 0.5)
    assert tied.mu == pytest.approx(other.mu) == pytest.approx(start.mu)


def test_bradley_terry_recovers_two_players_in_closed_form():
    points = np.array([[0.0, 75.0], [25.0, 0.0]])
    strong, weak = bradley_terry(["a", "b"], points, prior=0.0)
    assert strong.rating - weak.rating == pytest.approx(400.0 * math.log10(3.0), abs=1e-6)
    assert (strong.rating + weak.rating) / 2 == pytest.approx(ANCHOR_RATING)
    assert strong.low < strong.rating < strong.high


def test_bradley_terry_keeps_anchors_where_they_are_pinned():
    points = np.array([[0.0, 60.0, 90.0], [40.0, 0.0, 70.0], [10.0, 30.0, 0.0]])
    fitted = {s.name: s for s in bradley_terry(["a", "b", "bot"], points, pinned={"bot": 1200.0})}
    assert fitted["bot"].rating == fitted["bot"].low == fitted["bot"].high == 1200.0
    assert fitted["a"].rating > fitted["b"].rating > 1200.0


def test_a_rating_from_rungs_of_known_strength():
    def met(wins: int, losses: int) -> Evaluation:
        return Evaluation("g", "me", "rung", 0, Tally("all", wins, 0, losses), (), (), (), {})

    fitted = reference_rating({"low": met(75, 25)}, {"low": 900.0})
    assert fitted.rating == pytest.approx(900.0 + 400.0 * math.log10(75.25 / 25.25), abs=0.1)
    both = reference_rating({"low": met(75, 25), "high": met(25, 75)}, {"low": 900.0, "high": 1300.0})
    assert both.rating == pytest.approx(1100.0, abs=0.1) and both.high - both.low < fitted.high - fitted.low


def test_bradley_terry_covers_simulated_truth():
    rng = np.random.default_rng(3)
    truth = np.array([1400.0, 1200.0, 1000.0, 900.0])
    inside = 0
    for _ in range(50):
        points = np.zeros((4, 4))
        for i in range(4):
            for j in range(i):
                wins = rng.binomial(200, 1.0 / (1.0 + 10.0 ** ((truth[j] - truth[i]) / 400.0)))
                points[i, j], points[j, i] = wins, 200 - wins
        fitted = bradley_terry(list("abcd"), points, pinned={"d": 900.0}, prior=0.0)
        inside += sum(s.low <= t <= s.high for s, t in zip(fitted, truth, strict=True) if s.name != "d")
    assert 135 <= inside <= 150  # 95 % of 150


def simulated(rng, truth, matches):
    """Points of a round robin between players of these ratings."""
    count = len(truth)
    points = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            points[i, j] = rng.binomial(matches, 1.0 / (1.0 + 10.0 ** ((truth[j] - truth[i]) / 400.0)))
            points[j, i] = matches - points[i, j]
    return points


@pytest.mark.parametrize(("count", "matches"), [(2, 170), (3, 60), (10, 100)])
def test_without_an_anchor_intervals_cover_the_difference_to_the_mean(count, matches):
    rng = np.random.default_rng(count)
    truth = np.linspace(-150.0, 150.0, count)
    inside = []
    for _ in range(600):
        fitted = bradley_terry([str(i) for i in range(count)], simulated(rng, truth, matches))
        inside.append([s.low <= ANCHOR_RATING + t <= s.high for s, t in zip(fitted, truth, strict=True)])
    assert 0.93 <= np.mean(inside) <= 0.97


def test_the_width_of_two_players_intervals_in_closed_form():
    """Half of the difference has the variance 1 / (4 n p q), in natural units."""
    first, second = bradley_terry(["a", "b"], np.array([[0.0, 100.0], [100.0, 0.0]]), prior=0.0)
    half = 1.96 * SCALE * math.sqrt(1.0 / (4.0 * 200.0 * 0.25))
    assert half == pytest.approx(24.07, abs=0.01)
    for strength in (first, second):
        assert strength.high - strength.rating == pytest.approx(half, rel=1e-4)
        assert strength.rating - strength.low == pytest.approx(half, rel=1e-4)


def test_a_clone_does_not_move_the_others():
    points = np.array([[0.0, 300.0, 450.0], [200.0, 0.0, 350.0], [50.0, 150.0, 0.0]])
    without = bradley_terry(["a", "b", "c"], points, pinned={"c": 1000.0})
    clone = np.zeros((4, 4))
    clone[:3, :3] = points
    clone[3, 1], clone[1, 3], clone[3, 2], clone[2, 3] = 300.0, 200.0, 450.0, 50.0
    clone[0, 3] = clone[3, 0] = 250.0
    with_clone = bradley_terry(["a", "b", "c", "a2"], clone, pinned={"c": 1000.0})
    for before, after in zip(without[:2], with_clone[:2], strict=True):
        assert abs(before.rating - after.rating) < before.high - before.rating


def test_sequential_test_errs_as_seldom_as_it_promises():
    rng = np.random.default_rng(5)

    def accepted(chance: float) -> float:
        decided = []
        for _ in range(300):
            test = SequentialTest()
            while not (test.is_stronger or test.is_not_stronger):
                test.add(float(rng.random() < chance))
            decided.append(test.is_stronger)
        return float(np.mean(decided))

    assert accepted(0.50) <= 0.08
    assert accepted(0.55) >= 0.92
