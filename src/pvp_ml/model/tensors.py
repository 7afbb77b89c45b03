"""Named arrays in the safetensors format, read only when they are exactly the arrays that were expected."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.documents.strict_json import parse_json
from pvp_ml.errors import UserError

MAX_HEADER_BYTES = 1 << 20
MAX_TENSORS = 4096
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}

Array = npt.NDArray[Any]
Layout = Mapping[str, tuple[tuple[int, ...], str]]
"""Name → (shape, dtype code)."""


class TensorError(UserError):
    """A tensor file that is not what its owner says."""


def write_tensors(tensors: Mapping[str, Array]) -> bytes:
    """The safetensors file of these arrays: same arrays, same bytes."""
    from safetensors.numpy import save

    data: bytes = save({name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)})
    return data


def layout_of(tensors: Mapping[str, Array]) -> dict[str, tuple[tuple[int, ...], str]]:
    """The layout that describes these arrays."""
    codes = {dtype: code for code, dtype in _DTYPES.items()}
    return {name: (tensor.shape, codes[tensor.dtype.newbyteorder("<")]) for name, tensor in tensors.items()}


def data_bytes(layout: Layout) -> int:
    """Bytes of the arrays themselves; exact, however absurd the shapes."""
    total = 0
    for shape, code in layout.values():
        count = _DTYPES[code].itemsize
        for side in shape:
            count *= side
        total += count
    return total


def max_file_bytes(layout: Layout) -> int:
    """No honest file of that layout is longer."""
    return 8 + MAX_HEADER_BYTES + data_bytes(layout)


def check_tensors(pieces: Iterable[bytes], layout: Layout, what: str) -> None:
    """Read through a file without keeping it; raises as `read_tensors` does. For files too big to load on trust."""
    rest = _Rest(pieces)
    spans = _read_header(rest, layout, what)
    dtype = _DTYPES[next(iter(layout.values()))[1]]
    if any(_DTYPES[code] != dtype for _, code in layout.values()):
        raise TensorError(f"{what} mixes number types, which a file of this size may not")
    for piece in rest.blocks(sum(stop - start for start, stop in spans.values()), what):
        _check_finite(np.frombuffer(piece, dtype), what)


def read_tensors(pieces: Iterable[bytes], layout: Layout, what: str) -> dict[str, Array]:
    """The arrays (read-only) of a safetensors file that has exactly that layout and only finite numbers."""
    rest = _Rest(pieces)
    spans = _read_header(rest, layout, what)
    data = b"".join(rest.blocks(sum(stop - start for start, stop in spans.values()), what))
    tensors: dict[str, Array] = {}
    for name, (shape, code) in layout.items():
        start, stop = spans[name]
        tensor = np.frombuffer(data[start:stop], _DTYPES[code]).reshape(shape)
        if code.startswith("F"):
            _check_finite(tensor, f"{what}, tensor '{name}'")
        tensors[name] = tensor
    return tensors


class _Rest:
    """What is left of a stream of pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def take(self, count: int, what: str) -> bytes:
        while len(self._left) < count:
            piece = next(self._pieces, b"")
            if not piece:
                raise TensorError(f"{what} is cut short")
            self._left += piece
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    def blocks(self, total: int, what: str) -> Iterator[bytes]:
        """Exactly `total` bytes in blocks that are multiples of 8 bytes (the last may not be), then the end."""
        while total:
            block = self.take(min(total, 1 << 20), what)
            total -= len(block)
            yield block
        if self._left or next(self._pieces, b""):
            raise TensorError(f"{what} has bytes after its last tensor")


def _read_header(rest: _Rest, layout: Layout, what: str) -> dict[str, tuple[int, int]]:
    """Name → (first byte, end) inside the data part; the header must describe `layout` and nothing else."""
    (length,) = struct.unpack("<Q", rest.take(8, what))
    if length > MAX_HEADER_BYTES:
        raise TensorError(f"{what} has a header of {length} bytes, the limit is {MAX_HEADER_BYTES}")
    header = parse_json(rest.take(length, what), f"the header of {what}", MAX_HEADER_BYTES)
    header.pop("__metadata__", None)
    if len(header) > MAX_TENSORS:
        raise TensorError(f"{what} holds {len(header)} tensors, the limit is {MAX_TENSORS}")
    if missing := sorted(set(layout) - set(header)):
        raise TensorError(f"{what} lacks tensor '{missing[0]}'", "its network description says that it has one")
    if extra := sorted(set(header) - set(layout)):
        raise TensorError(f"{what} has a tensor {extra[0][:80]!r} that its network does not have")
    spans = {name: _span(header[name], *layout[name], f"{what}, tensor '{name}'") for name in layout}
    at = 0
    for start, stop in sorted(spans.values()):
        if start != at:
            raise TensorError(f"{what}: its tensors overlap or leave gaps at byte {at}")
        at = stop
    return spans


def _span(facts: Any, shape: tuple[int, ...], code: str, what: str) -> tuple[int, int]:
    if not isinstance(facts, dict) or set(facts) != {"dtype", "shape", "data_offsets"}:
        raise TensorError(f"{what} is not described by dtype, shape and data_offsets")
    if facts["dtype"] != code or facts["shape"] != list(shape) or any(type(n) is not int for n in facts["shape"]):
        raise TensorError(f"{what} is {str(facts['dtype'])[:9]}{str(facts['shape'])[:60]}, not {code}{list(shape)}")
    offsets = facts["data_offsets"]
    if not isinstance(offsets, list) or len(offsets) != 2 or any(type(n) is not int for n in offsets):
        raise TensorError(f"{what} has no two data_offsets")
    start, stop = offsets
    if start < 0 or stop - start != data_bytes({"": (shape, code)}):
        raise TensorError(f"{what} has data_offsets {start}, {stop} that do not fit its shape")
    return start, stop


def _check_finite(numbers: Array, what: str) -> None:
    if not np.isfinite(numbers).all():
        raise TensorError(f"{what} holds a number that is not finite")
