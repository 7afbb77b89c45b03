"""The Node process that a search simulates in: one question at a time, each with a deadline."""

from __future__ import annotations

import json
import queue
import struct
import time
import weakref
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.node.install import Installation
from pvp_ml.games.vgc.node.worker import Mail, NodeWorker
from pvp_ml.match import FloatArray

SCRIPT = "search/worker.js"
_COUNT = struct.Struct("<I")


class Ask(IntEnum):
    """Kinds of frames to the process."""

    LOOK = 1
    SIMULATE = 2
    FORGET = 3
    POSITION = 4
    WORDS = 5


class SearchLostError(UserError):
    """The process died, fell silent or failed; a new one knows nothing of the battles."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What it said, and the observations [n,D] that came with it."""

    facts: dict[str, Any]
    rows: FloatArray


class SearchProcess:
    """Started when it is first asked, and again after it was lost."""

    def __init__(self, installation: Installation, obs_size: int) -> None:
        self._installation, self._size = installation, obs_size
        self._inbox: queue.SimpleQueue[Mail] = queue.SimpleQueue()
        self._workers: list[NodeWorker] = []
        self._finalizer = weakref.finalize(self, _end, self._workers)
        self.lives = 0

    @property
    def pid(self) -> int:
        """Of the running process; 0 when there is none."""
        return self._workers[0].pid if self._workers else 0

    def cpu_s(self) -> float:
        """CPU seconds of the running process; 0 when there is none."""
        return self._workers[0].cpu_s() if self._workers else 0.0

    def ask(self, kind: Ask, message: dict[str, Any], timeout_s: float) -> Answer:
        """Its answer; raises SearchLostError when it gives none in time or reports an error."""
        if not self._workers:
            self._start()
        self._workers[0].send_json(kind, message)
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                mail = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            if mail.life != self.lives:
                continue
            if mail.payload is None:
                words = self._workers[0].last_words
                self.close()
                raise SearchLostError(f"vgc: the search's process ended: {words[:300] or 'it said nothing'}")
            return self._read(bytes(mail.payload))
        self.close()
        raise SearchLostError(f"vgc: the search gave no answer in {timeout_s:.0f} s")

    def _start(self) -> None:
        self.lives += 1
        environment = self._installation.environment(not self._installation.speedup)
        self._workers.append(NodeWorker(0, self.lives, self._installation.node, environment, self._inbox, SCRIPT))

    def _read(self, payload: bytes) -> Answer:
        (length,) = _COUNT.unpack_from(payload)
        facts = json.loads(payload[4 : 4 + length])
        if "error" in facts:
            raise SearchLostError(f"vgc: the search failed: {facts['error']}"[:1500])
        start = 4 + length + -length % 4
        return Answer(facts, np.frombuffer(payload, np.float32, offset=start).reshape(-1, self._size))

    def close(self) -> None:
        """End it; the next question starts another."""
        _end(self._workers)


def _end(workers: list[NodeWorker]) -> None:
    for worker in workers:
        worker.end()
    workers.clear()
