from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena import meshes
from pvp_ml.games.rocket_league.arena.generated import Mesh, generate
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe

TRIANGLE = Mesh(np.array([[0, 1, 2]], np.int32), np.array([[0.0, 0.0, 0.0], [150.0, 0.0, 0.0], [0.0, -260.0, 90.0]]))


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    (folder / "soccar").mkdir(parents=True)
    for name, data in files.items():
        (folder / "soccar" / name).write_bytes(data)
    return folder


def test_a_mesh_survives_its_file():
    for mesh in generate():
        again = meshes.unpack(meshes.pack(mesh), "x.cmf")
        assert np.array_equal(again.triangles, mesh.triangles)
        assert np.abs(again.vertices - mesh.vertices).max() < 1e-3
    assert len(meshes.pack(TRIANGLE)) == 8 + 12 + 36


def test_hash_follows_the_simulators_rule():
    """The rule written out once more, number by number."""

    def scramble(value: int) -> int:
        for _ in range(2):
            value = ((value >> 16) ^ value) * 0x45D9F3B & 0xFFFFFFFF
        return value >> 16 ^ value

    state = 3 + 1 * 3
    for corner in TRIANGLE.vertices / 50.0:
        for coordinate in corner:
            value = scramble(int(coordinate) & 0xFFFFFFFF)
            state ^= (value + 0x9E3779B9 + (state << 6) + (state >> 2)) & 0xFFFFFFFF
    assert meshes.simulator_hash(TRIANGLE) == state & 0xFFFFFFFF
    assert len(meshes.REAL_HASHES) == 16


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.tuples(st.integers(-5, 20), st.integers(-5, 20), st.binary(max_size=120)))
def test_any_bytes_are_a_mesh_or_one_clear_line(data):
    raw = data if isinstance(data, bytes) else struct.pack("<ii", data[0], data[1]) + data[2]
    try:
        mesh = meshes.unpack(raw, "x.cmf")
    except UserError as error:
        assert "x.cmf" in error.message and "\n" not in str(error)
    else:
        assert len(raw) == 8 + 12 * (len(mesh.triangles) + len(mesh.vertices))


def damaged(change: str) -> bytes:
    data = bytearray(meshes.pack(TRIANGLE))
    if change == "index":
        data[8:12] = struct.pack("<i", 3)
    elif change == "nan":
        data[20:24] = struct.pack("<f", float("nan"))
    elif change == "far":
        data[20:24] = struct.pack("<f", 1e6)
    elif change == "count":
        data[0:4] = struct.pack("<i", 2_000_000_000)
    else:
        data = data[:-1]
    return bytes(data)


@pytest.mark.parametrize("change", ["index", "nan", "far", "count", "cut"])
def test_corrupt_meshes_are_refused_in_one_line(tmp_path, change):
    folder = fill(tmp_path / "m", {"mesh_0.cmf": damaged(change)})
    with pytest.raises(UserError, match=r"mesh_0\.cmf is corrupt") as caught:
        describe(RocketLeagueConfig(meshes=str(folder)))
    assert "\n" not in str(caught.value) and "setup rocket_league" in caught.value.hint


def test_missing_meshes_are_one_line(tmp_path):
    with pytest.raises(UserError, match="no collision meshes in") as caught:
        describe(RocketLeagueConfig(meshes=str(tmp_path)))
    assert "generated" in caught.value.hint


def test_lookup_order(tmp_path, monkeypatch):
    """setting → RS_COLLISION_MESHES → installed package → what setup extracted → generated."""
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "home"))
    monkeypatch.setattr(meshes, "installed_folder", lambda: None)
    assert meshes.choose("auto").origin == "generated"
    files = {"a.cmf": meshes.pack(TRIANGLE)}
    fill(meshes.extracted_folder(), files)
    assert meshes.choose("auto").source == "setup"
    installed = fill(tmp_path / "installed", files)
    monkeypatch.setattr(meshes, "installed_folder", lambda: installed)
    assert meshes.choose("auto").source == "rlgym-rocket-league"
    monkeypatch.setenv("RS_COLLISION_MESHES", str(fill(tmp_path / "named", files)))
    assert meshes.choose("auto").source == "RS_COLLISION_MESHES"
    chosen = meshes.choose(str(fill(tmp_path / "own", files)))
    assert (chosen.source, chosen.origin) == ("setting", "unknown")
    assert meshes.choose("generated").origin == "generated"


def test_an_installed_package_is_found_without_importing_it(tmp_path, monkeypatch):
    inside = fill(tmp_path / "rlgym" / "rocket_league" / "sim" / "collision_meshes", {"a.cmf": meshes.pack(TRIANGLE)})
    (tmp_path / "rlgym" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert meshes.installed_folder() == inside


def test_generated_arena_is_written_once_and_repaired(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    folder = meshes.materialise(meshes.generated_set())
    assert meshes.load(folder, "x").origin == "generated"
    victim = folder / "soccar" / "generated_2.cmf"
    victim.write_bytes(b"half a file")
    assert meshes.materialise(meshes.generated_set()) == folder
    assert meshes.load(folder, "x").digest == meshes.generated_set().digest
    assert sorted(p.name for p in (folder / "soccar").iterdir()) == [f"generated_{i}.cmf" for i in range(4)]


def test_names_do_not_matter_contents_do():
    one, two = meshes.pack(TRIANGLE), meshes.pack(generate()[0])
    assert meshes.digest_of({"a": one, "b": two}) == meshes.digest_of({"x": two, "y": one})
    assert meshes.digest_of({"a": one}) != meshes.digest_of({"a": two})


def test_another_arena_is_another_game(tmp_path):
    """Resume compares digests, so a run cannot change its meshes unnoticed; a policy still fits."""
    folder = fill(tmp_path / "m", {"a.cmf": meshes.pack(TRIANGLE)})
    here, there = (describe(RocketLeagueConfig(meshes=m)) for m in ("generated", str(folder)))
    assert here.game_digest != there.game_digest
    assert here.interface_digest == there.interface_digest
    assert dict(there.parameters)["meshes"] == "unknown"


def test_a_process_cannot_mix_arenas(rocketsim, tmp_path):
    from pvp_ml.games.rocket_league.simulator import simulator

    folder = fill(tmp_path / "m", {"a.cmf": meshes.pack(TRIANGLE)})
    with pytest.raises(UserError, match="already plays on generated meshes"):
        simulator(meshes.load(folder, "setting"))


def test_triangles_for_viewers():
    triangles = meshes.triangles_uu(meshes.generated_set())
    assert triangles.shape == (4 * 804, 3, 3)
    assert np.abs(triangles).max() == 6000.0


@pytest.mark.nightly
def test_the_games_own_meshes_are_known_as_real(tmp_path, monkeypatch):
    from pvp_ml.games.rocket_league.arena import mesh_setup

    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    try:
        mesh_setup.setup(lambda _: None)
    except UserError as error:
        pytest.skip(f"no package index here: {error}")
    chosen = meshes.load(meshes.extracted_folder(), "setup")
    assert chosen.origin == "real"
    assert len(list((meshes.extracted_folder() / "soccar").iterdir())) == 16
