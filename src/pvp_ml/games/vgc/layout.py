"""Blocks of the VGC observation, read from the schema the JavaScript encoder writes by (js/observe/layout.json)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pvp_ml.spec import Block, Feature

SCRIPTS = Path(__file__).parent / "js"
RESERVED_IDS = 2
"""Id 0 is "not known to this seat", id 1 is "known to be nothing"; entries of a vocabulary count from 2."""


@cache
def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((SCRIPTS / "observe" / name).read_text("utf-8"))
    return data


def version() -> int:
    """Changes whenever a block or a feature changes its place or its meaning."""
    return int(_read("layout.json")["version"])


@cache
def vocabulary(kind: str) -> tuple[str, ...]:
    """Entries of 'species', 'moves', 'items', 'abilities', 'types', 'weather', 'terrain' or 'format', in id order."""
    known = {**_read("vocab.json"), **_read("layout.json")["enums"]}
    return tuple(known[kind])


def room(kind: str) -> int:
    """Ids that a network has places for: more than there are today, so that a new regulation breaks no old model."""
    return int(_read("layout.json")["reserved"][kind])


def name_of(kind: str, number: int) -> str | None:
    """The entry with that id; '' for "nothing", None for "unknown"."""
    if number < RESERVED_IDS:
        return "" if number else None
    return vocabulary(kind)[number - RESERVED_IDS]


def _feature(text: str, constant: bool) -> Feature:
    kind, name = text.split(" ")
    if kind.startswith("id:"):
        return Feature(name, "id", room(kind[3:]), constant=constant)
    return Feature(name, "flag" if kind == "flag" else "real", constant=constant)


def _block(data: dict[str, Any]) -> Block:
    texts = data.get("features") or _read("layout.json")["groups"][data["group"]]
    constants = {"format", "level"}
    return Block(data["name"], data["count"], tuple(_feature(t, t.split(" ")[1] in constants) for t in texts))


@cache
def blocks() -> tuple[Block, ...]:
    """What a seat sees: global, slot ×2, side ×2, pokemon ×12 (6 own, 6 foes), attacks ×8, threats ×8."""
    return tuple(_block(data) for data in _read("layout.json")["blocks"])


@cache
def privileged() -> tuple[Block, ...]:
    """What only a critic may see: the foe's six as their owner knows them."""
    return tuple(_block(data) for data in _read("layout.json")["privileged"])


@cache
def column(block: str, row: int, feature: str) -> int:
    """Index in the flat observation of one feature of one row of a block."""
    at = 0
    for candidate in blocks():
        if candidate.name == block:
            names = [f.name for f in candidate.features]
            return at + row * len(names) + names.index(feature)
        at += candidate.width
    raise KeyError(block)
