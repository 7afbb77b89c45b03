"""What the player in a seat sees, in words: its observation. Nothing that is hidden from it can be in there."""

from __future__ import annotations

from typing import Any

from pvp_ml.match import FloatArray
from pvp_ml.spec import Block, GameSpec

MOST = 40
"""Facts of one block; more would be a wall of numbers."""


def seen(spec: GameSpec, obs: FloatArray) -> dict[str, Any]:
    """Block → what it says: flags that are set by name, numbers with theirs; obs [D]."""
    facts, start = {}, 0
    for block in spec.blocks:
        facts[block.name] = _block(block, obs[start : start + block.width])
        start += block.width
    return facts


def _block(block: Block, values: FloatArray) -> Any:
    rows = values.reshape(block.count, len(block.features))
    if block.count == 1:
        return _facts(block, rows[0])
    if len(block.features) == 1 and block.features[0].kind == "flag":
        return f"{int(rows.sum())} of {block.count}"
    return [_facts(block, row) for row in rows[:MOST]]


def _facts(block: Block, row: FloatArray) -> Any:
    """Set flags as a list, everything else by name."""
    flags = [f.name for f, value in zip(block.features, row.tolist(), strict=True) if f.kind == "flag" and value]
    rest = {f.name: round(value, 3) for f, value in zip(block.features, row.tolist(), strict=True) if f.kind != "flag"}
    if rest:
        return dict(list({**rest, **dict.fromkeys(flags, True)}.items())[:MOST])
    return flags[:MOST] or "none"
