"""The side port: health, readiness, metrics, the list of models, POST /v1/predict and a WebSocket at /v1/stream.

h11 and wsproto read the protocols; no web framework is needed. Pages of other origins are refused: a browser on this
machine must not be a way in. When all places are taken, health is still answered, and nothing else is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass
from urllib.parse import unquote

import h11

from pvp_ml.serve.describe import describe
from pvp_ml.serve.engine import LATENCY_S, Engine, Memories
from pvp_ml.serve.http_link import HttpError, Link
from pvp_ml.serve.limits import host_name, is_loopback, is_origin, is_token
from pvp_ml.serve.transports.tcp import Gate, WrongTokenError
from pvp_ml.serve.transports.websocket import Socket, WebSocketError
from pvp_ml.serve.wire import ErrorCode, WireError, decode_request, encode_error, find_id

log = logging.getLogger(__name__)

SPARE_PLACES = 32
"""Connections beyond the quota that are only asked what they want: health is answered, the rest is refused."""
SPARE_S = 1.0
_HEALTH = ("/healthz", "/readyz")
_STATUS: dict[ErrorCode, int] = {
    "bad_json": 400, "bad_request": 400, "bad_obs": 400, "bad_mask": 400, "unauthorized": 401, "unknown_model": 404,
    "timeout": 408, "too_large": 413, "unsupported": 422, "internal": 500, "overloaded": 503, "deadline": 504,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """A request's first lines: method, path without query, headers by lower-case name."""

    method: str
    path: str
    headers: dict[str, str]

    @classmethod
    def of(cls, request: h11.Request) -> Head:
        """As h11 read it; raises HttpError for a header that must not occur twice."""
        headers: dict[str, str] = {}
        for raw, value in request.headers:
            name = raw.decode("latin-1")
            if name in headers and name in ("host", "origin", "authorization"):
                raise HttpError(400, f"the header '{name}' occurs twice")
            headers[name] = value.decode("latin-1")
        target = request.target.decode("latin-1")
        if not target.startswith("/"):
            raise HttpError(400, "the target must be a path")
        return cls(request.method.decode("latin-1"), target.partition("?")[0], headers)


class HttpSide:
    """Handles the connections of the side port."""

    def __init__(self, engine: Engine, gate: Gate, is_local: bool, origins: frozenset[str] = frozenset()) -> None:
        self._engine = engine
        self._gate = gate
        self._is_local = is_local
        self._origins = origins
        self._spare: dict[Link, None] = {}  # oldest first
        self.busy = 0  # requests that were read and are not answered yet
        self._links: set[Link] = set()

    async def end(self) -> None:
        """The server ends: close every connection, whatever it is doing."""
        for link in list(self._links):
            link.abort()
        while self._links:
            await asyncio.sleep(0.005)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends or breaks a limit."""
        link = Link(reader, writer, self._gate.limits)
        self._links.add(link)
        try:
            if self._gate.side.enter(link, link.abort):
                while await self._one(link):
                    pass
            else:
                await self._spare_one(link)
        except HttpError as error:
            with contextlib.suppress(OSError, TimeoutError):
                await link.answer(error.status, encode_error("bad_request", str(error)), close=True)
        except (OSError, TimeoutError):
            pass  # gone or late: nothing to answer
        except Exception as error:  # one client's request must not end in a traceback
            log.error("a request failed: %s: %s", type(error).__name__, error)
            log.debug("where it failed", exc_info=True)
            with contextlib.suppress(OSError, TimeoutError):
                await link.answer(500, encode_error("internal", "that failed; see the server's log"), close=True)
        finally:
            self._gate.side.leave(link)
            await link.close()
            self._links.discard(link)

    async def _spare_one(self, link: Link) -> None:
        """All places are taken: a short look at what is wanted. Whoever asks at once is answered before others push."""
        if len(self._spare) >= SPARE_PLACES:
            oldest = next(iter(self._spare))
            del self._spare[oldest]
            oldest.abort()
        self._spare[link] = None
        try:
            request = await link.head(SPARE_S)
            if request is None:
                return
            head = Head.of(request)
            self._check_origin(head)
            if head.path in _HEALTH:
                await self._health(link, head)
            else:
                await link.answer(503, encode_error("overloaded", "too many connections; try again"), close=True)
        finally:
            self._spare.pop(link, None)

    async def _one(self, link: Link) -> bool:
        """Read and answer one request; True when the connection stays open."""
        request = await link.head()
        if request is None:
            return False
        head = Head.of(request)
        self._check_origin(head)
        if head.path == "/v1/stream":
            await self._stream(request, link, await self._is_known(head, link))
            return False
        self.busy += 1
        try:
            body = await self._body(head, link)
            if not self._gate.token:
                self._gate.side.settle(link)
            return await self._answer(head, body, link)
        finally:
            self.busy -= 1

    async def _answer(self, head: Head, body: bytes, link: Link) -> bool:
        if head.path in _HEALTH:
            return await self._health(link, head)
        is_known = await self._is_known(head, link)
        if head.path == "/v1/predict":
            if head.method != "POST":
                raise HttpError(405, "use POST")
            data, code, _ = await self._ask(body, None, is_known, link)
            return await link.answer(200 if code is None else _STATUS[code], data)
        if head.method not in ("GET", "HEAD"):
            raise HttpError(405, "use GET")
        if not is_known:
            raise HttpError(401, "send the token as 'Authorization: Bearer …'")
        if head.path == "/metrics":
            text = metrics_text(self._engine, self._gate)
            return await link.answer(200, text.encode(), "text/plain; version=0.0.4")
        if head.path == "/v1/models":
            names = json.dumps({"models": sorted(self._engine.models)})
            return await link.answer(200, names.encode() + b"\n")
        if head.path.startswith("/v1/models/"):
            model = self._engine.models.get(unquote(head.path.removeprefix("/v1/models/")))
            if model is None:
                raise HttpError(404, "there is no such model; GET /v1/models lists them")
            return await link.answer(200, json.dumps(describe(model)).encode() + b"\n")
        raise HttpError(404, f"there is no {head.path[:80]}")

    async def _health(self, link: Link, head: Head) -> bool:
        is_ready = head.path == "/healthz" or bool(self._engine.models)
        return await link.answer(200 if is_ready else 503, b"ok\n" if is_ready else b"no models\n", "text/plain")

    def _check_origin(self, head: Head) -> None:
        origin = head.headers.get("origin")
        if origin is not None and origin not in self._origins:
            if not is_origin(origin):
                raise HttpError(400, "the header 'origin' is malformed")
            raise HttpError(403, "pages of this origin are not allowed; see --allow-origin")
        name = host_name(head.headers.get("host", ""))
        if name is None:
            raise HttpError(400, "the header 'host' is malformed")
        if self._is_local and not is_loopback(name):
            raise HttpError(403, f"host {name[:80]!r} is not this machine")

    async def _is_known(self, head: Head, link: Link) -> bool:
        """Whether the request carries the token; a wrong one is answered late."""
        scheme, _, given = head.headers.get("authorization", "").partition(" ")
        if not self._gate.token:
            return True
        if not given or scheme.lower() != "bearer":
            return False
        if is_token(given.strip(), self._gate.token):
            self._gate.side.settle(link)
            return True
        await asyncio.sleep(self._gate.wrong_tokens.delay(link.host))
        raise HttpError(401, "the token is wrong")

    async def _body(self, head: Head, link: Link) -> bytes:
        """The body; only a prediction needs one, and it must say its length first."""
        length = head.headers.get("content-length", "")
        if "transfer-encoding" in head.headers or (head.path == "/v1/predict" and head.method == "POST" and not length):
            raise HttpError(411, "send Content-Length, not chunks")
        if length and int(length) > self._gate.limits.message_bytes:  # h11 has seen to it that it is a number
            raise HttpError(413, f"a message may have {self._gate.limits.message_bytes} bytes")
        return await link.body()

    async def _ask(
        self, text: bytes, memories: Memories | None, is_known: bool, link: Link
    ) -> tuple[bytes, ErrorCode | None, bool]:
        """Answer, error code if it is one, and whether the token was seen."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def done(data: bytes) -> None:
            if not future.done():
                future.set_result(data)

        try:
            if self._engine.refuses(text):
                raise WireError("overloaded", self._engine.overload)
            request, is_known = self._gate.admit(decode_request(text), is_known)
            self._gate.side.settle(link)
            self._engine.submit(request, memories, done)
        except WireError as error:
            if isinstance(error, WrongTokenError):
                await asyncio.sleep(self._gate.wrong_tokens.delay(link.host))
            return self._engine.error(error, find_id(text)), error.code, is_known
        data = await future
        return data, _code_of(data), is_known

    async def _stream(self, request: h11.Request, link: Link, is_known: bool) -> None:
        """The WebSocket: the same messages, one answer per message."""
        socket, memories = Socket(link, self._gate.limits), Memories()
        await socket.accept(request)
        try:
            while (text := await socket.message()) is not None:
                self.busy += 1
                try:
                    data, _, is_known = await self._ask(text, memories, is_known, link)
                    await socket.say(data.rstrip())
                finally:
                    self.busy -= 1
        except WebSocketError as error:
            await socket.close(error.code, str(error))


def _code_of(data: bytes) -> ErrorCode | None:
    if not data.startswith(b'{"error":'):
        return None
    code: ErrorCode = json.loads(data)["error"]["code"]
    return code


def metrics_text(engine: Engine, gate: Gate) -> str:
    """Prometheus text."""
    m = engine.metrics
    lines = [
        "# TYPE pvp_ml_requests_total counter",
        f'pvp_ml_requests_total{{code="ok"}} {m.answered}',
        *(f'pvp_ml_requests_total{{code="{code}"}} {count}' for code, count in sorted(m.errors.items())),
        "# TYPE pvp_ml_batches_total counter",
        f"pvp_ml_batches_total {m.batches}",
        "# TYPE pvp_ml_batch_rows_total counter",
        f"pvp_ml_batch_rows_total {m.rows}",
        "# TYPE pvp_ml_queue gauge",
        f"pvp_ml_queue {engine.queued}",
        "# TYPE pvp_ml_queue_deepest gauge",
        f"pvp_ml_queue_deepest {m.deepest_queue}",
        "# TYPE pvp_ml_connections gauge",
        f"pvp_ml_connections {len(gate.line) + len(gate.side)}",
        "# TYPE pvp_ml_models gauge",
        f"pvp_ml_models {len(engine.models)}",
        "# TYPE pvp_ml_latency_seconds histogram",
    ]
    total = 0
    for edge, count in zip((*LATENCY_S, "+Inf"), m.latency, strict=True):
        total += count
        lines.append(f'pvp_ml_latency_seconds_bucket{{le="{edge}"}} {total}')
    lines += [f"pvp_ml_latency_seconds_sum {m.latency_sum_s:.6f}", f"pvp_ml_latency_seconds_count {total}"]
    return "\n".join(lines) + "\n"
