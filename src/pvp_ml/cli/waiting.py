"""A line for people who wait: on a terminal, what is being loaded until the command prints something itself."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

DELAY_S = 0.25
"""Silence after which the line appears; commands that answer sooner never show it."""
REFRESH_S = 0.25
ERASE = "\r\x1b[2K"


class WaitingLine:
    """Writes `NAME: loading torch … 3 s` to `terminal`, and erases it at the first write to any of `streams`."""

    def __init__(self, name: str, terminal: TextIO, streams: tuple[TextIO, ...]) -> None:
        self._name = name
        self._terminal = terminal
        self._write = terminal.write
        self._streams = list(dict.fromkeys(streams))
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._is_shown = False
        self._thread = threading.Thread(target=self._show, name="waiting-line", daemon=True)

    def start(self) -> None:
        """Begin to wait; every later write to the streams ends it."""
        for stream in self._streams:
            stream.write = self._ending(stream.write)  # type: ignore[method-assign]
        self._thread.start()

    def stop(self) -> None:
        """Erase the line and leave the streams as they were."""
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            for stream in self._streams:
                del stream.write  # the method of the class is back
            if self._is_shown:
                self._write(ERASE)
                self._terminal.flush()

    def _ending(self, write: Callable[[str], int]) -> Callable[[str], int]:
        def write_and_end(text: str) -> int:
            if text:
                self.stop()
            return write(text)

        return write_and_end

    def _show(self) -> None:
        begin = time.monotonic()
        self._over.wait(DELAY_S)
        while not self._over.is_set():
            with self._lock:
                if not self._over.is_set():
                    self._write(f"{ERASE}{self._name}: {_what()} … {time.monotonic() - begin:.0f} s")
                    self._terminal.flush()
                    self._is_shown = True
            self._over.wait(REFRESH_S)


def _what() -> str:
    """The library that is being imported, as far as one can see from outside."""
    newest = next(reversed(list(sys.modules)), "").partition(".")[0]
    return f"loading {newest}" if newest and not newest.startswith("_") else "loading"


@contextlib.contextmanager
def waiting_line(name: str) -> Iterator[None]:
    """Show the line while the block is silent, if people are looking."""
    out, err = sys.stdout, sys.stderr
    if not (_is_terminal(out) and _is_terminal(err)):
        yield
        return
    line = WaitingLine(name, err, (out, err))
    line.start()
    try:
        yield
    finally:
        line.stop()


def _is_terminal(stream: Any) -> bool:
    return hasattr(stream, "__dict__") and stream.isatty()
