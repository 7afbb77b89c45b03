"""The turn as a matrix game: known games have known solutions."""

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.search.settings import SearchSettings, fitted, read_settings
from pvp_ml.games.vgc.search.solve import filled, solve, trusting
from pvp_ml.games.vgc.search.thinker import Thought, cells

ROCK_PAPER_SCISSORS = np.array([[[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]])


def everything(payoff):
    return np.ones((payoff.shape[0], payoff.shape[2]), bool)


def test_rock_paper_scissors_is_mixed_evenly():
    found = solve(ROCK_PAPER_SCISSORS, everything(ROCK_PAPER_SCISSORS))
    assert found.own == pytest.approx([1 / 3] * 3, abs=0.01)
    assert found.foe[0] == pytest.approx([1 / 3] * 3, abs=0.01)
    assert found.value == pytest.approx(0.0, abs=0.01)


def test_a_game_whose_mix_is_known():
    payoff = np.array([[[2.0, -1.0], [-1.0, 1.0]]])  # we mix 2/5, they mix 2/5, worth 1/5
    found = solve(payoff, everything(payoff))
    assert found.own == pytest.approx([0.4, 0.6], abs=0.01)
    assert found.foe[0] == pytest.approx([0.4, 0.6], abs=0.01)
    assert found.value == pytest.approx(0.2, abs=0.01)


def test_one_strategy_must_do_for_all_worlds():
    """In each world alone a pure choice would win 1; together, only the mix is safe against foes who know the world."""
    worlds = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])
    found = solve(worlds, everything(worlds))
    assert found.value == pytest.approx(0.0, abs=0.01)
    better = np.array([[[1.0], [0.2]], [[-1.0], [0.2]]])
    assert solve(better, everything(better)).own == pytest.approx([0.0, 1.0], abs=0.02)


def test_choices_that_a_foe_does_not_have_are_not_feared():
    payoff = np.array([[[1.0, -9.0], [0.0, 0.0]]])
    allowed = np.array([[True, False]])
    found = solve(payoff, allowed)
    assert found.own == pytest.approx([1.0, 0.0], abs=0.02) and found.foe[0, 1] == 0.0


def test_a_trusted_foe_is_exploited():
    prior = np.array([[1.0, 0.0, 0.0]])  # always rock
    sure = solve(trusting(ROCK_PAPER_SCISSORS, prior, 1.0), everything(ROCK_PAPER_SCISSORS))
    assert sure.own == pytest.approx([0.0, 1.0, 0.0], abs=0.02)
    assert trusting(ROCK_PAPER_SCISSORS, prior, 0.0) == pytest.approx(ROCK_PAPER_SCISSORS)


def test_cells_without_a_simulation_follow_row_and_column():
    total, count = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    total[0, 0], count[0, 0] = [1.0, 0.5], [2, 1]  # a mean of 0.5 in both
    total[0, 1, 0], count[0, 1, 0] = -0.5, 1
    found = filled(total, count)
    assert found[0, 0] == pytest.approx([0.5, 0.5]) and found[0, 1, 0] == -0.5
    assert found[0, 1, 1] == pytest.approx(-0.5 + 0.5 - 0.25)


def test_the_budget_is_spent_on_the_likeliest_choices_first():
    order = list(cells(6, [6, 6], SearchSettings(simulations=50)))
    assert len(order) == 50 == len(set(order))
    assert order[0] == (0, 0, 0, 0) and order[1] == (1, 0, 0, 0)
    assert max(i for _, i, _, _ in order) == 4 and max(j for _, _, j, _ in order) == 4
    small = list(cells(2, [1], SearchSettings(simulations=5)))
    assert small == [(0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1), (0, 1, 0, 1), (0, 0, 0, 2)]


def test_more_budget_means_more_choices_and_more_worlds():
    found = [fitted(SearchSettings(simulations=n)) for n in (10, 30, 100, 300, 1000, 4000)]
    assert [(one.width, one.worlds) for one in found] == [(3, 2), (3, 2), (6, 2), (8, 3), (13, 4), (16, 4)]
    assert fitted(SearchSettings(simulations=4000, ms=400)).width == 6  # as 100 simulations
    assert fitted(SearchSettings(width=5, worlds=1)) == SearchSettings(width=5, worlds=1)


def test_a_mixed_strategy_is_drawn_from():
    thought = Thought(None, np.array([0.2, 0.0, 0.8]))
    assert [thought.choice(draw, sample=True) for draw in (0.1, 0.3, 0.99)] == [0, 2, 2]
    assert thought.choice(0.1, sample=False) == 2


def test_settings_are_read_and_checked():
    assert read_settings("Model?simulations=30&blend=0.5") == ("Model", SearchSettings(simulations=30, blend=0.5))
    assert read_settings("a.zip?ms=500")[1].simulations == 4000
    for wrong, words in (
        ("?ms=5", "names no model"),
        ("m?mss=1", "no setting 'mss'"),
        ("m?ms=x", "ms is 'x'"),
        ("m?width=99", "width"),
        ("m?worlds=1.5", "worlds"),
    ):
        with pytest.raises(UserError, match=words):
            read_settings(wrong)
