"""One Node process: start it, talk to it without ever blocking the caller, end it."""

from __future__ import annotations

import collections
import contextlib
import queue
import subprocess
import threading
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from pvp_ml.games.process_tree import process_cpu_s
from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.node.frames import ToWorker, frame, json_frame, read_frame

NODE_FLAGS = ("--max-semi-space-size=24", "--max-old-space-size=320")
STDERR_LINES = 40
END_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Mail:
    """Something a worker said; `payload` is None when its stream ended. `life` tells one process from its successor."""

    worker: int
    life: int
    kind: int
    payload: bytearray | None


class NodeWorker:
    """The process and its three threads: one reads rows into the shared inbox, one writes, one keeps stderr's tail."""

    def __init__(
        self, number: int, life: int, node: Path, environment: dict[str, str], inbox: queue.SimpleQueue[Mail],
        script: str = "worker.js",
    ) -> None:  # fmt: skip
        self.number, self.life = number, life
        self._inbox = inbox
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows: our Ctrl-C is not its Ctrl-C
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own script
            [str(node), *NODE_FLAGS, str(SCRIPTS / script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, creationflags=apart,
        )  # fmt: skip
        self._threads = [
            threading.Thread(target=target, name=f"vgc-{number}-{target.__name__}", daemon=True)
            for target in (self._read, self._write, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Of the Node process."""
        return self.process.pid

    def cpu_s(self) -> float:
        """CPU seconds that the process has used, where the system tells (Linux); else 0."""
        return process_cpu_s(self.pid)

    @property
    def last_words(self) -> str:
        """The last line that the process wrote to stderr."""
        return next((line for line in reversed(self._stderr) if line.strip()), "")

    def send(self, kind: ToWorker, payload: bytes) -> None:
        """Queue a frame; the writing thread may block, the caller does not."""
        self._outbox.put(frame(kind, payload))

    def send_json(self, kind: IntEnum, value: Any) -> None:
        """Queue a JSON frame."""
        self._outbox.put(json_frame(kind, value))

    def end(self) -> None:
        """Kill the process (a stopped one too) and wait for it."""
        self._outbox.put(None)
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_WAIT_S)
        for thread in self._threads:
            thread.join(END_WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (read := read_frame(stream)) is not None:  # type: ignore[arg-type]
                self._inbox.put(Mail(self.number, self.life, read[0], read[1]))
        self._inbox.put(Mail(self.number, self.life, 0, None))

    def _write(self) -> None:
        stream = self.process.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := self._outbox.get()) is not None:
                stream.write(data)
                if self._outbox.empty():
                    stream.flush()

    def _listen(self) -> None:
        stream = self.process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._stderr.append(line.decode("utf-8", "replace").rstrip()[:500])
