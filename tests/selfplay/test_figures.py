"""Figures by hand: shares over many matches are shares of sums, and a figure may count lost matches only."""

import numpy as np
import pytest

from pvp_ml.games.osrs.fights import NH, NhConfig
from pvp_ml.match import LOSS, WIN
from pvp_ml.selfplay.figures import FigureSums
from pvp_ml.spec import Figure, SpecError

SPEC = NH.spec(NhConfig())


def folded(**values):
    signals = np.zeros(len(SPEC.signals), np.float32)
    for k, signal in enumerate(SPEC.signals):
        signals[k] = values.get(signal.name, 0.0)
    return signals[None]


def test_shares_are_of_sums_and_death_counts_losses_only():
    sums = FigureSums(SPEC, NH.presentation.figures)
    sums.add(
        0, folded(protected_prayer=3, unprotected_prayer=1, specials_used=2, remaining_food_scale=5), np.array([WIN])
    )
    sums.add(0, folded(protected_prayer=1, unprotected_prayer=11, remaining_food_scale=0.5), np.array([LOSS]))
    sums.add(
        1, folded(hit_off_prayer=1, hit_on_prayer=3, attacks=4, damage_generated_on_target_scale=2), np.array([LOSS])
    )
    first, second = sums.values(0), sums.values(1)
    assert first["correct_prayer"] == pytest.approx(4 / 16)
    assert first["specials"] == pytest.approx(1.0)
    assert first["food_left_at_death"] == pytest.approx(0.5)
    assert "off_prayer_hits" not in first
    assert second["off_prayer_hits"] == pytest.approx(0.25)
    assert second["damage_per_attack"] == pytest.approx(0.5)


def test_a_figure_of_an_unknown_signal_is_refused():
    with pytest.raises(SpecError, match="no signal 'luck'"):
        FigureSums(SPEC, [Figure("x", "", ("luck",))])


def test_the_interval_of_a_ratio_covers_the_truth_as_often_as_it_says():
    """Rates of 3 a minute over matches of any length, 400 times 60 matches: 95 % of the intervals hold it."""
    rng, hits = np.random.default_rng(0), 0
    figure = Figure("specials", "a minute", ("specials_used",), ("attacks",))
    for _ in range(400):
        sums = FigureSums(SPEC, [figure])
        for _ in range(60):
            length = rng.uniform(0.5, 2.0)
            sums.add(0, folded(specials_used=rng.poisson(3.0 * length), attacks=length), np.array([WIN]))
        low, high = sums.intervals(0)["specials"]
        hits += low <= 3.0 <= high
    assert 0.91 <= hits / 400 <= 0.98
    wide = sums.intervals(0, share=0.25)["specials"]
    assert wide[1] - wide[0] == pytest.approx(2 * (high - low))


def test_one_match_has_no_interval():
    sums = FigureSums(SPEC, [Figure("specials", "", ("specials_used",))])
    sums.add(0, folded(specials_used=3), np.array([WIN]))
    assert sums.values(0) == {"specials": 3.0} and sums.intervals(0) == {}
