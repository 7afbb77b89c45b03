"""The side port: health, readiness, metrics, the list of models, POST /v1/predict and a WebSocket at /v1/stream.

A small HTTP/1.1 of our own, so that serving needs no web framework. Pages of other origins are refused: a browser on
this machine must not be a way in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass

from pvp_ml.serve.engine import LATENCY_S, Engine, Memories
from pvp_ml.serve.limits import is_loopback, is_token
from pvp_ml.serve.transports.tcp import Gate
from pvp_ml.serve.transports.websocket import WebSocketError, accept_key, close_frame, read_message, text_frame
from pvp_ml.serve.wire import ErrorCode, WireError, decode_request, encode_error, find_id

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 16 << 10
_STATUS: dict[ErrorCode, int] = {
    "bad_json": 400, "bad_request": 400, "bad_obs": 400, "bad_mask": 400, "unauthorized": 401, "unknown_model": 404,
    "timeout": 408, "too_large": 413, "unsupported": 422, "internal": 500, "overloaded": 503, "deadline": 504,
}  # fmt: skip
_REASON = {101: "Switching Protocols", 200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
           404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 411: "Length Required",
           413: "Content Too Large", 422: "Unprocessable Content", 431: "Request Header Fields Too Large",
           500: "Internal Server Error", 503: "Service Unavailable", 504: "Gateway Timeout"}  # fmt: skip


class HttpError(Exception):
    """Answered with this status, then the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A request's first lines."""

    method: str
    path: str
    headers: dict[str, str]


class HttpSide:
    """Handles the connections of the side port."""

    def __init__(self, engine: Engine, gate: Gate, is_local: bool, origins: frozenset[str] = frozenset()) -> None:
        self._engine = engine
        self._gate = gate
        self._is_local = is_local
        self._origins = origins

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends or breaks a limit."""
        place = object()
        try:
            if len(self._gate.open) >= self._gate.limits.connections:
                self._send(writer, 503, b'{"error":{"code":"overloaded","message":"too many connections"}}\n')
                return
            self._gate.open.add(place)
            while await self._one(reader, writer):
                await asyncio.wait_for(writer.drain(), self._gate.limits.unsent_s)
        except HttpError as error:
            self._send(writer, error.status, encode_error("bad_request", str(error)))
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError, asyncio.LimitOverrunError):
            pass  # gone, late or talking nonsense: nothing to answer
        finally:
            self._gate.open.discard(place)
            with contextlib.suppress(OSError, TimeoutError):
                writer.close()
                await asyncio.wait_for(writer.wait_closed(), 1.0)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read and answer one request; True when the connection stays open."""
        limits = self._gate.limits
        try:
            raw = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), limits.idle_s or None)
        except asyncio.LimitOverrunError as error:
            raise HttpError(431, f"the head may have {MAX_HEAD_BYTES} bytes") from error
        head = parse_head(raw)
        self._check_origin(head)
        if head.path in ("/healthz", "/readyz"):
            is_ready = head.path == "/healthz" or bool(self._engine.models)
            self._send(writer, 200 if is_ready else 503, b"ok\n" if is_ready else b"no models\n", "text/plain")
            return True
        is_known = self._is_known(head)
        if head.path == "/v1/stream":
            await self._stream(head, reader, writer, is_known)
            return False
        if head.path == "/v1/predict":
            if head.method != "POST":
                raise HttpError(405, "use POST")
            await self._predict(await self._body(head, reader), writer, is_known)
            return True
        if not is_known:
            raise HttpError(401, "send the token as 'Authorization: Bearer …'")
        if head.path == "/metrics":
            self._send(writer, 200, metrics_text(self._engine, self._gate).encode(), "text/plain; version=0.0.4")
        elif head.path == "/v1/models":
            names = json.dumps({"models": sorted(self._engine.models)})
            self._send(writer, 200, names.encode() + b"\n")
        else:
            raise HttpError(404, f"there is no {head.path[:80]}")
        return True

    def _check_origin(self, head: Head) -> None:
        origin = head.headers.get("origin")
        if origin is not None and origin not in self._origins:
            raise HttpError(403, "pages of this origin are not allowed; see --allow-origin")
        host = head.headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._is_local and not is_loopback(name):
            raise HttpError(403, f"host {name[:80]!r} is not this machine")

    def _is_known(self, head: Head) -> bool:
        scheme, _, given = head.headers.get("authorization", "").partition(" ")
        return not self._gate.token or (scheme.lower() == "bearer" and is_token(given.strip(), self._gate.token))

    async def _body(self, head: Head, reader: asyncio.StreamReader) -> bytes:
        length = head.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 12:
            raise HttpError(411, "Content-Length is missing")
        if int(length) > self._gate.limits.message_bytes:
            raise HttpError(413, f"a message may have {self._gate.limits.message_bytes} bytes")
        return await asyncio.wait_for(reader.readexactly(int(length)), self._gate.limits.line_s)

    async def _predict(self, body: bytes, writer: asyncio.StreamWriter, is_known: bool) -> None:
        data, code, _ = await self._ask(body, None, is_known)
        self._send(writer, 200 if code is None else _STATUS[code], data)

    async def _ask(
        self, text: bytes, memories: Memories | None, is_known: bool
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
            self._engine.submit(request, memories, done)
        except WireError as error:
            return self._engine.error(error, find_id(text)), error.code, is_known
        data = await future
        return data, _code_of(data), is_known

    async def _stream(
        self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_known: bool
    ) -> None:
        """The WebSocket: the same messages, one answer per message."""
        key = head.headers.get("sec-websocket-key", "")
        if head.headers.get("upgrade", "").lower() != "websocket" or len(key) != 24:
            raise HttpError(400, "this path speaks WebSocket")
        accept = accept_key(key)
        writer.write(
            f"HTTP/1.1 101 {_REASON[101]}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        limits, memories = self._gate.limits, Memories()
        try:
            while True:
                message = read_message(reader, writer, limits.message_bytes)
                text = await asyncio.wait_for(message, limits.idle_s or None)
                if text is None:
                    writer.write(close_frame(1000))
                    return
                data, _, is_known = await self._ask(text, memories, is_known)
                writer.write(text_frame(data.rstrip()))
                await asyncio.wait_for(writer.drain(), limits.unsent_s)
        except WebSocketError as error:
            writer.write(close_frame(error.code, str(error)))

    def _send(self, writer: asyncio.StreamWriter, status: int, body: bytes, kind: str = "application/json") -> None:
        writer.write(
            f"HTTP/1.1 {status} {_REASON[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "X-Content-Type-Options: nosniff\r\n\r\n".encode()
            + body
        )


def parse_head(raw: bytes) -> Head:
    """Method, path without query, headers by lower-case name; raises HttpError for anything unusual."""
    lines = raw.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
        raise HttpError(400, "not an HTTP/1.1 request")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        if line:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip() or name.lower() in headers:
                raise HttpError(400, "a header is malformed or occurs twice")
            headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise HttpError(411, "send Content-Length, not chunks")
    return Head(words[0], words[1].partition("?")[0], headers)


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
        f"pvp_ml_connections {len(gate.open)}",
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
