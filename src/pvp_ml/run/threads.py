"""Numeric threads: one per process, since parallelism comes from processes. Stdlib only, read before numpy is."""

from __future__ import annotations

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Read when numpy and torch are loaded. Two threads on a busy machine lose 5–10 ×."""


def limit_threads() -> None:
    """Set each variable to 1 unless somebody has set it."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")


def threads() -> dict[str, str]:
    """The variables as they are."""
    return {name: os.environ.get(name, "unset") for name in VARIABLES}
