"""`pvp-ml game setup rocket_league`: fetch the game's own collision meshes without installing their package.

The package rlgym-rocket-league carries 16 soccar meshes but pins numpy < 2. Its source archive is downloaded with pip
(whatever index pip is set up for), checked against a pinned SHA-256, and only the mesh files are read from it.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena import meshes

PACKAGE = "rlgym-rocket-league"
RELEASE = "2.0.1"
ARCHIVE_SHA256 = "3be8e9d2f1cfb6514e0e3d455fb33ff95e26eb7c399f819fff0258025cf4d501"
MAX_ARCHIVE_BYTES = 8_000_000
MAX_MEMBERS = 1_000
MAX_MEMBER_BYTES = 1_000_000
DOWNLOAD_TIMEOUT_S = 300.0
_OTHERWISE = "play on the generated arena (meshes: generated), or put soccar/*.cmf into a folder and set meshes to it"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A source archive of the package index."""

    package: str
    release: str
    sha256: str
    otherwise: str  # what a user can do without it
    max_bytes: int = MAX_ARCHIVE_BYTES


MESHES = Pinned(PACKAGE, RELEASE, ARCHIVE_SHA256, _OTHERWISE)


def setup(progress: Callable[[str], None]) -> None:
    """Fill the cache that the lookup order ends with, unless it already holds the game's own meshes."""
    folder = meshes.extracted_folder()
    if (folder / "soccar").is_dir() and meshes.load(folder, "setup").origin == "real":
        progress(f"collision meshes are already in {folder}")
        return
    progress(f"downloading {PACKAGE} {RELEASE} (not installing it)")
    files = extract(download())
    origin = meshes.origin_of(files)
    if origin != "real":
        raise UserError(f"{PACKAGE} {RELEASE} holds {len(files)} meshes, but they are not the game's own ({origin})")
    meshes.write_folder(folder, files)
    progress(f"{len(files)} collision meshes written to {folder}")


def download(what: Pinned = MESHES) -> bytes:
    """The pinned source archive, as pip finds it. pip refuses another hash before it runs anything from it."""
    with tempfile.TemporaryDirectory() as scratch:
        pinned = Path(scratch) / "requirements.txt"
        pinned.write_text(f"{what.package}=={what.release} --hash=sha256:{what.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--no-binary", what.package, "--require-hashes", "--dest", scratch, "-r", str(pinned)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False)  # noqa: S603
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"downloading {what.package} took longer than {DOWNLOAD_TIMEOUT_S:.0f} s", what.otherwise
            ) from error
        found = sorted(Path(scratch).glob("rlgym*"))
        if done.returncode or not found:
            reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1][:200]
            raise UserError(f"pip could not download {what.package} {what.release}: {reason}", what.otherwise)
        return read_archive(found[0], what)


def read_archive(path: Path, what: Pinned = MESHES) -> bytes:
    """The archive's bytes, if it is the pinned one."""
    if path.stat().st_size > what.max_bytes:
        raise UserError(f"{path.name} has {path.stat().st_size} bytes, at most {what.max_bytes} are read")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != what.sha256:
        raise UserError(f"{path.name} is not the pinned archive of {what.package} {what.release}", what.otherwise)
    return data


def extract(archive: bytes) -> dict[str, bytes]:
    """The soccar/*.cmf files of a tar or zip archive by name. Nothing is unpacked to disk; names never become paths."""
    reader = _zip_members if zipfile.is_zipfile(io.BytesIO(archive)) else _tar_members
    files: dict[str, bytes] = {}
    try:
        for name, data in reader(archive):
            meshes.unpack(data, name)
            files[name] = data
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        reason = str(error).split("\n")[0][:100]
        raise UserError(f"the archive of {PACKAGE} cannot be read: {reason}") from error
    if not files:
        raise UserError(f"the archive of {PACKAGE} holds no soccar/*.cmf files")
    return files


def _wanted(member: str, size: int) -> str | None:
    """The plain file name of a soccar mesh, None for everything else."""
    path = PurePosixPath(member)
    if path.suffix != ".cmf" or path.parent.name != "soccar" or ".." in path.parts:
        return None
    if size > MAX_MEMBER_BYTES:
        raise UserError(f"{path.name} in the archive of {PACKAGE} has {size} bytes, at most {MAX_MEMBER_BYTES}")
    return path.name


def _tar_members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
        for count, member in enumerate(tar):
            if count >= MAX_MEMBERS:
                raise UserError(f"the archive of {PACKAGE} has more than {MAX_MEMBERS} members")
            name = _wanted(member.name, member.size) if member.isfile() else None
            if name:
                content = tar.extractfile(member)
                assert content is not None
                yield name, content.read(MAX_MEMBER_BYTES + 1)


def _zip_members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        for count, member in enumerate(packed.infolist()):
            if count >= MAX_MEMBERS:
                raise UserError(f"the archive of {PACKAGE} has more than {MAX_MEMBERS} members")
            name = _wanted(member.filename, member.file_size)
            if name:
                with packed.open(member) as content:
                    yield name, content.read(MAX_MEMBER_BYTES + 1)
