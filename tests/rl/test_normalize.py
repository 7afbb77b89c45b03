"""Running moments against two passes over all rows, however they were split."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.model.actor import EPSILON
from pvp_ml.rl.normalize import combine, moments, update


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_running_statistics_equal_a_two_pass_computation(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(rng.uniform(-50, 50), rng.uniform(0.1, 20), (n, 3)).astype(np.float32) for n in sizes]
    statistics = {"x/mean": np.zeros(3), "x/var": np.ones(3), "x/count": np.array([EPSILON])}
    for a, b in zip(parts[::2], [*parts[1::2], np.zeros((0, 3), np.float32)], strict=False):
        update(statistics, "x", combine(moments(a), moments(b)))
    rows = np.concatenate(parts).astype(np.float64)
    if len(rows):
        size = max(1.0, np.abs(rows).max())
        assert np.abs(statistics["x/mean"] - rows.mean(axis=0)).max() <= 1e-5 * size
        assert np.abs(statistics["x/var"] - rows.var(axis=0)).max() <= 1e-5 * size**2
        assert abs(statistics["x/count"][0] - len(rows)) < 1e-6
    else:
        assert (statistics["x/var"] == 1.0).all()
