"""JSON from strangers: one meaning per text, small, shallow, finite, and nothing that could steer a terminal."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from pvp_ml.errors import UserError

MAX_DEPTH = 16
MAX_ITEMS = 4096
MAX_TEXT = 4096


class JsonError(UserError):
    """A text that is not acceptable JSON."""


def parse_json(data: bytes, what: str, max_bytes: int = 1 << 20) -> dict[str, Any]:
    """The JSON object in `data`; refuses duplicate keys, NaN, control characters, great depth and long lists."""
    if len(data) > max_bytes:
        raise JsonError(f"{what} has {len(data)} bytes, the limit is {max_bytes}")
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise JsonError(f"{what} is nested deeper than {MAX_DEPTH}") from error
    except ValueError as error:  # bad UTF-8, bad JSON, an integer of thousands of digits
        raise JsonError(f"{what} is not JSON: {str(error)[:120]}") from error
    if not isinstance(value, dict):
        raise JsonError(f"{what} is not a JSON object")
    _check(value, what, 0)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _check(value: Any, what: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise JsonError(f"{what} is nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        check_text(value, what, MAX_TEXT)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise JsonError(f"{what} holds a number that is not finite")
    elif isinstance(value, dict | list):
        if len(value) > MAX_ITEMS:
            raise JsonError(f"{what} holds a list or object of {len(value)} items, the limit is {MAX_ITEMS}")
        if isinstance(value, dict):
            for key in value:
                check_text(key, what, MAX_TEXT)
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, what, depth + 1)


def check_text(text: str, what: str, limit: int) -> None:
    """Refuse text that is too long or holds control characters or half a surrogate pair; tab and line feed may be."""
    if len(text) > limit:
        raise JsonError(f"{what} holds a text of {len(text)} characters, the limit is {limit}")
    if any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in text):
        raise JsonError(f"{what} holds a control character")
