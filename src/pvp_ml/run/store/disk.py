"""The few calls of the checkpoint writer that touch the disk: tests make each of them fail, or be the last one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_CHUNK_BYTES = 1 << 20

STAGES = (
    "begun",
    "files-written",
    "files-synced",
    "manifest-written",
    "manifest-synced",
    "renamed",
    "folder-synced",
    "head-written",
    "head-replaced",
    "head-verified",
    "pruned",
)
"""Instants of a save. A crash has one allowed outcome: before 'renamed' the old state, from there on the new one."""


class Disk:
    """The real disk; a test's subclass is a full or a dying one."""

    def reached(self, stage: str) -> None:
        """Called at each of STAGES."""

    def write(self, path: Path, data: bytes) -> int:
        """Create the file and write all of it; returns the open descriptor, not yet flushed."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        try:
            for start in range(0, len(data), _CHUNK_BYTES):
                chunk = memoryview(data)[start : start + _CHUNK_BYTES]
                while chunk:
                    chunk = chunk[self.put(file, chunk) :]
        except BaseException:
            os.close(file)
            raise
        return file

    def put(self, file: int, data: memoryview) -> int:
        """One write call."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Flush an open file to the disk."""
        os.fsync(file)

    def sync_folder(self, path: Path) -> None:
        """Flush a folder's names; Windows has no such call and does not need it after a rename."""
        if os.name == "nt":
            return
        file = os.open(path, os.O_RDONLY)
        try:
            self.sync(file)
        finally:
            os.close(file)

    def make_folder(self, path: Path) -> None:
        """Create one folder."""
        path.mkdir()

    def rename(self, old: Path, new: Path) -> None:
        """Give a folder its final name; `new` does not exist."""
        old.rename(new)

    def replace(self, old: Path, new: Path) -> None:
        """Put a file in the place of another at once."""
        old.replace(new)

    def link(self, old: Path, new: Path) -> None:
        """A second name for the same file, or a copy where the file system has no links."""
        try:
            os.link(old, new)
        except OSError:
            shutil.copyfile(old, new)
            with new.open("rb+") as copy:
                self.sync(copy.fileno())

    def remove_folder(self, path: Path) -> None:
        """Delete a folder and what is in it; a folder that stays is only untidy."""
        shutil.rmtree(path, ignore_errors=True)
