"""The workers of one game: started, watched, replaced. Knows processes and deadlines, nothing of matches."""

from __future__ import annotations

import contextlib
import json
import queue
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.node.frames import FromWorker, ToWorker, check_hello, record_type
from pvp_ml.games.vgc.node.install import SETUP_HINT, Installation
from pvp_ml.games.vgc.node.worker import Mail, NodeWorker
from pvp_ml.match import Fault
from pvp_ml.spec import GameSpec

START_S = 90.0
MOST_DEATHS = 5
STARVING = 5


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker that was replaced. `began` is False when it died before it could do anything."""

    worker: int
    fault: Fault
    began: bool


class WorkerPool:
    """`count` Node workers behind one inbox. A worker that dies or falls silent is replaced and reported as lost."""

    def __init__(
        self, count: int, spec: GameSpec, installation: Installation, texts: dict[str, str], stock: bool, stall_s: float
    ) -> None:
        self.record = record_type(spec)
        self._spec, self._texts, self._stall_s = spec, texts, stall_s
        self._node = installation.node
        self._environment = installation.environment(stock, privileged=bool(spec.privileged))
        self._inbox: queue.SimpleQueue[Mail] = queue.SimpleQueue()
        self._answers: dict[int, Any] = {}
        self._questions = 0
        self._deaths = 0
        self.restarts = 0
        self.faults: list[str] = []
        self.speedup_refused = ""
        self.on_log: Callable[[dict[str, Any]], None] | None = None
        self._waiting = np.zeros(count, np.int64)  # rows that each worker still owes
        self._since = np.zeros(count)  # time of its last sign of life, or of the first unanswered send
        self._greeted = np.zeros(count, np.bool_)
        self._samples: list[tuple[float, float] | None] = [None] * count  # (time, CPU seconds) while a worker is silent
        self._workers: list[NodeWorker] = []
        self._finalizer = weakref.finalize(self, _end_all, self._workers)
        for number in range(count):
            self._workers.append(self._launch(number, 0))

    @property
    def pids(self) -> list[int]:
        """Process ids, by worker."""
        return [worker.pid for worker in self._workers]

    def _launch(self, number: int, life: int) -> NodeWorker:
        self._greeted[number] = False
        self._waiting[number] = 0
        self._since[number] = time.monotonic()
        worker = NodeWorker(number, life, self._node, self._environment, self._inbox)
        worker.send_json(ToWorker.TEAMS, self._texts)
        return worker

    def begin(self, number: int, orders: list[dict[str, Any]]) -> None:
        """Start matches in a worker."""
        self._owe(number, len(orders))
        self._workers[number].send_json(ToWorker.START, orders)

    def act(self, number: int, actions: bytes, count: int) -> None:
        """Give `count` rows of actions to a worker."""
        self._owe(number, count)
        self._workers[number].send(ToWorker.ACTIONS, actions)

    def _owe(self, number: int, count: int) -> None:
        if not self._waiting[number]:
            self._since[number] = time.monotonic()
        self._waiting[number] += count

    def collect(self, timeout_s: float) -> Iterator[np.ndarray[Any, np.dtype[np.void]] | Lost]:
        """Rows that arrived, and workers that were lost, until nothing is left or the time is over.

        Waits up to `timeout_s` for the first; the rest is taken only if it is there already.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            yield from self._silent()
            wait = min(max(deadline - time.monotonic(), 0.0), 0.25)
            try:
                mail = self._inbox.get(timeout=wait) if wait else self._inbox.get_nowait()
            except queue.Empty:
                if time.monotonic() >= deadline:
                    return
                continue
            if (item := self._open(mail)) is not None:
                deadline = 0.0
                yield item

    def _open(self, mail: Mail) -> np.ndarray[Any, np.dtype[np.void]] | Lost | None:
        if self._workers[mail.worker].life != mail.life:
            return None
        self._since[mail.worker] = time.monotonic()
        if mail.payload is None:
            return self._replace(mail.worker, Fault.CRASHED)
        if mail.kind == FromWorker.NEWS:
            return self._news(mail)
        if mail.kind != FromWorker.ROWS or len(mail.payload) % self.record.itemsize:
            return self._replace(mail.worker, Fault.BAD_DATA)
        rows = np.frombuffer(mail.payload, self.record)
        self._waiting[mail.worker] -= len(rows)
        self._deaths = 0
        return rows

    def _news(self, mail: Mail) -> Lost | None:
        try:
            news = json.loads(bytes(mail.payload or b""))
        except ValueError:
            return self._replace(mail.worker, Fault.BAD_DATA)
        if "hello" in news:
            check_hello(news["hello"], self._spec, self.record)
            self._greeted[mail.worker] = True
            self.speedup_refused = news["hello"]["speedup"]
        elif "fault" in news:
            self.faults.append(f"match {news['serial']}: {news['fault']}")
            del self.faults[:-100]
        elif "answer" in news:
            self._answers[news["answer"]] = news["value"]
        elif "log" in news and self.on_log is not None:
            self.on_log(news)
        return None

    def _silent(self) -> Iterator[Lost]:
        """Replace workers that owe an answer for too long. One that only waits for its share of the CPU gets more time.

        A stopped worker uses no CPU, a battle that never ends uses all of it; on a crowded machine a sound worker uses
        a little, and is given up to STARVING times the deadline.
        """
        now = time.monotonic()
        for number, worker in enumerate(self._workers):
            limit = self._stall_s if self._greeted[number] else START_S
            silence = now - self._since[number]
            if silence <= limit / 2 or not (self._waiting[number] or not self._greeted[number]):
                self._samples[number] = None
                continue
            sample = self._samples[number]
            if sample is None or now - sample[0] < limit / 2:
                self._samples[number] = sample or (now, worker.cpu_s())
                continue
            used = worker.cpu_s() - sample[1]
            if 0 < used < limit / 8 and silence < STARVING * limit:
                self._samples[number] = (now, worker.cpu_s())
            else:
                yield self._replace(number, Fault.STALLED)

    def _replace(self, number: int, fault: Fault) -> Lost:
        old, began = self._workers[number], bool(self._greeted[number])
        old.end()
        self._deaths += 1
        self.restarts += 1
        if self._deaths > MOST_DEATHS:
            words = old.last_words or "it said nothing"
            raise UserError(f"vgc: a worker died {self._deaths} times in a row: {words[:300]}", SETUP_HINT)
        self._workers[number] = self._launch(number, old.life + 1)
        return Lost(number, fault, began)

    def ask(self, number: int, question: dict[str, Any], timeout_s: float) -> Any:
        """A worker's answer to a question; None when it does not come in time. Rows that arrive meanwhile wait."""
        self._questions += 1
        wanted = self._questions
        worker = self._workers[number]
        worker.send_json(ToWorker.QUESTION, {**question, "id": wanted})
        deadline = time.monotonic() + timeout_s
        kept: list[Mail] = []
        while wanted not in self._answers and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                mail = self._inbox.get(timeout=left)
                if (
                    mail.kind == FromWorker.NEWS
                    and mail.payload is not None
                    and mail.life == self._workers[mail.worker].life
                ):
                    self._news(mail)
                else:
                    kept.append(mail)
                    if mail.payload is None and mail.worker == number:
                        break
        for mail in kept:
            self._inbox.put(mail)
        return self._answers.pop(wanted, None)

    def close(self) -> None:
        """End every process; harmless when repeated."""
        self._finalizer()


def _end_all(workers: list[NodeWorker]) -> None:
    for worker in workers:
        worker.end()
    workers.clear()
