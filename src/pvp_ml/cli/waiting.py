"""A line for people who wait: what is being loaded, until the command prints something itself.

On a terminal the line counts the seconds and disappears. In a pipe or a log it is printed once, to stderr.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TextIO

DELAY_S = 0.25
"""Silence after which the line appears on a terminal; commands that answer sooner never show it."""
LOG_DELAY_S = 0.5
"""The same for logs, where the line stays."""
REFRESH_S = 0.25
ERASE = "\r\x1b[2K"


class WaitingLine:
    """Writes `NAME: loading torch … 3 s` to `terminal`, and erases it at the first write to any of `streams`."""

    def __init__(self, name: str, terminal: TextIO, streams: tuple[TextIO, ...], once: bool = False) -> None:
        self._name = name
        self._terminal = terminal
        self._write = terminal.write
        self._streams = list(dict.fromkeys(streams))
        self._once = once
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
            if self._is_shown and not self._once:
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
        self._over.wait(LOG_DELAY_S if self._once else DELAY_S)
        while not self._over.is_set():
            with self._lock:
                if not self._over.is_set():
                    what = f"{self._name}: {what_is_loading()} …"
                    seconds = time.monotonic() - begin
                    self._write(f"{what}\n" if self._once else f"{ERASE}{what} {seconds:.0f} s")
                    self._terminal.flush()
                    self._is_shown = True
            if self._once:
                return
            self._over.wait(REFRESH_S)


def what_is_loading() -> str:
    """`loading torch` while the main thread imports a library, `loading` for our own modules, else `working`."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    names = list(_imports(frame))
    libraries = [name for name in names if name != "pvp_ml" and name not in sys.stdlib_module_names]
    if libraries:
        return f"loading {libraries[-1]}"  # the one that our code asked for, not what it needs in turn
    return "loading" if names else "working"


def _imports(frame: FrameType | None) -> Iterator[str]:
    """The packages that are being imported in this stack, innermost first."""
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and "importlib" in frame.f_code.co_filename:
            yield str(frame.f_locals.get("name", "")).partition(".")[0]
        frame = frame.f_back


@contextlib.contextmanager
def waiting_line(name: str) -> Iterator[None]:
    """Show the line while the block is silent: on a terminal if stderr is one, else once as a line of the log."""
    out, err = sys.stdout, sys.stderr
    if not all(hasattr(stream, "__dict__") for stream in (out, err)):
        yield
        return
    line = WaitingLine(name, err, (out, err), once=not _is_terminal(err))
    line.start()
    try:
        yield
    finally:
        line.stop()


def _is_terminal(stream: Any) -> bool:
    return bool(stream.isatty())
