"""Who a process is, asked of the kernel: what a file says about a process is checked here before anybody acts on it.

Linux has everything in /proc. Elsewhere on Unix `ps` gives the start time and the command line, and whether a lock is
held but not by whom. Windows gives nothing: there, nothing matches and nothing is stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PS_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for another: its number, its start time and its host."""

    pid: int
    start: str
    host: str

    @classmethod
    def of(cls, pid: int) -> Identity:
        """The process with this pid, as it is now."""
        return cls(pid, start_time(pid), socket.gethostname())

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs. Without a start time nobody can say, and 0, 1 and negative numbers are
        no process of ours; one on another host is taken to be gone, nobody here can ask.
        """
        if self.pid <= 1 or not self.start or self.host != socket.gethostname():
            return False
        return start_time(self.pid) == self.start and not _is_zombie(self.pid)


def start_time(pid: int) -> str:
    """When that process started, as the kernel counts it since which start of the machine; empty where that cannot be
    asked or there is none.
    """
    if not PROC.is_dir():
        return _ps("lstart", pid)
    stat = _read(PROC / str(pid) / "stat")
    return f"{stat.rpartition(')')[2].split()[19]}@{_boot()}" if stat else ""


def command_line(pid: int) -> tuple[str, ...]:
    """The words that the process was started with; as one string where only `ps` is available, empty if nothing is."""
    if not PROC.is_dir():
        command = _ps("command", pid)
        return (command,) if command else ()
    return tuple(_read(PROC / str(pid) / "cmdline").split("\0")[:-1])


def has_command(pid: int, words: Sequence[str]) -> bool:
    """Whether the process was started with exactly these words."""
    return bool(words) and " ".join(command_line(pid)) == " ".join(words)


def holds_lock(pid: int, path: Path) -> bool:
    """Whether that process holds the lock on this very file (not on what a link of that name points to)."""
    if not PROC.is_dir():
        return _is_locked(path)
    try:
        wanted = path.lstat()
        for entry in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                opened = entry.stat()
                is_same = (opened.st_dev, opened.st_ino) == (wanted.st_dev, wanted.st_ino)
                if is_same and "FLOCK" in _read(PROC / str(pid) / "fdinfo" / entry.name):
                    return True
    except OSError:
        pass
    return False


def send(process: Identity, number: int) -> None:
    """Send a signal to exactly this process: one that takes over its pid in between is not hit."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "pidfd_open"):
            if process.is_alive:
                os.kill(process.pid, number)
            return
        handle = os.pidfd_open(process.pid)
        try:
            if process.is_alive:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on; empty where the system cannot be asked."""
    found: list[int] = []
    if not PROC.is_dir():
        rows = [line.split() for line in _run_ps("-A", "-o", "pid=,ppid=").splitlines()]
        for child in [int(row[0]) for row in rows if len(row) == 2 and row[1] == str(pid)]:
            found += [child, *descendants(child)]
        return found
    with contextlib.suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            for word in (task / "children").read_text().split():
                found += [int(word), *descendants(int(word))]
    return found


def _is_zombie(pid: int) -> bool:
    if not PROC.is_dir():
        return _ps("stat", pid)[:1] in ("", "Z")
    stat = _read(PROC / str(pid) / "stat")
    return not stat or stat.rpartition(")")[2].split()[0] == "Z"


def _boot() -> str:
    """The name that the kernel gave itself when the machine started."""
    return _read(PROC / "sys/kernel/random/boot_id").strip()[:8]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _ps(column: str, pid: int) -> str:
    return _run_ps("-ww", "-o", f"{column}=", "-p", str(pid)).strip() if pid > 0 else ""


def _run_ps(*words: str) -> str:
    if sys.platform == "win32":
        return ""
    try:
        done = subprocess.run(["ps", *words], capture_output=True, text=True, timeout=PS_TIMEOUT_S, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _is_locked(path: Path) -> bool:
    """Whether anybody holds the lock: asking for a shared one, given back at once, fails then."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False
