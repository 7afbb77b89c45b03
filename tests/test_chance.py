import numpy as np
import pytest

from pvp_ml.chance import GOLDEN, mix, scramble, scrambles, uniform, uniforms
from pvp_ml.compiled import kernels


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


def test_whole_numbers_arrays_and_compiled_code_agree():
    """scramble(x) is SplitMix64's output for the state x; the array form has the step before it apart."""
    states = np.random.default_rng(0).integers(0, 2**64, 200, np.uint64)
    whole = [scramble(int(x)) for x in states]
    assert [int(x) for x in mix(states + np.uint64(GOLDEN))] == whole
    assert [int(kernels.mix(x)) for x in states] == whole
    assert scrambles(-7, states, 3).tolist() == [scramble(-7, int(x), 3) for x in states]


def test_a_row_draws_the_sequence_of_its_key():
    keys = np.array([0, 5], np.uint64)
    first = (np.array([0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4], np.uint64) >> np.uint64(11)).astype(np.float64)
    assert uniform(keys, 2)[0].tolist() == ((first + 0.5) * 2.0**-53).tolist()
    assert uniform(keys[1:], 2).tolist() == uniform(keys, 2)[1:].tolist()
