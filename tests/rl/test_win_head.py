"""What the win head learns from, and how it is measured, by hand."""

import math

import numpy as np
import pytest

from pvp_ml.rl import win_head
from pvp_ml.rl.kernels.gae import ENDED, TRUNCATED, VOID
from pvp_ml.rl.rollout import NOBODY, Rollout, RolloutShape

LN2 = math.log(2.0)


def chains_of(steps, ends=(), held=False, absent=()):
    """A rollout of one match slot with two seats that decide in every step; ends: (step, kind, result of seat 0)."""
    rollout = Rollout(RolloutShape(steps, 1, 2, 1, 0, 1, 1))
    rollout.owner[1 : steps + 1] = 0
    for t, kind, result in ends:
        rollout.end[t, 0], rollout.result[t, 0] = kind, (result, -result)
    rollout.held_out[:] = held
    picked = (rollout.owner[:-1] == 0) & ~np.isin(np.arange(steps + 1), absent)[:, None, None]
    return rollout, win_head.chains(rollout, np.flatnonzero(picked))


def nothing(lanes=2):
    return np.zeros((lanes, 4))


def test_results_label_their_matches_and_a_match_that_goes_on_is_labelled_by_the_prediction_at_its_last_decision():
    _, found = chains_of(6, [(2, ENDED, 1), (4, TRUNCATED, 0)])
    taught = win_head.lessons(found, nothing(), np.array([0.8, 0.3], np.float32))
    assert taught.won.reshape(6, 2) == pytest.approx(
        np.array([[1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5], [0.8, 0.3], [0.8, 0.3]])
    )
    assert taught.goes_on.reshape(6, 2)[:, 0].tolist() == [False] * 4 + [True] * 2
    assert taught.ended == (4.0, 8.0)  # two matches of two seats, each two decisions long


def test_void_and_held_out_matches_teach_nothing():
    _, found = chains_of(4, [(2, VOID, 1)], absent=(1, 2))  # the advantages leave out a void match's rows
    assert win_head.lessons(found, nothing(), np.full(2, 0.8, np.float32)).won == pytest.approx(np.full(4, 0.8))
    _, found = chains_of(4, [(2, ENDED, 1)], held=True)
    taught = win_head.lessons(found, nothing(), np.full(2, 0.8, np.float32))
    assert np.isnan(taught.won).all() and taught.ended == (0.0, 0.0)


def test_a_match_counts_once_however_long_it_is():
    """Seat 0 had decided 6 times before; 2 more end the match. The next one is 4 decisions old and goes on."""
    _, found = chains_of(6, [(2, ENDED, 1)])
    waiting = nothing()
    waiting[0, 3] = 6.0
    taught = win_head.lessons(found, waiting, np.full(2, 0.5, np.float32))
    assert taught.ended == (2.0, 10.0)
    weight = win_head.row_weights(taught, 5.0).reshape(6, 2)
    assert weight[:2] == pytest.approx(np.array([[5 / 8, 5 / 2]] * 2))
    assert weight[2:] == pytest.approx(1.0)  # 4 decisions so far, taken for 5
    assert win_head.row_weights(taught, 2.0).reshape(6, 2)[2:] == pytest.approx(2 / 4)


def test_the_last_decision_of_a_match_that_goes_on_is_found_in_every_lane():
    rollout, _ = chains_of(5, [(2, ENDED, 1)])
    rollout.owner[5, 0, 0] = NOBODY  # seat 0 does not decide in the last step
    lane, last = win_head.last_decisions(rollout, 0)
    assert lane.tolist() == [0, 1] and last.tolist() == [4 * 2 + 0, 5 * 2 + 1]
    rollout.owner[3:, 0, 1] = 1  # the other seat now belongs to somebody else, and decided last before the end
    assert win_head.last_decisions(rollout, 0)[0].tolist() == [0]
    rollout.length[:] = 4  # an asynchronous collector filled only that much
    assert win_head.last_decisions(rollout, 0)[1].tolist() == [3 * 2 + 0]


@pytest.mark.parametrize("group", [0, 1])
def test_predictions_wait_until_their_match_ends(group):
    """Two rollouts of two steps: seat 0 says log-odds 1, 2 | 3, −1 and wins in the last step; seat 1 the opposite."""
    _, found = chains_of(2, held=bool(group))
    waiting, after = nothing(), nothing()
    logits = np.array([1, -1, 2, -2], np.float32)
    assert not win_head.measure(found, logits, waiting, after).any()
    _, found = chains_of(2, [(2, ENDED, 1)], held=bool(group))
    ended = nothing()
    total = win_head.measure(found, np.array([3, -3, -1, 1], np.float32), after, ended)
    loss = np.mean([math.log(1 + math.exp(-x)) for x in (1, 2, 3, -1)])
    assert total[group] == pytest.approx([2 * loss, 2, 2 * 3 / 4, 2])
    assert not total[1 - group].any() and not ended.any()


def test_a_tie_costs_half_of_either_loss_and_decides_nothing_about_accuracy():
    _, found = chains_of(1, [(1, ENDED, 0)], held=True)
    total = win_head.measure(found, np.array([2.0, 0.0], np.float32), nothing(), nothing())
    assert total[1] == pytest.approx([math.log(1 + math.exp(2.0)) - 1.0 + LN2, 2, 0, 0])


def test_metrics_are_means_over_matches():
    found = win_head.metrics(np.array([[3.0, 5.0, 2.0, 4.0], [1.2, 2.0, 1.5, 2.0]]))
    assert found == pytest.approx({
        "win_head/loss": 0.6, "win_head/held_out_loss": 0.6, "win_head/held_out_matches": 2.0,
        "win_head/held_out_accuracy": 0.75,
    })  # fmt: skip
    assert win_head.metrics(np.zeros((2, 4))) == {}
