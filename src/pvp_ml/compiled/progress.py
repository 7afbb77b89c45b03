"""How far compiling has got: one line in a log, a bar on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REFRESH_S = 0.5
WIDTH = 30
ERASE = "\r\x1b[2K"


@contextmanager
def compiling(what: str, done: Callable[[], int], total: int) -> Iterator[None]:
    """Say what is being compiled. On a terminal, draw a bar of how many of the `total` functions are `done`."""
    terminal = sys.stderr
    print(f"pvp-ml: compiling {what} (only once, about a minute) …", file=terminal, flush=True)
    if not terminal.isatty() or not total:
        yield
        return
    over, begin = threading.Event(), time.monotonic()

    def draw() -> None:
        while not over.wait(REFRESH_S):
            terminal.write(ERASE + bar(min(done(), total), total, time.monotonic() - begin))
            terminal.flush()

    thread = threading.Thread(target=draw, name="compiling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        terminal.write(ERASE)
        terminal.flush()


def bar(done: int, total: int, seconds: float) -> str:
    """`████░░░░ 12 of 24 functions, 8 s`."""
    full = WIDTH * done // total
    return f"{'█' * full}{'░' * (WIDTH - full)} {done} of {total} functions, {seconds:.0f} s"
