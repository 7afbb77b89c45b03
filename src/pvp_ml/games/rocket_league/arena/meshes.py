"""Collision meshes: reading .cmf files, telling the game's own from generated ones, and choosing a set.

Lookup: the setting → RS_COLLISION_MESHES → an installed rlgym-rocket-league → the cache that `pvp-ml game setup
rocket_league` filled → the generated arena. A set is named by its digest, which is part of the game's parameters, so a
run never changes its arena unnoticed.

A .cmf file is little endian without magic: int32 T, int32 V, T × 3 int32 vertex indices, V × 3 float32 (1 = 50 uu).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import struct
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena.generated import Mesh, generate

UU_PER_UNIT = 50.0
MAX_COUNT = 100_000  # triangles or vertices of one file; the game's largest has 983
MAX_FILES = 64
MAX_ABS_UNITS = 200.0  # 10,000 uu: no soccar mesh reaches beyond 6,000
HEADER = struct.Struct("<ii")

Origin = Literal["real", "generated", "unknown"]

# RocketSim's table of the 16 soccar meshes
REAL_HASHES: frozenset[int] = frozenset(
    {
        0x14B84668, 0x1F8EE550, 0x255BA8C1, 0x2811EEE8,
        0x39A47F63, 0x3D79D25D, 0x73AE4940, 0x760358D3,
        0x918F4A4E, 0x94FB0D5C, 0xA160BAF9, 0xB81AC8B9,
        0xBD4FBEA8, 0xD84C7A68, 0xDEA07102, 0xEC759EBF,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeshSet:
    """`folder` holds soccar/*.cmf, None for the generated set before it is written; `digest` names the triangles."""

    origin: Origin
    source: str
    digest: str
    folder: Path | None


def pack(mesh: Mesh) -> bytes:
    """A mesh as the bytes of a .cmf file."""
    triangles = np.ascontiguousarray(mesh.triangles, "<i4")
    vertices = np.ascontiguousarray(mesh.vertices / UU_PER_UNIT, "<f4")
    return HEADER.pack(len(triangles), len(vertices)) + triangles.tobytes() + vertices.tobytes()


def unpack(data: bytes, name: str) -> Mesh:
    """Read a .cmf file; refuse counts, sizes, indices and coordinates that cannot be a soccar mesh."""
    if len(data) < HEADER.size:
        raise _corrupt(name, f"{len(data)} bytes, shorter than its {HEADER.size}-byte header")
    t, v = HEADER.unpack_from(data)
    if not (1 <= t <= MAX_COUNT and 1 <= v <= MAX_COUNT):
        raise _corrupt(name, f"says {t} triangles and {v} vertices, allowed 1…{MAX_COUNT}")
    expected = HEADER.size + 12 * (t + v)
    if len(data) != expected:
        raise _corrupt(name, f"{len(data)} bytes, {expected} expected for {t} triangles and {v} vertices")
    triangles = np.frombuffer(data, "<i4", 3 * t, HEADER.size).reshape(t, 3)
    vertices = np.frombuffer(data, "<f4", 3 * v, HEADER.size + 12 * t).reshape(v, 3).astype(np.float64)
    if triangles.min() < 0 or triangles.max() >= v:
        raise _corrupt(name, f"a triangle names vertex {triangles.max()} of {v}")
    if not np.isfinite(vertices).all() or np.abs(vertices).max() > MAX_ABS_UNITS:
        raise _corrupt(name, f"has a vertex outside ±{MAX_ABS_UNITS * UU_PER_UNIT:.0f} uu")
    return Mesh(triangles.astype(np.int32), vertices * UU_PER_UNIT)


def _corrupt(name: str, why: str) -> UserError:
    return UserError(
        f"collision mesh {name} is corrupt: {why}", "run `pvp-ml game setup rocket_league` or set meshes: generated"
    )


def simulator_hash(mesh: Mesh) -> int:
    """The 32-bit hash that RocketSim compares with its table of the game's own meshes."""
    t, v = len(mesh.triangles), len(mesh.vertices)
    units = (mesh.vertices / UU_PER_UNIT).astype(np.float32)
    values = units[mesh.triangles].reshape(-1).astype(np.int32).astype(np.uint32)
    for _ in range(2):
        values = (values >> np.uint32(16) ^ values) * np.uint32(0x45D9F3B)
    values = values >> np.uint32(16) ^ values
    state = (v + t * v) & 0xFFFFFFFF
    for value in values.tolist():
        state ^= (value + 0x9E3779B9 + (state << 6) + (state >> 2)) & 0xFFFFFFFF
        state &= 0xFFFFFFFF
    return state


def read_folder(folder: Path) -> dict[str, bytes]:
    """The validated soccar files of a collision mesh folder, by name."""
    soccar = folder / "soccar"
    paths = sorted(soccar.glob("*.cmf")) if soccar.is_dir() else []
    if not paths:
        raise UserError(
            f"no collision meshes in {folder} (looked for soccar/*.cmf)",
            "run `pvp-ml game setup rocket_league` or set meshes: generated",
        )
    if len(paths) > MAX_FILES:
        raise UserError(f"{soccar} holds {len(paths)} .cmf files, at most {MAX_FILES} are read")
    limit = HEADER.size + 24 * MAX_COUNT
    for path in paths:
        if path.stat().st_size > limit:
            raise _corrupt(path.name, f"{path.stat().st_size} bytes, at most {limit}")
    return {path.name: path.read_bytes() for path in paths}


def digest_of(files: dict[str, bytes]) -> str:
    """SHA-256 over the contents, whatever the files are called."""
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(data).digest() for data in files.values()))).hexdigest()


def origin_of(files: dict[str, bytes]) -> Origin:
    """Whose triangles these are: all of the game's own, exactly our generator's, or somebody else's."""
    if digest_of(files) == generated_set().digest:
        return "generated"
    hashes = {simulator_hash(unpack(data, name)) for name, data in files.items()}
    return "real" if hashes == REAL_HASHES else "unknown"


@lru_cache(maxsize=1)
def generated_files() -> dict[str, bytes]:
    """Our own arena as .cmf files."""
    return {f"generated_{i}.cmf": pack(mesh) for i, mesh in enumerate(generate())}


@lru_cache(maxsize=1)
def generated_set() -> MeshSet:
    """Our own arena, not yet on disk."""
    return MeshSet("generated", "generated", digest_of(generated_files()), None)


def cache_folder() -> Path:
    """Where meshes are kept between runs."""
    return data_files.cache_folder() / "rocket_league"


def extracted_folder() -> Path:
    """What `pvp-ml game setup rocket_league` fills."""
    return cache_folder() / "collision_meshes"


def installed_folder() -> Path | None:
    """The meshes inside an installed rlgym-rocket-league, found without importing it."""
    try:
        found = importlib.util.find_spec("rlgym")
    except (ImportError, ValueError):
        return None
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = Path(place) / "rocket_league" / "sim" / "collision_meshes"
        if (folder / "soccar").is_dir():
            return folder
    return None


def choose(setting: str) -> MeshSet:
    """The mesh set for a setting: `auto`, `generated`, or a folder."""
    if setting == "generated":
        return generated_set()
    if setting != "auto":
        return load(Path(setting).expanduser(), "setting")
    if named := os.environ.get("RS_COLLISION_MESHES"):
        return load(Path(named).expanduser(), "RS_COLLISION_MESHES")
    if installed := installed_folder():
        return load(installed, "rlgym-rocket-league")
    if (extracted_folder() / "soccar").is_dir():
        return load(extracted_folder(), "setup")
    return generated_set()


def load(folder: Path, source: str) -> MeshSet:
    """Validate a folder and name what it holds."""
    try:
        files = read_folder(folder)
    except OSError as error:
        raise UserError(f"collision meshes in {folder} cannot be read: {error.strerror}") from error
    return _labelled(tuple(sorted(files.items())), source, folder)


@lru_cache(maxsize=8)
def _labelled(files: tuple[tuple[str, bytes], ...], source: str, folder: Path) -> MeshSet:
    contents = dict(files)
    for name, data in contents.items():
        unpack(data, name)
    return MeshSet(origin_of(contents), source, digest_of(contents), folder)


def materialise(meshes: MeshSet) -> Path:
    """The folder to give to the simulator; writes the generated arena on first use."""
    if meshes.folder is not None:
        return meshes.folder
    folder = cache_folder() / f"generated-{meshes.digest[:16]}"
    if not _holds(folder, meshes.digest):
        write_folder(folder, generated_files())
    return folder


def _holds(folder: Path, digest: str) -> bool:
    try:
        return digest_of(read_folder(folder)) == digest
    except (UserError, OSError):
        return False


def write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write soccar/*.cmf so that a reader never sees half a file; several processes may do it at once."""
    soccar = folder / "soccar"
    try:
        soccar.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            with tempfile.NamedTemporaryFile(dir=soccar, suffix=".part", delete=False) as part:
                part.write(data)
            os.replace(part.name, soccar / name)
    except OSError as error:
        raise UserError(
            f"cannot write collision meshes to {folder}: {error.strerror}", "set PVP_ML_CACHE to a writable folder"
        ) from error


def triangles_uu(meshes: MeshSet) -> npt.NDArray[np.float32]:
    """All triangles [T,3,3] in uu, for viewers."""
    files = generated_files() if meshes.folder is None else read_folder(meshes.folder)
    parts = [unpack(data, name) for name, data in files.items()]
    return np.concatenate([m.vertices[m.triangles] for m in parts]).astype(np.float32)
