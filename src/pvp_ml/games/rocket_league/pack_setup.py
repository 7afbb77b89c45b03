"""`pvp-ml game setup rocket_league --packs`: training packs of the community, converted and installed nowhere.

rlgym-tools (Apache-2.0) ships 297 packs with 5,480 shots as JSON lines. Its source archive is downloaded with pip,
checked against a pinned SHA-256, and only that file is read. Shots outside the standard field are left out and named.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena.mesh_setup import MAX_MEMBERS, Pinned, download
from pvp_ml.games.rocket_league.packs import KINDS, packs_folder, parse_pack

TOOLS = Pinned(
    "rlgym-tools",
    "2.6.5",
    "e402f05e2c2329d1938f5cd87377f7f3cad82e7c12cdb69dec0619d966b2790d",
    "write packs of your own: docs/games/rocket_league.md",
    max_bytes=16_000_000,
)
MEMBER = "training_pack_states.jsonl.gz"
MAX_TEXT_BYTES = 16_000_000
MAX_PACKS = 2_000
BOOST = 100.0  # a shot says nothing about it; the game's own packs give a full tank


@dataclass(frozen=True, slots=True)
class Converted:
    """Files by name, the number of shots in them, and a line for every shot that does not fit the field."""

    files: dict[str, bytes]
    shots: int
    outside: tuple[str, ...]


def setup(progress: Callable[[str], None]) -> None:
    """Fill the folder that `packs: [setup]` means."""
    folder = packs_folder()
    if folder.is_dir() and any(folder.glob("*.json")):
        progress(f"{len(list(folder.glob('*.json')))} training packs are already in {folder}")
        return
    progress(f"downloading {TOOLS.package} {TOOLS.release} (not installing it)")
    converted = convert(member(download(TOOLS)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in converted.files.items():
        (folder / name).write_bytes(data)
    for line in converted.outside:
        progress(f"left out: {line}")
    progress(f"{len(converted.files)} training packs with {converted.shots} shots written to {folder}")


def member(archive: bytes) -> str:
    """The text of the packs' file inside the archive; nothing is unpacked to disk."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
            for count, entry in enumerate(tar):
                if count >= MAX_MEMBERS:
                    break
                if entry.isfile() and PurePosixPath(entry.name).name == MEMBER:
                    content = tar.extractfile(entry)
                    assert content is not None
                    with gzip.open(content) as text:
                        data = text.read(MAX_TEXT_BYTES + 1)
                    if len(data) > MAX_TEXT_BYTES:
                        raise UserError(f"{MEMBER} has more than {MAX_TEXT_BYTES} bytes")
                    return data.decode("utf-8")
    except (tarfile.TarError, zlib.error, EOFError, OSError, UnicodeDecodeError) as error:
        raise UserError(f"the archive of {TOOLS.package} cannot be read: {str(error)[:100]}") from error
    raise UserError(f"the archive of {TOOLS.package} holds no {MEMBER}")


def convert(text: str) -> Converted:
    """JSON lines of the tools, one pack each, as packs of format 1."""
    files: dict[str, bytes] = {}
    outside: list[str] = []
    total = 0
    for number, line in enumerate(text.splitlines()):
        if number >= MAX_PACKS:
            raise UserError(f"{MEMBER} has more than {MAX_PACKS} packs")
        try:
            pack = json.loads(line)
            title, kind = str(pack["metadata"]["title"]), str(pack["metadata"].get("type", "")).lower()
            shots = [_shot(shot) for shot in pack["shots"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(f"{MEMBER}: line {number + 1} is no pack: {error!r}"[:200]) from error
        kept = []
        for i, shot in enumerate(shots):
            if (reason := _misfit(shot)) is None:
                kept.append(shot)
            else:
                outside.append(f"{title}, shot {i + 1}: {reason}")
        if kept:
            data = {"format": 1, "name": title[:80], "kind": kind if kind in KINDS else KINDS[0], "shots": kept}
            files[_file_name(number, title)] = json.dumps(data).encode()
            total += len(kept)
    return Converted(files, total, tuple(outside))


def _shot(shot: dict[str, Any]) -> dict[str, Any]:
    ball, car = shot["ball"], shot["car"]
    return {
        "seconds": float(shot["time_limit"]),
        "ball": {"position": ball["position"], "velocity": ball["linear_velocity"]},
        "cars": [
            {
                "team": "blue",
                "position": car["position"],
                "angles": [math.remainder(angle, math.tau) for angle in car["euler_angles"]],
                "velocity": car["linear_velocity"],
                "boost": BOOST,
            }
        ],
    }


def _misfit(shot: dict[str, Any]) -> str | None:
    """Why the reader of packs would refuse this shot; None when it would not."""
    try:
        parse_pack(json.dumps({"format": 1, "shots": [shot]}).encode(), "shot")
    except UserError as error:
        return error.message.removeprefix("shot: shots[0].")
    return None


def _file_name(number: int, title: str) -> str:
    """A plain name: never a path."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
    return f"{number:03d}-{words or 'pack'}.json"
