"""What this machine has, and what a run needs of it: cores, memory, and what is installed."""

from __future__ import annotations

import contextlib
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pvp_ml.spec import GameSpec

MATCHES_PER_CORE, ELSEWHERE_PER_CORE = 256, 16
"""Side by side where that pays: more fill no vector unit better, and processes of a simulator have their own memory."""

SHARE_OF_MEMORY = 0.25
"""Of the free memory that rollouts may take when their size is chosen here."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_bytes(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Memory that can still be taken: the system's, or what the container allows if that is less; None = unknown."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        line = next((row for row in meminfo.read_text().splitlines() if row.startswith("MemAvailable:")), "")
        found.append(int(line.split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        found.append(int(limit) - int(used))
    if not found and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(found)) if found else None


def bytes_per_match(spec: GameSpec, n_steps: int, frames: int = 1) -> int:
    """What a rollout keeps of one match: observations, masks, actions, numbers per step; and as much while learning."""
    numbers = frames * spec.obs_size + spec.privileged_size + len(spec.heads) + 12
    return 2 * (n_steps + 2) * spec.seats * (4 * numbers + spec.mask_size)


def auto_matches(spec: GameSpec, n_steps: int, is_elsewhere: bool, count: int, free: int | None) -> int:
    """Matches side by side for that many cores and that much memory: a power of two per core, at least 8 in all."""
    wanted = count * (ELSEWHERE_PER_CORE if is_elsewhere else MATCHES_PER_CORE)
    if free is not None:
        wanted = min(wanted, int(SHARE_OF_MEMORY * free) // bytes_per_match(spec, n_steps))
    per_core = max(1, wanted // count)
    return max(8, count * (1 << (per_core.bit_length() - 1)))


def auto_batch(rows: int, free: int | None) -> int:
    """Rows of a minibatch: a quarter of a rollout, between 256 and 16,384, less when memory is short."""
    most = 16_384 if free is None else min(16_384, max(256, free // 10 // 16_384))
    wanted = max(256, min(most, rows // 4))
    return 1 << (wanted.bit_length() - 1)


def versions() -> dict[str, str]:
    """What a model was made with: package → version."""
    found = {}
    for name in ("pvp-ml", "torch", "numpy", "numba"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
