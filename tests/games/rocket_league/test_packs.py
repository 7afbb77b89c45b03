from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.packs import packs_folder, parse_pack, read_packs, shot_scene
from pvp_ml.games.rocket_league.resets import kickoff

SHOT = {
    "ball": {"position": [100, 2000, 300], "velocity": [0, 500, 100]},
    "cars": [{"team": "orange", "position": [0, 4000, 17], "angles": [0, -1.57, 0], "boost": 70}],
}


def packed(**changes) -> bytes:
    return json.dumps({"format": 1, "shots": [SHOT], **changes}).encode()


def scene_of(data: bytes, seed: int = 0, sizes: tuple[int, int] = (1, 1)):
    rng = np.random.default_rng(seed)
    return shot_scene(parse_pack(data, "p")[0], rng, sizes, kickoff(np.random.default_rng(1), sizes))


def test_a_shot_places_what_it_names_and_leaves_the_rest_at_kickoff():
    scene = scene_of(packed())
    assert scene.ball.tolist() == [[100, 2000, 300], [0, 500, 100], [0, 0, 0]]
    assert scene.cars[1, 0].tolist() == [0, 4000, 17] and scene.boost[1] == 70
    spare = kickoff(np.random.default_rng(1), (1, 1))
    assert np.array_equal(scene.cars[0], spare.cars[0]) and abs(scene.cars[0, 0, 0]) < 4096


def test_cars_beyond_the_mode_are_left_out():
    scene = scene_of(packed(), sizes=(1, 0))
    assert len(scene.cars) == 1


def test_noise_is_bounded_and_used():
    balls = np.array([scene_of(packed(noise=1.0), seed).ball for seed in range(300)])
    spread = np.abs(balls - np.array([[100, 2000, 300], [0, 500, 100], [0, 0, 0]]))
    assert (spread.max(0) <= [[500, 500, 210], [500, 500, 200], [0, 0, 0]]).all()
    assert (spread[:, 0].max(0) > [450, 450, 90]).all() and (balls[:, 0, 2] >= 93.15).all()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be an object"),
        (packed(format=2), "has format 2"),
        (packed(shots=[]), "1…1000"),
        (packed(shots=[SHOT] * 1001), "1…1000"),
        (packed(speed=1), "unknown keys"),
        (packed(noise=2), "a number from 0 to 1"),
        (packed(shots=[{"cars": []}]), "lacks"),
        (packed(shots=[{"ball": {"position": [0, 0]}}]), "three numbers"),
        (packed(shots=[{"ball": {"position": [0, 0, 99999]}}]), "is 99999"),
        (packed(shots=[{"ball": {"position": [0, 0, True]}}]), "is True"),
        (packed().replace(b"2000", b"NaN"), "is nan"),
        (packed(shots=[{**SHOT, "cars": [{"team": "red", "position": [0, 0, 17]}]}]), "blue or orange"),
        (packed(shots=[{**SHOT, "cars": [SHOT["cars"][0]] * 7}]), "at most 6"),
        (b"[" * 100_000, "not JSON"),
        (b" " * 1_000_001, "larger than"),
    ],
)
def test_wrong_packs_are_one_line(data, message):
    with pytest.raises(UserError) as caught:
        parse_pack(data, "pack.json")
    assert message in str(caught.value) and "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["format", "shots", "ball", "cars", "position", "team"]), inner, max_size=4
            )
        ),
    )
)
def test_any_json_is_a_pack_or_a_user_error(value):
    with contextlib.suppress(UserError):
        parse_pack(json.dumps(value).encode(), "p")


def test_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_packs((str(tmp_path / "none.json"),))


def test_the_packs_content_is_part_of_the_game(tmp_path):
    path = tmp_path / "p.json"
    digests = []
    for speed in (500, 600):
        path.write_bytes(packed().replace(b"500", str(speed).encode()))
        config = RocketLeagueConfig(meshes="generated", packs=(str(path),), setters={"training_pack": 1.0})
        digests.append(describe(config).game_digest)
    assert digests[0] != digests[1]


def test_a_folder_stands_for_its_files_and_setup_for_what_it_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "home"))
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"format": 1, "name": name, "shots": [PLAIN, PLAIN]}))
    shots, digest = read_packs((str(tmp_path),))
    assert [shot.pack for shot in shots] == ["a", "a", "b", "b"] and digest
    with pytest.raises(UserError, match="packs are not there") as caught:
        read_packs(("setup",))
    assert "--packs" in caught.value.hint
    packs_folder().mkdir(parents=True)
    (packs_folder() / "x.json").write_text(json.dumps({"format": 1, "kind": "goalie", "shots": [PLAIN]}))
    (shot,) = read_packs(("setup",))[0]
    assert (shot.kind, shot.pack, shot.seconds) == ("goalie", "x.json", 10.0)


PLAIN = {"ball": {"position": [0, 2000, 93.15]}}


@pytest.mark.parametrize(("change", "says"), [({"kind": "keeper"}, "kind is 'keeper'"), ({"kind": 3}, "kind is '3'")])
def test_another_kind_is_refused(change, says):
    with pytest.raises(UserError, match=says):
        parse_pack(json.dumps({"format": 1, "shots": [PLAIN], **change}).encode(), "p")
