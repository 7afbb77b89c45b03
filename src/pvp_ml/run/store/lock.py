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
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pvp_ml.errors import UserError

log = logging.getLogger(__name__)

_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}
_MAX_BYTES = 4096
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
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            holder = _holder(os.read(self._file, _MAX_BYTES))
            if not _try_lock(self._file, holder):
                raise RunLockedError(
                    f"run '{self._path.parent.name}' is in use by process {holder.get('pid', '?')} "
                    f"on host {holder.get('host', '?')}",
                    "wait for it, stop it, or choose another --name",
                )
            if holder:
                log.warning("recovered the lock of process %s on %s, which is gone", holder["pid"], holder["host"])
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
        text = json.dumps({"pid": pid, "host": socket.gethostname(), "start": start_time(pid), "since": self._now_s})
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, text.encode())
        os.fsync(self._file)


def start_time(pid: int) -> str:
    """When that process started, as the kernel counts it since which start of the machine; empty where that cannot be
    asked or there is none.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{stat.rpartition(')')[2].split()[19]}@{_boot()}"


def _boot() -> str:
    """The name that the kernel gave itself when the machine started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        return ""


def _holder(data: bytes) -> dict[str, Any]:
    try:
        record = json.loads(data)
    except ValueError:
        return {}
    return record if isinstance(record, dict) and {"pid", "host", "start"} <= set(record) else {}


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
    return bool(holder["start"]) and start_time(int(holder["pid"])) == holder["start"]
