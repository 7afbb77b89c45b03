import numpy as np
import pytest

from pvp_ml.games.chance import mix, uniforms


def test_the_finaliser_gives_the_published_splitmix_sequence():
    """SplitMix64 from seed 0: the first three outputs that its reference prints."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([(golden * k) & 0xFFFF_FFFF_FFFF_FFFF for k in (1, 2, 3)], np.uint64)
    assert [int(w) for w in mix(states)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_numbers_are_uniform_and_unrelated_between_seeds_clocks_and_channels():
    seed, clock = (grid.ravel() for grid in np.meshgrid(np.arange(200, dtype=np.uint64), np.arange(50)))
    one, two = uniforms(seed, clock, 0), uniforms(seed, clock, 1)
    assert one.min() >= 0
    assert one.max() < 1
    counts = np.histogram(one, bins=20, range=(0, 1))[0]
    assert ((counts - 500) ** 2 / 500).sum() < 45  # χ² with 19 degrees of freedom, p < 0.001
    for other in (two, np.roll(one, 1), np.roll(one, 50)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.04
    assert len(np.unique(one)) == len(one)


def test_several_channels_at_once_equal_one_at_a_time():
    seed, clock = np.arange(5, dtype=np.uint64), np.arange(5)
    together = uniforms(seed, clock, np.arange(3))
    assert together.shape == (5, 3)
    for channel in range(3):
        assert together[:, channel] == pytest.approx(uniforms(seed, clock, channel), abs=0)
