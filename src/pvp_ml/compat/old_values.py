"""What comes out of an old model file's pickle: inert values, and the limits on how far they may reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pvp_ml.errors import UserError

MAX_NESTING = 64
MAX_WRITTEN_OUT = 8 << 20


class LegacyError(UserError):
    """An old model file that is not what it must be."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that the pickle mentions: a builder, a storage type or a class of the original."""

    kind: str  # builder's name, "storage" or "record"
    name: str
    code: str = ""  # dtype of a storage


@dataclass(eq=False, slots=True)
class Record:
    """An object of the original: its class by name and its state, inert."""

    name: str
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StorageRef:
    """A storage in the zip."""

    key: str
    code: str
    count: int


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A view into a storage, in elements."""

    storage: StorageRef
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


def _parts(value: Any) -> list[Any]:
    """What a value holds; keys of dicts are plain and count with their values."""
    if isinstance(value, Record):
        return [value.state]
    if type(value) is dict:
        return [*value, *value.values()]
    return list(value) if type(value) in (list, tuple) else []


def check_extent(top: Any) -> None:
    """Refuse a value that contains itself, nests deeper than MAX_NESTING or is too long when written out.

    Walks without recursion and visits a shared part once, so it takes as long as the pickle had opcodes.
    """
    extents: dict[int, tuple[int, int]] = {}  # id → (depth, units when written out)
    open_now: set[int] = set()
    todo = [(top, False)]
    while todo:
        value, is_done = todo.pop()
        if not is_done:
            if id(value) in extents:
                continue
            if id(value) in open_now:
                raise LegacyError("data.pkl holds a value that contains itself")
            open_now.add(id(value))
            todo.append((value, True))
            todo += [(part, False) for part in _parts(value) if _is_container(part)]
            continue
        depth, units = 0, 1
        for part in _parts(value):
            below, more = extents[id(part)] if _is_container(part) else (0, _units(part))
            depth, units = max(depth, below + 1), units + more
        if depth > MAX_NESTING or units > MAX_WRITTEN_OUT:
            what = f"nested deeper than {MAX_NESTING}" if depth > MAX_NESTING else f"over {MAX_WRITTEN_OUT} values"
            raise LegacyError(f"data.pkl holds a value that is {what}")
        open_now.discard(id(value))
        extents[id(value)] = depth, units


def _is_container(value: Any) -> bool:
    return isinstance(value, Record) or type(value) in (dict, list, tuple)


def _units(value: Any) -> int:
    return 1 + len(value) if type(value) in (str, bytes) else 1


def show(value: Any) -> str:
    """A value in an error: numbers and the beginning of texts as they are, anything else by its type."""
    if type(value) is str:
        return repr(value[:40])
    return str(value) if value is None or type(value) in (bool, int, float) else f"a {type(value).__name__}"
