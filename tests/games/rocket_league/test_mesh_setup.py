from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena import mesh_setup, meshes
from pvp_ml.games.rocket_league.arena.generated import Mesh

MESH = meshes.pack(Mesh(np.array([[0, 1, 2]], np.int32), np.eye(3) * 500.0))
GOOD = "rlgym-rocket-league-2.0.1/rlgym/rocket_league/sim/collision_meshes/soccar/mesh_0.cmf"


def tar(members: dict[str, bytes], link: str | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(entry)
    return out.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("pack", [tar, zipped])
def test_only_soccar_meshes_are_read(pack):
    archive = pack({GOOD: MESH, "x/soccar/readme.txt": b"no", "x/hoops/mesh_1.cmf": MESH, "soccar/../mesh_2.cmf": MESH})
    assert mesh_setup.extract(archive) == {"mesh_0.cmf": MESH}


def test_names_never_become_paths_and_links_are_not_followed():
    archive = tar({"../../../soccar/evil.cmf": MESH, "/abs/soccar/ok.cmf": MESH}, link="a/soccar/link.cmf")
    assert set(mesh_setup.extract(archive)) == {"ok.cmf"}


@pytest.mark.parametrize("pack", [tar, zipped])
def test_bombs_are_refused(pack):
    with pytest.raises(UserError, match="at most 1000000"):
        mesh_setup.extract(pack({GOOD: b"\0" * 1_000_001}))
    with pytest.raises(UserError, match="more than 1000 members"):
        mesh_setup.extract(pack({f"f{i}": b"" for i in range(1001)}))


@pytest.mark.parametrize(
    "archive",
    [b"", b"PK\x03\x04 not a zip", b"\x1f\x8b garbage", tar({GOOD: MESH})[:60]],
    ids=["empty", "not a zip", "not gzip", "cut short"],  # bytes as names would hold the second in which they were made
)
def test_damaged_archives_are_one_line(archive):
    with pytest.raises(UserError) as caught:
        mesh_setup.extract(archive)
    assert "\n" not in str(caught.value)


def test_corrupt_mesh_inside_is_refused():
    with pytest.raises(UserError, match=r"mesh_0\.cmf is corrupt"):
        mesh_setup.extract(tar({GOOD: MESH[:-4]}))


def test_another_archive_than_the_pinned_one_is_refused(tmp_path):
    path = tmp_path / "rlgym.tar.gz"
    path.write_bytes(tar({GOOD: MESH}))
    with pytest.raises(UserError, match="not the pinned archive"):
        mesh_setup.read_archive(path)
    path.write_bytes(b"\0" * 8_000_001)
    with pytest.raises(UserError, match="at most 8000000"):
        mesh_setup.read_archive(path)


def test_pip_downloads_the_pinned_hash_without_installing(monkeypatch):
    seen = {}

    def fake(command, **options):
        seen["command"] = command
        seen["pins"] = Path(command[-1]).read_text()
        return SimpleNamespace(returncode=1, stderr="ERROR: no such host\n")

    monkeypatch.setattr(subprocess, "run", fake)
    with pytest.raises(UserError, match="no such host") as caught:
        mesh_setup.download()
    assert "generated" in caught.value.hint
    assert {"download", "--no-deps", "--require-hashes"} <= set(seen["command"])
    assert "install" not in seen["command"]
    assert seen["pins"] == f"rlgym-rocket-league==2.0.1 --hash=sha256:{mesh_setup.ARCHIVE_SHA256}\n"


def test_meshes_that_are_not_the_games_own_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    monkeypatch.setattr(mesh_setup, "download", lambda: tar({GOOD: MESH}))
    with pytest.raises(UserError, match="not the game's own"):
        mesh_setup.setup(lambda _: None)
    assert not meshes.extracted_folder().exists()


def test_setup_fills_the_cache_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    monkeypatch.setattr(meshes, "origin_of", lambda files: "real")
    calls = []
    monkeypatch.setattr(mesh_setup, "download", lambda: calls.append(1) or tar({GOOD: MESH}))
    lines: list[str] = []
    mesh_setup.setup(lines.append)
    mesh_setup.setup(lines.append)
    assert len(calls) == 1 and "already" in lines[-1]
    assert (meshes.extracted_folder() / "soccar" / "mesh_0.cmf").read_bytes() == MESH
