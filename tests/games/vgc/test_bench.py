import os

import pytest

from pvp_ml.games.vgc import bench
from pvp_ml.games.vgc.config import VgcConfig


def test_a_measurement_adds_up(installation):
    speed = bench.measure(1, 300, VgcConfig(), warm_up=100)
    facts = speed.to_json()
    assert 300 <= speed.decisions < 700 and speed.workers == 1
    assert facts["decisions_per_cpu_s"] == pytest.approx(speed.decisions / speed.cpu_s, abs=0.1)
    assert 20 < facts["decisions_per_cpu_s"] < 5000  # cold, on any machine
    assert 50 << 20 < speed.rss_bytes <= 500 << 20


@pytest.mark.nightly
def test_three_and_a_half_times_poke_env_over_a_websocket(installation):
    if not os.environ.get(bench.BASELINE_PYTHON):
        pytest.skip(f"POKE-ENV NOT MEASURED: set {bench.BASELINE_PYTHON}")
    report = bench.bench(20_000)
    assert report["ratio_to_poke_env"] >= 3.5
    assert [speed["workers"] for speed in report["speeds"]] == [1, 0, 2]
    assert max(speed["rss_bytes"] for speed in report["speeds"]) <= 500 << 20
