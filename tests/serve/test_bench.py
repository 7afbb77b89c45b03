"""`pvp-ml bench serve` prints one JSON object with the fields that every benchmark has."""

import json
from pathlib import Path

import pytest

from pvp_ml.cli.bench import serve as bench_serve
from pvp_ml.cli.bench.serve import serve


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU time of another process is read from /proc")
def test_one_json_object(capsys, monkeypatch):
    monkeypatch.setattr(bench_serve, "EAGER", Path("nowhere"))
    serve(game="connect4", network="default", clients=(2,), seconds=0.4, repeats=1, as_json=True)
    result = json.loads(capsys.readouterr().out)
    assert set(result) >= {"metric", "value", "unit", "baseline", "ratio", "repeats", "spread", "split"}
    assert result["value"] > 500 and result["baseline"] is None
    assert set(result["engines"]["numpy"]) == {"1", "4", "16", "64"}
    assert all(0 < cost < 1e5 for costs in result["engines"].values() for cost in costs.values())
    assert [n["metric"] for n in result["networks"]] == ["serve/default"]
    (row,) = result["table"]
    assert row["clients"] == 2 and row["ours"]["errors"] == 0 and row["ours"]["p50_ms"] > 0


@pytest.mark.nightly
def test_ten_times_the_eager_server(capsys):
    serve(game="nh", clients=(1, 16, 64), seconds=2.0, repeats=3, as_json=True)
    result = json.loads(capsys.readouterr().out)
    print(result)
    assert result["metric"] == "serve/default" and result["ratio"] >= 10
    for network in result["networks"]:
        one = network["table"][0]
        assert one["ours"]["p50_ms"] < one["eager"]["p50_ms"]
        assert all(row["ours"]["errors"] == 0 for row in network["table"])
