"""One trainer per run: a lock that names its holder and cannot outlive it.

The operating system's file lock decides (it vanishes with its process); what the file says only serves the message.
Where the file system has no locks, the recorded process decides instead.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_json import JsonError, parse_json
from pvp_ml.errors import UserError
from pvp_ml.run.processes import command_line
from pvp_ml.run.processes import start_time as start_time

log = logging.getLogger(__name__)

_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}
LOCK_FILE = "lock"
_MAX_BYTES = 1 << 20
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LOCKED_BYTE = 1 << 30  # Windows locks are mandatory: lock a byte far behind the text, so that the text stays readable


class RunLockedError(UserError):
    """Another process holds the run."""


class RunLock:
    """Context manager: holds `path` while inside. Not re-entrant; children made by spawn do not inherit it."""

    def __init__(self, path: Path, now_s: float) -> None:
        self._path = path
        self._now_s = now_s
        self._file = -1

    def __enter__(self) -> Self:
        """Take the lock or raise RunLockedError with pid and host of the holder."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _open(self._path)
        try:
            holder = _holder(os.read(self._file, _MAX_BYTES))
            if not _try_lock(self._file, holder):
                raise RunLockedError(
                    f"run '{self._path.parent.name}' is in use by process {holder.get('pid', '?')} "
                    f"on host {holder.get('host', '?')}",
                    "wait for it, stop it, or choose another --name",
                )
            if holder:
                log.warning("took over the lock of process %s on %s, which has ended", holder["pid"], holder["host"])
            self._describe()
        except BaseException:
            os.close(self._file)
            self._file = -1
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back: an empty lock file means that the last holder left in order."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1

    def _describe(self) -> None:
        pid = os.getpid()
        who = {"pid": pid, "host": socket.gethostname(), "start": start_time(pid), "since": self._now_s}
        text = json.dumps({**who, "command": list(command_line(pid))})
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, text.encode())
        os.fsync(self._file)


def read_record(path: Path) -> dict[str, Any]:
    """The JSON object in a small file of a run folder; empty for anything else. Never waits, follows no link."""
    try:
        return parse_json(read_plain(path, _MAX_BYTES), path.name, _MAX_BYTES)
    except (OSError, JsonError):
        return {}


def _open(path: Path) -> int:
    """Open or create the lock file itself: what a link points to belongs to somebody else."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o644)
    except OSError as error:
        what = "is a link" if path.is_symlink() else "is not a plain file" if path.is_dir() else str(error.strerror)
        raise UserError(f"lock '{path}' {what}", "find out who put it there, and delete it") from error
    status = os.fstat(file)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        return file
    os.close(file)
    what = "is a link: its file has another name" if stat.S_ISREG(status.st_mode) else "is not a plain file"
    raise UserError(f"lock '{path}' {what}", "find out who put it there, and delete it")


def _holder(data: bytes) -> dict[str, Any]:
    try:
        record = parse_json(data, "lock", _MAX_BYTES)
    except JsonError:
        return {}
    is_whole = type(record.get("pid")) is int and all(type(record.get(key)) is str for key in ("host", "start"))
    return record if is_whole else {}


def _try_lock(file: int, holder: dict[str, Any]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        log.warning("this file system has no locks (%s); trusting the recorded process", error)
        return not _is_running(holder)
    return True


def _is_running(holder: dict[str, Any]) -> bool:
    """Whether the recorded process lives. One on another host is taken to live: nobody here can ask."""
    if not holder:
        return False
    if holder["host"] != socket.gethostname():
        return True
    return bool(holder["start"]) and start_time(holder["pid"]) == holder["start"]
