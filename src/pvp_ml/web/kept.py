"""Replays that were kept: which there are, and one of them by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.errors import UserError

SHOWN = 50
SUFFIX = ".replay"
MAX_BYTES = 4 << 20
_NAME = re.compile(r"(?P<game>.+?)-(?P<day>\d{8})-(?P<time>\d{6})-.*" + re.escape(SUFFIX))
"""What `Arena` calls them: the game, the moment, who played."""


def replays(folder: Path | None, game: str = "", limit: int = SHOWN) -> list[dict[str, Any]]:
    """Name, game, time (Unix) and size of the newest; of one game where it is named. Links are left out."""
    place = folder / "replays" if folder is not None else None
    if place is None or not place.is_dir():
        return []
    found = []
    for path in place.glob(f"*{SUFFIX}"):
        name = _NAME.fullmatch(path.name)
        own = name["game"] if name else path.name.partition("-")[0]
        try:
            facts = path.lstat()
        except OSError:
            continue  # gone meanwhile
        if (not game or own == game) and path.is_file() and not path.is_symlink():
            found.append({"name": path.name, "game": own, "saved": facts.st_mtime, "bytes": facts.st_size})
    return sorted(found, key=lambda replay: -float(replay["saved"]))[:limit]


def saved(folder: Path | None, game: str, name: str) -> bytes:
    """The file of a kept match, by a name from `replays`."""
    facts = next((r for r in replays(folder, game) if r["name"] == name), None)
    if facts is None or folder is None:
        raise UserError("there is no such replay", "choose one from the list")
    if facts["bytes"] > MAX_BYTES:
        raise UserError(f"a replay of {facts['bytes']} bytes", f"at most {MAX_BYTES}")
    try:
        return read_plain(folder / "replays" / name, MAX_BYTES)
    except OSError as error:
        raise UserError("there is no such replay", "choose one from the list") from error
