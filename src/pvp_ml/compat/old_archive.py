"""The zip that old model files are: stored entries under one folder, read without extracting.

Sizes, counts and places are checked before anything is read; entries may neither overlap nor carry names that no model
file has.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pvp_ml.compat.old_pickle import MAX_PICKLE_BYTES
from pvp_ml.compat.old_values import LegacyError, StorageRef, TensorRef

MAX_FILE_BYTES = 256 << 20
MAX_ENTRIES = 4096
MAX_DIRECTORY_BYTES = 1 << 20
MAX_TENSOR_BYTES = 64 << 20
_END, _END64, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_LOCAL = struct.Struct("<4s5H3L2H")
_SMALL = {"byteorder": 16, "version": 16, ".data/serialization_id": 64, ".format_version": 16, ".storage_alignment": 16}
_NAMES = re.compile(
    r"data\.pkl|data/\d{1,6}|byteorder|version|\.data/serialization_id|\.format_version|\.storage_alignment"
)


@dataclass(frozen=True, slots=True)
class _Entry:
    start: int
    size: int
    crc: int


class LegacyArchive:
    """An opened file; `top` is the name that the model had when it was saved."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._length = file.seek(0, io.SEEK_END)
        if self._length > MAX_FILE_BYTES:
            raise LegacyError(f"the file has {self._length} bytes, the limit is {MAX_FILE_BYTES}")
        self._check_directory()
        try:
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
        except (
            zipfile.BadZipFile,
            struct.error,
            ValueError,
            OSError,
            NotImplementedError,
            UnicodeDecodeError,
        ) as error:
            raise LegacyError(f"not a zip file: {str(error)[:120]}") from error
        self.top, self._entries = self._read_entries(infos)
        for name, limit in _SMALL.items():
            if name in self._entries and self._entries[name].size > limit:
                raise LegacyError(f"'{name}' has {self._entries[name].size} bytes, the limit is {limit}")
        if "data.pkl" not in self._entries:
            raise LegacyError("it lacks 'data.pkl'", "is it a model of the old trainer?")
        if self.read("byteorder", b"little") != b"little":
            raise LegacyError("its numbers are not little-endian")
        if self.read("version", b"3").strip() != b"3":
            raise LegacyError("its container version is not 3")

    def _check_directory(self) -> None:
        """Count entries before a library allocates something for each; both kinds of end record must agree."""
        if self._length < _END.size:
            raise LegacyError(f"not a zip file: only {self._length} bytes")
        self._file.seek(self._length - _END.size)
        mark, _, _, here, count, size, offset, comment = _END.unpack(self._file.read(_END.size))
        if mark != b"PK\x05\x06" or comment or here != count:
            raise LegacyError("not a zip file, or one with bytes after its end")
        if count > MAX_ENTRIES or size > MAX_DIRECTORY_BYTES:
            raise LegacyError(f"the zip lists {count} files in {size} bytes", f"limits: {MAX_ENTRIES} files")
        at = self._length - _END.size - _LOCATOR.size
        if at < 0:
            return
        self._file.seek(at)
        mark, _, place, _ = _LOCATOR.unpack(self._file.read(_LOCATOR.size))
        if mark != b"PK\x06\x07":
            return
        if place + _END64.size > at:
            raise LegacyError("the zip's long directory record is not where it must be")
        self._file.seek(place)
        record = _END64.unpack(self._file.read(_END64.size))
        if record[0] != b"PK\x06\x06" or record[6:10] != (count, count, size, offset):
            raise LegacyError("the zip's two directory records contradict each other")

    def _read_entries(self, infos: list[zipfile.ZipInfo]) -> tuple[str, dict[str, _Entry]]:
        if not infos:
            raise LegacyError("the zip is empty")
        top = infos[0].orig_filename.partition("/")[0]
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,127}", top):
            raise LegacyError(f"its folder is called {top[:40]!r}")
        entries: dict[str, _Entry] = {}
        for info in infos:
            folder, _, name = info.orig_filename.partition("/")
            if folder != top or not _NAMES.fullmatch(name):
                raise LegacyError(f"the zip holds {info.orig_filename[:80]!r}", "no model file has that")
            if name in entries:
                raise LegacyError(f"the zip holds '{name}' twice")
            if (
                info.flag_bits & 0x41
                or info.compress_type != zipfile.ZIP_STORED
                or info.compress_size != info.file_size
            ):
                raise LegacyError(f"'{name}' is packed or encrypted", "model files store their parts as they are")
            if (info.external_attr >> 16) & 0o170000 not in (0, 0o100000):
                raise LegacyError(f"'{name}' is not a plain file")
            entries[name] = self._place(info)
        spans = sorted((entry.start, entry.start + entry.size) for entry in entries.values())
        if any(end > begin for (_, end), (begin, _) in pairwise(spans)):
            raise LegacyError("files of the zip overlap")
        return top, entries

    def _place(self, info: zipfile.ZipInfo) -> _Entry:
        if not 0 <= info.header_offset < self._length:
            raise LegacyError(f"'{info.orig_filename[:80]}' lies outside the file")
        self._file.seek(info.header_offset)
        data = self._file.read(_LOCAL.size)
        if len(data) < _LOCAL.size or data[:4] != b"PK\x03\x04":
            raise LegacyError(f"'{info.orig_filename[:80]}' lies outside the file")
        name_length, extra_length = _LOCAL.unpack(data)[-2:]
        if self._file.read(name_length).decode("utf-8", "replace") != info.orig_filename:
            raise LegacyError(f"'{info.orig_filename[:80]}' has another name in front of its data")
        start = info.header_offset + _LOCAL.size + name_length + extra_length
        if start + info.file_size > self._length:
            raise LegacyError(f"'{info.orig_filename[:80]}' lies outside the file")
        return _Entry(start, info.file_size, info.CRC)

    def read(self, name: str, default: bytes | None = None) -> bytes:
        """One entry, checksum checked."""
        entry = self._entries.get(name)
        if entry is None:
            if default is None:
                raise LegacyError(f"it lacks '{name}'")
            return default
        limit = MAX_PICKLE_BYTES if name == "data.pkl" else MAX_TENSOR_BYTES
        if entry.size > limit:
            raise LegacyError(f"'{name}' has {entry.size} bytes, the limit is {limit}")
        self._file.seek(entry.start)
        data = self._file.read(entry.size)
        if zlib.crc32(data) != entry.crc:
            raise LegacyError(f"'{name}' is damaged: its checksum differs")
        return data

    def check_storage(self, storage: StorageRef) -> None:
        """Refuse a storage whose entry has another size than its numbers need."""
        entry = self._entries.get(f"data/{storage.key}")
        wanted = storage.count * np.dtype(storage.code).itemsize
        if entry is None or entry.size != wanted:
            found = "nothing" if entry is None else f"{entry.size} bytes"
            raise LegacyError(f"storage {storage.key} needs {wanted} bytes, there is {found}")

    def tensor(self, ref: TensorRef) -> npt.NDArray[Any]:
        """The numbers of a tensor, copied and finite."""
        self.check_storage(ref.storage)
        flat = np.frombuffer(self.read(f"data/{ref.storage.key}"), ref.storage.code)
        steps = tuple(step * flat.itemsize for step in ref.stride)
        array = np.lib.stride_tricks.as_strided(flat[ref.offset :], ref.size, steps).copy()
        if not np.isfinite(array).all():
            raise LegacyError(f"storage {ref.storage.key} holds numbers that are not finite")
        return array


def open_file(path: Path) -> BinaryIO:
    """The file, if it is one."""
    try:
        if not path.is_file():
            raise LegacyError(f"there is no file '{path}'")
        return path.open("rb")
    except OSError as error:
        raise LegacyError(f"cannot read '{path}': {error.strerror}") from error
