"""Strength maps: from measured ratings to evenly spaced strengths, and files that nobody has to trust."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from pvp_ml.data_files import PACKAGE
from pvp_ml.errors import UserError
from pvp_ml.model.bundle import read_bundle
from pvp_ml.model.dial import (
    Dial,
    MapPoint,
    StrengthMap,
    handicap_dial,
    map_of,
    map_path,
    read_map,
    settled,
    write_map,
)

RATINGS = ((0.0, 1500.0), (0.1, 1300.0), (0.2, 1320.0), (0.5, 900.0), (1.0, 500.0))
MAP = StrengthMap(
    "a" * 64, "g", "ladder of g", "2026-01-01", tuple(MapPoint(h, r, r - 9, r + 9, 80) for h, r in RATINGS)
)


def test_strengths_are_evenly_spaced_in_rating():
    assert MAP.ratings() == [1500.0, 1310.0, 1310.0, 900.0, 500.0]
    assert MAP.handicap(100) == 0.0 and MAP.handicap(1) == 1.0
    assert MAP.rating(1) == 500.0 and MAP.rating(100) == 1500.0
    middle = 1 + round(99 * 0.4)  # 900 points lie at 0.4 of the range
    assert MAP.handicap(middle) == pytest.approx(0.5, abs=0.01)
    handicaps = [MAP.handicap(strength) for strength in range(1, 101)]
    assert all(a > b for a, b in pairwise(handicaps))


def test_full_strength_is_the_model_as_it_is_even_where_slips_cost_nothing():
    flat = tuple(MapPoint(h, r, r, r, 1) for h, r in ((0.0, 1500.1), (0.05, 1500.1), (1.0, 500.0)))
    assert StrengthMap("a" * 64, "g", "", "", flat).dial(100) == Dial()


def test_every_part_of_the_dial_grows_with_the_handicap():
    assert handicap_dial(0.0) == Dial() and handicap_dial(1.0) == Dial(2.0, 3.0, 1, 0.9)
    for a, b in pairwise(handicap_dial(h / 20) for h in range(21)):
        assert a.temperature < b.temperature and a.delay < b.delay and a.mistakes < b.mistakes


def test_a_map_is_found_beside_its_model_and_only_for_that_model(tmp_path):
    model = tmp_path / "m.zip"
    assert settled(Dial(strength=50), model, "a" * 64, "g") == handicap_dial(50 / 99)
    write_map(map_path(model), MAP)
    assert read_map(tmp_path / "m.dial.json") == MAP
    assert settled(Dial(strength=50), model, "a" * 64, "g") == MAP.dial(50)
    assert map_of(model, "b" * 64, "g").scale == "not measured"
    assert settled(Dial(delay=2), model, "a" * 64, "g") == Dial(delay=2)


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"points": []}, {"points": [{"handicap": 0}]}, {"points": "x"}, {"model": None, "points": None}],
)
def test_what_is_no_map_is_refused(tmp_path, change):
    path = tmp_path / "m.dial.json"
    write_map(path, MAP)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match="no strength map"):
        read_map(path)


def test_handicaps_of_a_map_must_rise(tmp_path):
    path = tmp_path / "m.dial.json"
    points = (MAP.points[1], MAP.points[0])
    write_map(path, StrengthMap("a" * 64, "g", "", "", points))
    with pytest.raises(UserError, match="do not rise"):
        read_map(path)


def test_the_shipped_map_belongs_to_the_shipped_model_and_spans_800_points():
    model = Path(PACKAGE / "models" / "GeneralizedNh.zip")
    bundle = read_bundle(model)
    found = map_of(model, bundle.content_hash, "nh")
    assert found.date, "measure it again: pvp-ml model dial GeneralizedNh"
    assert found.rating(100) - found.rating(1) >= 800
