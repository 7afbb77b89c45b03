"""A zip file that holds exactly the files we name and nothing else: read without extracting, without trust.

Stricter than the zip format on purpose. Members lie one after the other from the first byte to the directory, so there
is no room for overlaps, hidden or trailing data; directory and member headers must agree; no extra fields, comments,
encryption, links or folders. Sizes are checked as declared and again as counted while inflating.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from pvp_ml.errors import UserError

MAX_TOTAL_BYTES = 256 << 20
MAX_DEFLATED_BYTES = 64 << 20
MAX_RATIO = 20
CHUNK_BYTES = 1 << 20

_STORED, _DEFLATED = 0, 8
_END = struct.Struct("<4s4H2LH")
_DIRECTORY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ALLOWED_FLAGS = 0x0806  # deflate level hints, UTF-8 name
_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArchiveError(UserError):
    """A zip file that is not one of ours."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One member: where its packed bytes lie and what must come out of them."""

    name: str
    method: int
    packed: int  # bytes in the file
    size: int  # bytes after inflating
    crc: int
    header: int  # offset of its local header
    flags: int

    @property
    def start(self) -> int:
        """Offset of the packed bytes."""
        return self.header + _LOCAL.size + len(self.name)


def read_directory(file: BinaryIO, allowed: frozenset[str]) -> dict[str, Entry]:
    """Name → entry of an archive whose members are all among `allowed`."""
    length = file.seek(0, io.SEEK_END)
    if length > MAX_TOTAL_BYTES:
        raise ArchiveError(f"the file has {length} bytes, the limit is {MAX_TOTAL_BYTES}")
    if length < _END.size:
        raise ArchiveError(f"not a zip file: only {length} bytes")
    file.seek(length - _END.size)
    mark, disk, first_disk, here, count, size, offset, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\x05\x06" or comment:
        raise ArchiveError("not a zip file, or one with bytes after its end")
    if disk or first_disk or here != count or count > len(allowed):
        raise ArchiveError(f"the zip lists {count} files, the limit is {len(allowed)}")
    if offset + size + _END.size != length or size > count * (_DIRECTORY.size + 64):
        raise ArchiveError("the zip's directory is not where, or not as long as, it must be")
    file.seek(offset)
    entries = _parse_directory(file.read(size), count, allowed)
    _check_layout(file, entries, offset)
    _check_sizes(entries)
    return {entry.name: entry for entry in entries}


def _parse_directory(data: bytes, count: int, allowed: frozenset[str]) -> list[Entry]:
    entries: list[Entry] = []
    at = 0
    for _ in range(count):
        if at + _DIRECTORY.size > len(data):
            raise ArchiveError("the zip's directory is cut short")
        mark, made, _, flags, method, _, _, crc, packed, size, name_length, extra, comment, disk, _, mode, header = (
            _DIRECTORY.unpack_from(data, at)
        )
        if mark != b"PK\x01\x02":
            raise ArchiveError("the zip's directory is damaged")
        at += _DIRECTORY.size
        raw = data[at : at + name_length]
        name = raw.decode("ascii", "replace")
        if name not in allowed or len(raw) < name_length:
            raise ArchiveError(f"the zip holds {name[:80]!r}", f"only these may be in it: {', '.join(sorted(allowed))}")
        if any(entry.name == name for entry in entries):
            raise ArchiveError(f"the zip holds '{name}' twice")
        kind = stat.S_IFMT(mode >> 16) if made >> 8 == 3 else 0
        if extra or comment or disk or flags & ~_ALLOWED_FLAGS or kind not in (0, stat.S_IFREG) or mode & 0x10:
            raise ArchiveError(f"'{name}' is not a plain file", "write bundles with `pvp-ml model`, or zip with -X")
        if method not in (_STORED, _DEFLATED) or (method == _STORED and packed != size):
            raise ArchiveError(f"'{name}' is packed by method {method}", "only stored and deflated files are read")
        entries.append(Entry(name, method, packed, size, crc, header, flags))
        at += name_length
    if at != len(data):
        raise ArchiveError("the zip's directory has bytes left over")
    return entries


def _check_layout(file: BinaryIO, entries: list[Entry], end: int) -> None:
    """Members must follow each other without gap, and repeat in front of their data what the directory says."""
    at = 0
    for entry in sorted(entries, key=lambda e: e.header):
        if entry.header != at:
            raise ArchiveError(f"'{entry.name}' starts at byte {entry.header}, not {at}: overlap or hidden data")
        file.seek(at)
        data = file.read(_LOCAL.size + len(entry.name))
        if len(data) < _LOCAL.size + len(entry.name):
            raise ArchiveError(f"'{entry.name}' lies outside the file")
        mark, _, flags, method, _, _, crc, packed, size, name_length, extra = _LOCAL.unpack_from(data)
        local = (mark, flags, method, crc, packed, size, name_length, extra, data[_LOCAL.size :])
        name = entry.name.encode("ascii")
        if local != (b"PK\x03\x04", entry.flags, entry.method, entry.crc, entry.packed, entry.size, len(name), 0, name):
            raise ArchiveError(f"'{entry.name}': its header contradicts the directory")
        at = entry.start + entry.packed
    if at != end:
        raise ArchiveError(f"the files end at byte {at}, the directory starts at {end}: hidden data")


def _check_sizes(entries: list[Entry]) -> None:
    total = sum(entry.size for entry in entries)
    if total > MAX_TOTAL_BYTES:
        raise ArchiveError(f"the zip unpacks to {total} bytes, the limit is {MAX_TOTAL_BYTES}")
    for entry in entries:
        if entry.size > MAX_RATIO * max(entry.packed, 1):
            raise ArchiveError(f"'{entry.name}' unpacks {entry.packed} bytes to {entry.size}: over {MAX_RATIO} to 1")
        if entry.method == _DEFLATED and entry.size > MAX_DEFLATED_BYTES:
            raise ArchiveError(
                f"'{entry.name}' inflates to {entry.size} bytes, the limit is {MAX_DEFLATED_BYTES}", "store it unpacked"
            )


def chunks(file: BinaryIO, entry: Entry) -> Iterator[bytes]:
    """The member's bytes in pieces of at most 1 MiB; raises when they are not `size` bytes with that checksum."""
    crc = count = 0
    for piece in _stored(file, entry) if entry.method == _STORED else _inflated(file, entry):
        count += len(piece)
        if count > entry.size:
            raise ArchiveError(f"'{entry.name}' unpacks to more than the declared {entry.size} bytes")
        crc = zlib.crc32(piece, crc)
        yield piece
    if count != entry.size or crc != entry.crc:
        raise ArchiveError(f"'{entry.name}' is damaged: size or checksum differ")


def _stored(file: BinaryIO, entry: Entry) -> Iterator[bytes]:
    for at in range(0, entry.packed, CHUNK_BYTES):
        file.seek(entry.start + at)
        yield file.read(min(CHUNK_BYTES, entry.packed - at))


def _inflated(file: BinaryIO, entry: Entry) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for packed in _stored(file, entry):
            while packed and not inflater.eof:
                if piece := inflater.decompress(packed, CHUNK_BYTES):
                    yield piece
                packed = inflater.unconsumed_tail
        while not inflater.eof and (piece := inflater.decompress(b"", CHUNK_BYTES)):
            yield piece
    except zlib.error as error:
        raise ArchiveError(f"'{entry.name}' is damaged: {error}") from error
    if not inflater.eof or inflater.unused_data:
        raise ArchiveError(f"'{entry.name}' is damaged: its packed bytes do not end where they must")


def read_entry(file: BinaryIO, entry: Entry, max_bytes: int) -> bytes:
    """The whole member, if it declares no more than `max_bytes`."""
    if entry.size > max_bytes:
        raise ArchiveError(f"'{entry.name}' has {entry.size} bytes, the limit is {max_bytes}")
    return b"".join(chunks(file, entry))


def write_archive(files: Mapping[str, bytes]) -> bytes:
    """The archive as bytes, the same for the same files. Texts are deflated unless that breaks the ratio limit."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            packs_well = name.endswith((".json", ".md")) and len(zlib.compress(data)) * (MAX_RATIO - 2) > len(data)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED if packs_well else zipfile.ZIP_STORED)
    return buffer.getvalue()
