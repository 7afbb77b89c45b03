"""What a request asks and what it is answered, free of the web framework: only `server` knows that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the parts of its path by name, its query, its body, and the key that allows control."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """`name`: the browser saves it as a file of that name instead of showing it."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Door:
    """A path that can be asked. `body_bytes` is the longest body it takes; `one_at_a_time` for what computes long."""

    path: str
    answer: Callable[[Asked], Reply]
    method: str = "GET"
    body_bytes: int = 0
    one_at_a_time: bool = False
    status: int = 400  # when the answer is UserError


def as_json(facts: Any) -> Reply:
    """Facts as JSON."""
    return Reply(_encoder.encode(facts))


def refused(status: int, words: str) -> Reply:
    """No, and why."""
    return Reply(_encoder.encode({"error": words}), status)
