"""`pvp-ml compare`: seeds joined, bands that are honest about few of them, a picture."""

import json

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.run.tracking.curves import band, interquartile_mean


def write(folder, name, values):
    path = folder / "experiments" / name
    path.mkdir(parents=True)
    rows = [{"steps": 100 * (i + 1), "rollouts": i, "seconds": i, "eval/win_rate": v} for i, v in enumerate(values)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "config.yml").write_text("eval: {opponents: [nh-bot]}\n")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, last in enumerate((0.6, 0.7, 0.9)):
        write(tmp_path, f"few-seed{seed}", (0.5, last))
    for seed in range(8):
        write(tmp_path, f"many-seed{seed}", (0.5, 0.6 + 0.02 * seed))
    write(tmp_path, "one", (0.5, 0.55))
    return tmp_path


def test_few_seeds_show_their_range_and_many_a_band(runs, capsys):
    assert run(["compare", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows["few"]["band"] == "3 seeds: range"
    assert (rows["few"]["low"], rows["few"]["high"]) == (0.6, 0.9)
    assert rows["one"]["band"] == "1 seed: no band"
    many = rows["many"]
    assert many["band"] == "8 seeds: 95 % bootstrap band"
    assert many["value"] == pytest.approx(0.67), "mean of the middle four"
    assert 0.6 < many["low"] < 0.67 < many["high"] < 0.74


def test_the_table_says_what_the_band_is(runs, capsys):
    assert run(["compare", "few", "one"]) == 0
    text = capsys.readouterr().out
    assert "3 seeds: range" in text
    assert "0.6 – 0.9" in text


def test_a_picture_is_drawn(runs):
    assert run(["compare", "--png", "curves.svg"]) == 0
    drawn = (runs / "curves.svg").read_text()
    assert "<svg" in drawn


def test_a_band_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    steps = np.array([0.0, 1.0])
    hits = 0
    for _ in range(100):
        curves = [(steps, np.array([0.0, value])) for value in rng.normal(0.5, 0.1, 10)]
        found = band(curves, rng)
        hits += bool(found.low[-1] <= 0.5 <= found.high[-1])
    assert 80 <= hits <= 99
    assert interquartile_mean(np.array([[0.0], [1.0], [2.0], [9.0]]))[0] == 1.5
