"""What a process and its children cost. Stdlib only."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_PROC = Path("/proc")


def cpu_s() -> float:
    """CPU seconds of this process and its living descendants; without /proc (Linux) of this process alone."""
    return time.process_time() + children_cpu_s(os.getpid())


def children_cpu_s(root: int) -> float:
    """CPU seconds of the living descendants of a process; 0 without /proc (Linux)."""
    return sum(map(process_cpu_s, tree(root)[1:]))


def tree_cpu_s(root: int) -> float:
    """CPU seconds of a process and its living descendants (Linux)."""
    return sum(map(process_cpu_s, tree(root)))


def tree(root: int) -> list[int]:
    """Process ids of a process and its descendants, itself first."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def process_cpu_s(pid: int) -> float:
    """CPU seconds that a process has used so far; 0 once it is gone, or without /proc (Linux)."""
    with contextlib.suppress(OSError):
        fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
