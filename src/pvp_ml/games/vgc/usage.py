"""Usage statistics as Smogon publishes them ("moveset" files, plain or gzipped): what people bring, as numbers."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from pvp_ml.errors import UserError

MAX_BYTES = 64 << 20
Shares = dict[str, float]
"""Name → share, 0 to 1."""

_SECTIONS = {
    "Abilities": "abilities", "Items": "items", "Spreads": "spreads", "Moves": "moves", "Tera Types": "teras",
    "Teammates": "mates",
}  # fmt: skip
_ENTRY = re.compile(r"^(.+?)\s+([0-9.]+)%$")
_COUNT = re.compile(r"^Raw count: (\d+)$")


def read_usage(path: Path) -> dict[str, dict[str, Shares | int]]:
    """Species → `count` (teams that had it) and shares of abilities, items, spreads, moves, teras and mates."""
    found: dict[str, dict[str, Shares | int]] = {}
    for chunk in _chunks(_text(path)):
        name, *rest = chunk
        facts: dict[str, Shares | int] = {}
        shares: Shares | None = None
        for line in rest:
            if line in _SECTIONS:
                shares = facts[_SECTIONS[line]] = {}
            elif count := _COUNT.match(line):
                facts["count"] = int(count[1])
            elif line == "Checks and Counters":
                shares = None
            elif shares is not None and (entry := _ENTRY.match(line)) and entry[1] not in ("Other", "Nothing"):
                shares[entry[1]] = float(entry[2]) / 100.0
        if "count" in facts and "moves" in facts:
            found[name] = facts
    if not found:
        raise UserError(f"'{path}' holds no usage statistics", "give a file of smogon.com/stats, folder moveset")
    return found


def _chunks(text: str) -> list[list[str]]:
    """The lines about each species, its name first. A box that follows a box begins the next species."""
    chunks: list[list[str]] = []
    border = False
    for line in text.splitlines():
        words = line.strip().strip("|").strip()
        if not words.strip("+-"):
            if border:
                chunks.append([])
            border = True
            continue
        if not chunks:
            chunks.append([])
        border = False
        chunks[-1].append(words)
    return [chunk for chunk in chunks if chunk]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if data[:2] == b"\x1f\x8b":
            unpacker = zlib.decompressobj(wbits=31)
            data = unpacker.decompress(data, MAX_BYTES + 1)
    except (OSError, zlib.error) as error:
        raise UserError(f"cannot read '{path}': {error}", "give a text file, plain or gzipped") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"'{path}' is larger than {MAX_BYTES} bytes")
    return data.decode("utf-8", "replace")
