"""Scores and corrections of a chance to win, against numbers worked out by hand and data of known odds."""

import numpy as np
import pytest

from pvp_ml.model.calibration import brier, expected_error, fit_scale, match_weights, reliability, sigmoid


def test_every_match_counts_once():
    assert match_weights(np.array([4, 4, 4, 9])).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_scores_by_hand():
    chance, points, weight = np.array([0.9, 0.9, 0.2, 0.2]), np.array([1.0, 0.0, 0.0, 0.0]), np.full(4, 0.25)
    assert brier(chance, points, weight) == pytest.approx((0.01 + 0.81 + 0.04 + 0.04) / 4)
    curve = reliability(chance, points, weight)
    assert [(round(c.stated, 3), c.won, c.share) for c in curve] == [(0.2, 0.0, 0.5), (0.9, 0.5, 0.5)]
    assert expected_error(curve) == pytest.approx(0.5 * 0.2 + 0.5 * 0.4)


def test_an_overconfident_head_is_corrected():
    """It states three times the log-odds, and one too many; the fit undoes both."""
    rng = np.random.default_rng(1)
    true = rng.normal(0, 1.5, 60_000)
    points = (rng.random(60_000) < sigmoid(true)).astype(float)
    weight = np.full(60_000, 1 / 60_000)
    slope, offset = fit_scale(3 * true + 1, points, weight)
    assert slope == pytest.approx(1 / 3, abs=0.01) and offset == pytest.approx(-1 / 3, abs=0.03)
    before = expected_error(reliability(sigmoid(3 * true + 1), points, weight))
    after = expected_error(reliability(sigmoid(slope * (3 * true + 1) + offset), points, weight))
    assert before > 0.1 and after < 0.01
    assert fit_scale(3 * true, points, weight, has_offset=False)[1] == 0.0
