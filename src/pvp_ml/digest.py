"""Descriptions as JSON and as digests, so that two programs can compare instead of trusting each other. Stdlib only."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

LINKS = "links"


def jsonable(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, everything else as it is.

    A head without links is written as it was before there were links.
    """
    if hasattr(value, "__dataclass_fields__"):
        parts = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: jsonable(part) for name, part in parts if part or name != LINKS}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return value


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON, free of prose: `doc` texts may change without breaking a bundle.

    A head without links has the digest that it had before there were links.
    """
    text = json.dumps(_without_docs(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_docs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_docs(item) for key, item in value.items() if key != "doc" and (item or key != LINKS)}
    if isinstance(value, list | tuple):
        return [_without_docs(item) for item in value]
    return value
