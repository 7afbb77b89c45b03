"""Where named data lives (presets, contracts and models), the folders of the user, and how a file is written.

Looked up in this order: the path as given, the working directory, the user's folder, the package. Stdlib only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

Kind = Literal["presets", "contracts", "models"]

_LOCAL: dict[Kind, tuple[str, ...]] = {
    "presets": ("config", "presets"),
    "contracts": ("contracts",),
    "models": ("models",),
}
"""Folder names that a working directory may use; a name may also begin with one (`config/nh/core.yml`)."""

PACKAGE = Path(__file__).parent
RUNS = "experiments"
"""Where runs are kept unless `run.directory` says otherwise."""


def user_folder() -> Path:
    """The user's own data: $PVP_ML_HOME, else `.pvp-ml` in the home directory."""
    chosen = os.environ.get("PVP_ML_HOME")
    return Path(chosen) if chosen else Path.home() / ".pvp-ml"


def cache_folder() -> Path:
    """What can be made again, compiled code and installed simulators: $PVP_ML_CACHE, else the platform's habit."""
    if chosen := os.environ.get("PVP_ML_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "pvp-ml" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pvp-ml"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pvp-ml"


def folders(kind: Kind, working_directory: Path) -> list[Path]:
    """Existing folders that hold data of this kind, first match first."""
    local = [working_directory / name for name in _LOCAL[kind]]
    return [folder for folder in (*local, user_folder() / kind, PACKAGE / kind) if folder.is_dir()]


def find(kind: Kind, name: str, suffixes: tuple[str, ...], working_directory: Path) -> Path | None:
    """The file of that name, with or without one of the suffixes; None when there is none.

    A name that climbs out of a folder (`../x`) is only ever taken as a path from the working directory.
    """
    given = working_directory / name
    for candidate in (given, *(given.with_name(given.name + suffix) for suffix in suffixes if given.name)):
        if candidate.is_file():
            return candidate
    relative = _inside(kind, name)
    if relative is None:
        return None
    for folder in folders(kind, working_directory):
        for ending in ("", *suffixes):
            candidate = folder / f"{relative}{ending}"
            if candidate.is_file():
                return candidate
    return None


def listed(kind: Kind, suffixes: tuple[str, ...], working_directory: Path) -> Iterator[tuple[str, Path]]:
    """(name, path) of everything of this kind, names unique, in lookup order."""
    seen: set[str] = set()
    for folder in folders(kind, working_directory):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).with_suffix("").as_posix()
            if path.suffix in suffixes and name not in seen and path.is_file():
                seen.add(name)
                yield name, path


def models(working_directory: Path, runs: str = RUNS) -> Iterator[tuple[str, Path]]:
    """(name, file) of every model: of this folder, the user and the package, then the newest of each run."""
    yield from listed("models", (".zip",), working_directory)
    yield from run_models(working_directory / runs)


def _inside(kind: Kind, name: str) -> PurePosixPath | None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in name:
        return None
    return PurePosixPath(*path.parts[1:]) if path.parts[0] in _LOCAL[kind] and len(path.parts) > 1 else path


def run_models(runs: Path) -> Iterator[tuple[str, Path]]:
    """(run, file) of the newest model of every run in that folder."""
    for path in sorted(runs.glob("*/model.zip")):
        yield path.parent.name, path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file at once: readers see the old one or the new one. Raises OSError, and then nothing has changed."""
    aside = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
