"""The bytes between Python and a worker: frames, and records that map as arrays."""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any, BinaryIO

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.spec import GameSpec

HEADER = struct.Struct("<II")  # payload bytes, kind
MAX_FRAME = 64 << 20
ACTION = np.dtype([("slot", "<i4"), ("picks", "<i4", (2, 3))])


class ToWorker(IntEnum):
    """Kinds of frames to a worker."""

    START = 1
    ACTIONS = 2
    QUESTION = 3
    TEAMS = 4


class FromWorker(IntEnum):
    """Kinds of frames from a worker."""

    ROWS = 1
    NEWS = 2


def frame(kind: IntEnum, payload: bytes) -> bytes:
    """One frame, ready to write."""
    return HEADER.pack(len(payload), kind) + payload


def json_frame(kind: IntEnum, value: Any) -> bytes:
    """A frame with a JSON payload."""
    return frame(kind, json.dumps(value).encode())


def read_frame(stream: BinaryIO) -> tuple[int, bytearray] | None:
    """The next frame of a blocking stream, None at its end. A length beyond the limit counts as the end."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, kind = HEADER.unpack(head)
    if length > MAX_FRAME:
        return None
    payload = bytearray(length)
    view, got = memoryview(payload), 0
    while got < length:
        count = stream.readinto(view[got:])  # type: ignore[attr-defined]
        if not count:
            return None
        got += count
    return kind, payload


def record_type(spec: GameSpec) -> np.dtype[np.void]:
    """The dtype of one row; js/record.js writes the same layout."""
    fields: list[tuple[str, str, tuple[int, ...], int]] = [
        ("slot", "<i4", (), 0), ("fault", "<i4", (), 4), ("serial", "<f8", (), 8), ("steps", "<i4", (), 16),
        ("turn", "<i4", (), 20), ("acting", "?", (2,), 24), ("ended", "?", (), 26), ("truncated", "?", (), 27),
        ("result", "i1", (2,), 28),
    ]  # fmt: skip
    at = 32
    for name, kind, width in (
        ("signals", "<f4", len(spec.signals)),
        ("reward", "<f4", len(spec.rewards)),
        ("advice", "<i4", len(spec.heads)),
        ("obs", "<f4", spec.obs_size),
        ("privileged", "<f4", spec.privileged_size),
        ("mask", "?", spec.mask_size),
    ):
        fields.append((name, kind, (2, width), at))
        at += -(-2 * width * np.dtype(kind).itemsize // 8) * 8
    return np.dtype(
        {
            "names": [name for name, _, _, _ in fields],
            "formats": [(kind, shape) for _, kind, shape, _ in fields],
            "offsets": [offset for _, _, _, offset in fields],
            "itemsize": at,
        }
    )


def check_hello(hello: dict[str, Any], spec: GameSpec, record: np.dtype[np.void]) -> None:
    """Refuse a worker whose scripts describe other rows than this program expects."""
    wanted = {
        "record": record.itemsize,
        "obs": spec.obs_size,
        "privileged": spec.privileged_size,
        "mask": spec.mask_size,
        "signals": [signal.name for signal in spec.signals],
        "rewards": [term.name for term in spec.rewards],
    }
    for key, value in wanted.items():
        if hello.get(key) != value:
            raise UserError(f"vgc worker: '{key}' is {hello.get(key)}, expected {value}", "reinstall pvp-ml")
