import json
import os
import time

import pytest

from pvp_ml.games.vgc import bench
from pvp_ml.games.vgc.config import VgcConfig


def test_a_measurement_adds_up(installation):
    speed = bench.measure(1, 0.5, VgcConfig(), warm_up=100, matches=16)
    facts = speed.to_json()
    assert speed.cpu_s >= 0.5 and speed.decisions >= bench.PORTION and speed.workers == 1
    assert facts["decisions_per_cpu_s"] == pytest.approx(speed.decisions / speed.cpu_s, abs=0.1)
    assert 20 < facts["decisions_per_cpu_s"] < 5000  # cold, on any machine
    assert 50 << 20 < speed.rss_bytes <= 500 << 20


@pytest.mark.nightly
def test_three_and_a_half_times_poke_env_over_a_websocket(installation):
    if not os.environ.get(bench.BASELINE_PYTHON):
        pytest.skip(f"POKE-ENV NOT MEASURED: set {bench.BASELINE_PYTHON}")
    report = bench.bench(VgcConfig())
    assert report["ratio_to_poke_env"] >= 3.5
    assert [speed["workers"] for speed in report["speeds"]] == [1, 0, 2]
    assert max(speed["rss_bytes"] for speed in report["speeds"]) <= 500 << 20


def test_bench_sim_keeps_to_its_flags(installation, monkeypatch, capsys):
    from pvp_ml.cli import run

    asked = []

    def measured(workers, seconds, config, warm_up=0, matches=0):
        asked.append((workers, seconds, matches))
        return bench.Speed("pvp-ml", workers, 100 * len(asked), 1, 1.0, 1.0, 0)

    monkeypatch.setattr(bench, "measure", measured)
    monkeypatch.delenv(bench.BASELINE_PYTHON, raising=False)
    flags = "--game vgc --matches 8 --seconds 0.7 --repeats 3 --json"
    assert run(["bench", "sim", *flags.split()]) == 0
    assert asked == [(1, 0.7, 8)] * 3 + [(2, 0.7, 8)] * 3
    speeds = json.loads(capsys.readouterr().out)["speeds"]
    assert [speed["decisions"] for speed in speeds] == [200, 500]  # medians


def test_node_counts_in_what_training_costs(installation, build):
    """A step costs several times more in Node than here; `bench train` must see it."""
    from vgc_playing import plans, play

    from pvp_ml.games.process_tree import cpu_s

    game = build(matches=4)
    before, own = cpu_s(), time.process_time()
    play(game, plans(8))
    node = cpu_s() - before - (time.process_time() - own)
    assert node == pytest.approx(sum(worker["cpu_s"] for worker in game.stats()), rel=0.5)
    assert node > 0.1
