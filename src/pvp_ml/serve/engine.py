"""Batching and admission: requests of many clients in, one pass of the network for all of them. Knows no sockets.

A batch is whatever is waiting when the event loop comes round, up to a limit: no request ever waits for company, and
the busier the server, the larger its batches. Everything runs on the loop's own thread; a batch is cut to a few
milliseconds, so that reading, rejecting and health checks stay prompt. What a request would have to wait follows from
how many are queued and from the pace at which they were served lately; when that is too long, it is refused at once.
"""

from __future__ import annotations

import difflib
import logging
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pvp_ml.chance import GOLDEN
from pvp_ml.errors import UserError
from pvp_ml.match import FloatArray
from pvp_ml.serve.limits import Limits
from pvp_ml.serve.models import Model, Task
from pvp_ml.serve.wire import Answer, Request, WireError, encode_action, encode_answer, encode_error

log = logging.getLogger(__name__)

LATENCY_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_FIRST_GUESS_S = 0.0002  # per row, until measured
_PACE_MEMORY = 0.2  # share of the newest turn in the pace
_WORD = (1 << 64) - 1  # keys step through all words; the sampler's noise mixes them

WAITING_SHARE = 0.35
"""How much of its deadline a request may wait behind others; the rest is for its own computation and for mistakes."""

Memories = dict[str, FloatArray]
"""What one connection remembers, per model that wants it."""

Done = Callable[[bytes], None]


@dataclass(slots=True)
class Metrics:
    """Counted since the start."""

    answered: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    rows: int = 0
    latency: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_S) + 1))
    latency_sum_s: float = 0.0
    deepest_queue: int = 0


@dataclass(slots=True)
class _Waiting:
    task: Task
    arrived: float
    deadline: float
    done: Done


class Engine:
    """Give it models by name, then submit requests; `done` is called with the encoded answer, soon, on the same thread.

    clock: seconds, monotonic. schedule: runs a callable when the event loop comes round (`loop.call_soon`).
    """

    def __init__(self, limits: Limits, seed: int, clock: Callable[[], float],
                 schedule: Callable[[Callable[[], None]], object]) -> None:  # fmt: skip
        self.limits = limits
        self.metrics = Metrics()
        self.models: dict[str, Model] = {}
        self._queues: dict[Model, deque[_Waiting]] = {}
        self._cost: dict[Model, float] = {}
        self._clock = clock
        self._schedule = schedule
        self._is_scheduled = False
        self._key = (seed * GOLDEN) & _WORD
        self._pace: dict[Model, float] = {}  # seconds per request while they queue, all work of the thread included
        self._busy_since: float | None = None  # end of the last turn, if it left requests behind
        self.queued = 0

    def put(self, model: Model) -> None:
        """Serve this model from now on; requests that already wait for one of the same name still get the old one."""
        self.remove(model.name)
        self.models[model.name] = model
        self._cost[model] = self._pace[model] = _FIRST_GUESS_S

    def remove(self, name: str) -> None:
        """Stop serving a name."""
        model = self.models.pop(name, None)
        if model is not None:
            self._cost.pop(model)
            self._pace.pop(model)

    def refuses(self, text: bytes) -> bool:
        """Whether a request can be rejected before it is read; one that names its own deadline may wait longer."""
        return self.queued >= self.limits.queue or (self.backlog_s > self.limits.wait_s and b'"deadlineMs"' not in text)

    @property
    def backlog_s(self) -> float:
        """How long a request would wait behind those that are queued."""
        return sum(len(queue) * self._pace.get(model, _FIRST_GUESS_S) for model, queue in self._queues.items())

    @property
    def overload(self) -> str:
        """The error for a client that is turned away."""
        return f"{self.queued} requests are waiting, {self.backlog_s * 1000:.0f} ms of work; try again"

    def submit(self, request: Request, memories: Memories | None, done: Done) -> None:
        """Queue a request; raises WireError when it cannot be accepted."""
        model = self._model(request.model)
        patience, wait_s = self.limits.deadline_s, self.limits.wait_s
        if request.deadlineMs is not None:
            patience = max(0.0, request.deadlineMs / 1000.0)
            wait_s = WAITING_SHARE * patience
        if self.queued >= self.limits.queue or self.backlog_s > wait_s:
            raise WireError("overloaded", self.overload)
        self._key = (self._key + GOLDEN) & _WORD
        task = model.check(request, self._key)
        if model.memory and memories is not None:
            if request.reset or len(memories.get(model.name, ())) != model.memory:
                memories[model.name] = np.zeros(model.memory, np.float32)
            task.memory = memories[model.name]
        now = self._clock()
        self._queues.setdefault(model, deque()).append(_Waiting(task, now, now + patience, done))
        self.queued += 1
        self.metrics.deepest_queue = max(self.metrics.deepest_queue, self.queued)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._flush)

    def error(self, error: WireError, request_id: str | float | None = None) -> bytes:
        """The encoded error, counted."""
        self.metrics.errors[error.code] += 1
        return encode_error(error.code, error.message, request_id)

    def _model(self, name: str) -> Model:
        if not name:
            asked = [model for model in self.models.values() if not model.is_unasked]
            if len(asked) == 1:
                return asked[0]
            raise WireError("bad_request", f"'model' is missing; this server has {len(asked)} of them")
        model = self.models.get(name)
        if model is None:
            close = difflib.get_close_matches(name[:80], self.models, 1)
            hint = f"did you mean {close[0]!r}?" if close else "GET /v1/models lists them"
            raise WireError("unknown_model", f"there is no model {name[:80]!r}; {hint}")
        return model

    def _flush(self) -> None:
        """One batch per model; comes back when more is waiting."""
        self._is_scheduled = False
        started = self._clock() if self._busy_since is None else self._busy_since
        served: dict[Model, tuple[int, float]] = {}
        for model, queue in list(self._queues.items()):
            batch = self._take(model, queue)
            if not queue:
                del self._queues[model]
            if batch:
                served[model] = len(batch), self._run(model, batch)
        self._keep_pace(served, self._clock() - started)
        self._busy_since = self._clock() if self.queued else None
        if self.queued and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._flush_later)

    def _flush_later(self) -> None:
        """Once more round the loop: who came during the last batch is read, and perhaps refused, before the next."""
        self._schedule(self._flush)

    def _keep_pace(self, served: dict[Model, tuple[int, float]], taken: float) -> None:
        """A turn took this long: share it among the models by what their batches (rows, seconds) took."""
        total = sum(seconds for _, seconds in served.values())
        for model, (rows, seconds) in served.items():
            if model in self._pace:
                share = seconds / total if total > 0.0 else 1.0 / len(served)
                pace = self._pace[model]
                now = min(taken * share / rows, 2.0 * pace)  # one turn that the machine interrupted says little
                self._pace[model] += _PACE_MEMORY * (now - pace)

    def _take(self, model: Model, queue: deque[_Waiting]) -> list[_Waiting]:
        """The next batch; those that waited too long are answered on the way."""
        rows = max(1, min(self.limits.batch, int(self.limits.batch_s / self._cost.get(model, _FIRST_GUESS_S))))
        now = self._clock()
        batch: list[_Waiting] = []
        while queue and len(batch) < rows:
            waiting = queue.popleft()
            self.queued -= 1
            if now > waiting.deadline:
                self._finish(waiting, WireError("deadline", f"waited {(now - waiting.arrived) * 1000:.0f} ms"))
            else:
                batch.append(waiting)
        return batch

    def _run(self, model: Model, batch: list[_Waiting]) -> float:
        """Answer a batch; returns the seconds that the model took."""
        started = self._clock()
        try:
            answers = model.run([waiting.task for waiting in batch])
        except UserError as error:
            answers = [WireError("bad_request", error.message)] * len(batch)
        except Exception:  # one model's fault must not end the connections of all others
            log.exception("model '%s' failed on a batch of %d", model.name, len(batch))
            answers = [WireError("internal", f"model '{model.name}' failed; see the server's log")] * len(batch)
        taken = self._clock() - started
        per_row = taken / len(batch)
        if model in self._cost:  # rises slowly: one batch that the machine interrupted says little
            self._cost[model] = max(1e-6, min(per_row, 1.1 * self._cost[model]))
        self.metrics.batches += 1
        self.metrics.rows += len(batch)
        for waiting, answer in zip(batch, answers, strict=True):
            self._finish(waiting, answer)
        return taken

    def _finish(self, waiting: _Waiting, answer: Answer | WireError) -> None:
        request = waiting.task.request
        if isinstance(answer, WireError):
            waiting.done(self.error(answer, request.id))
            return
        taken = self._clock() - waiting.arrived
        self.metrics.answered += 1
        self.metrics.latency_sum_s += taken
        self.metrics.latency[bisect_left(LATENCY_S, taken)] += 1
        if not request.model and not request.wants_details:
            waiting.done(encode_action(answer.action, request.id))
        else:
            waiting.done(encode_answer(answer, request.id))
