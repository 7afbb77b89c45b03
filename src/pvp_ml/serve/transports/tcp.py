"""JSON lines over TCP: many requests per connection, answered in order, errors as answers, slow clients shown out."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from pvp_ml.serve.engine import Engine, Memories
from pvp_ml.serve.limits import Limits, is_token
from pvp_ml.serve.quota import Quota, WrongTokens
from pvp_ml.serve.wire import Request, WireError, decode_request, find_id, is_error

log = logging.getLogger(__name__)

TURN_LINES = 8
SEND_BUFFER_BYTES = 64 << 10
"""Answers that wait for a client that does not read, in the kernel and again here, before we stop reading it."""

_GOODBYE = b""
"""In the place of an answer: the connection ends here."""

_HTTP_VERBS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN", b"TRAC")


class WrongTokenError(WireError):
    """A token was given, and it is not the right one."""


class Gate:
    """Who is connected, port by port; and whether a token is needed.

    With a token, clients that have not shown it may take half of a port's places.
    """

    def __init__(
        self,
        limits: Limits,
        token: str,
        clock: Callable[[], float] = time.monotonic,
        closes_on_error: bool = False,
    ) -> None:
        self.limits = limits
        self.token = token
        self.closes_on_error = closes_on_error
        self.open: set[LineConnection] = set()
        share = 2 if token else 1
        self.line = Quota(limits.connections, max(1, limits.connections // share), clock)
        self.side = Quota(limits.side_connections, max(1, limits.side_connections // share), clock)
        self.wrong_tokens = WrongTokens(clock)

    def admit(self, request: Request, is_known: bool) -> tuple[Request, bool]:
        """The request without its secret, and True; raises WireError without a valid token.

        A client that cannot send `token` appends it to the model's name: "model@token". Once is enough per connection.
        """
        if not self.token:
            return request, True
        name, _, appended = request.model.rpartition("@")
        if appended and is_token(appended, self.token):
            return _without_secret(request, name), True
        if is_known or (request.token and is_token(request.token, self.token)):
            return request, True
        kind = WrongTokenError if request.token or appended != request.model else WireError
        raise kind("unauthorized", "this server needs a token: send it as 'token', or as model@token")


def _without_secret(request: Request, model: str) -> Request:
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    return Request(**{**fields, "model": model, "token": ""})


class _Slot:
    """Where an answer goes, in the order of the requests."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: bytes | None = None


class LineConnection(asyncio.Protocol):
    """One client. Everything runs on the event loop's thread."""

    def __init__(self, engine: Engine, gate: Gate, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._gate = gate
        self._clock = clock
        self._limits = gate.limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._searched = 0
        self._slots: deque[_Slot] = deque()
        self._memories: Memories = {}
        self._is_known = False
        self._is_settled = False
        self._host = ""
        self._is_writing_soon = False
        self._is_reading_lines = False
        self._is_closing = False
        self._has_ended = False
        self._has_turn = False
        self._line_since: float | None = None
        self._stuck_since: float | None = None
        self._last_message = clock()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, or say that there is none."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=SEND_BUFFER_BYTES)
        peer = self._transport.get_extra_info("peername")
        self._host = str(peer[0]) if peer else ""
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if not self._gate.line.enter(self, self._transport.abort):
            self._refuse(
                WireError("overloaded", f"{self._limits.connections} connections are open, which is the limit")
            )
            return
        self._gate.open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the client; answers still on their way are dropped."""
        self._gate.open.discard(self)
        self._gate.line.leave(self)
        self._transport = None
        self._slots.clear()
        self._buffer.clear()

    def eof_received(self) -> bool:
        """A client that has said everything still gets its answers."""
        self._has_ended = True
        return bool(self._slots) or self._has_turn

    def data_received(self, data: bytes) -> None:
        """Collect lines."""
        if self._is_closing:
            return
        if not self._buffer and self._line_since is None:
            self._line_since = self._clock()
        self._buffer += data
        if not self._has_turn:
            self._read_lines()

    def _read_lines(self) -> None:
        """One turn: a few lines, then the others' turn, so that a client with a backlog delays nobody.

        What is refused is answered in the same turn: the next one begins with a batch, which a refusal need not await.
        """
        self._is_reading_lines = True
        start = lines = 0
        while lines < TURN_LINES and len(self._slots) < self._limits.in_flight and not self._is_closing:
            end = self._buffer.find(b"\n", max(start, self._searched))
            if end < 0:
                break
            self._handle(bytes(self._buffer[start:end]))
            self._searched = 0
            start = end + 1
            lines += 1
        if start:
            del self._buffer[:start]
            self._last_message = self._clock()
            self._line_since = self._last_message if self._buffer else None
        if len(self._slots) >= self._limits.in_flight:
            self._pause()
        elif lines == TURN_LINES:
            self._has_turn = True
            self._loop.call_soon(self._next_turn)
            if len(self._buffer) > self._limits.message_bytes:
                self._pause()
        else:
            self._searched = len(self._buffer)
            if len(self._buffer) > self._limits.message_bytes and not self._is_closing:
                self._refuse(WireError("too_large", f"a message may have {self._limits.message_bytes} bytes"))
        self._is_reading_lines = False
        if self._slots and self._slots[0].data is not None:
            self._write_ready()

    def _next_turn(self) -> None:
        self._has_turn = False
        if self._transport is not None:
            self._resume()
            if not self._has_turn and len(self._slots) < self._limits.in_flight:
                self._read_lines()
            self._close_if_done()

    def _close_if_done(self) -> None:
        if (
            self._transport is not None
            and not self._slots
            and not self._has_turn
            and (self._is_closing or self._has_ended)
        ):
            self._transport.close()

    def _handle(self, text: bytes) -> None:
        if not text.strip():
            return
        slot = _Slot()
        self._slots.append(slot)
        try:
            if len(text) > self._limits.message_bytes:
                raise WireError("too_large", f"a message may have {self._limits.message_bytes} bytes")
            if text[:4] in _HTTP_VERBS:
                self._refuse(WireError("bad_json", "this port speaks JSON lines; HTTP is on the side port"), slot)
                return
            if self._engine.refuses(text):
                raise WireError("overloaded", self._engine.overload)
            request, self._is_known = self._gate.admit(decode_request(text), self._is_known)
            if not self._is_settled:
                self._is_settled = True
                self._gate.line.settle(self)
            self._engine.submit(request, self._memories, lambda data: self._answer(slot, data))
        except WrongTokenError as error:
            delay = self._gate.wrong_tokens.delay(self._host)
            self._loop.call_later(delay, self._answer, slot, self._engine.error(error, find_id(text)))
        except WireError as error:
            self._answer(slot, self._engine.error(error, find_id(text)))
            if not self._gate.token and not self._is_settled:
                self._is_settled = True
                self._gate.line.settle(self)

    def _answer(self, slot: _Slot, data: bytes) -> None:
        if self._gate.closes_on_error and is_error(data):
            log.warning("closing a client of the old protocol: %s", data.decode().strip())
            data = _GOODBYE
        slot.data = data
        if not self._is_writing_soon and not self._is_reading_lines:
            self._is_writing_soon = True
            self._loop.call_soon(self._write_ready)

    def _write_ready(self) -> None:
        """Send the answers that are next in order, at once."""
        self._is_writing_soon = False
        ready: list[bytes] = []
        while self._slots and self._slots[0].data is not None:
            ready.append(self._slots.popleft().data or b"")
            if ready[-1] == _GOODBYE:  # what comes after it would be taken for its answer
                self._slots.clear()
                self._is_closing = True
        transport = self._transport
        if transport is None or not ready:
            return
        transport.write(b"".join(ready))
        if transport.get_write_buffer_size() > self._limits.unsent_bytes:
            log.info("closing a client that does not read its answers")
            transport.abort()
        elif self._stuck_since is None and not self._is_closing:
            self._resume()
        self._close_if_done()

    def _refuse(self, error: WireError, slot: _Slot | None = None) -> None:
        """Answer with an error and close."""
        self._is_closing = True
        slot = slot or _Slot()
        if slot not in self._slots:
            self._slots.append(slot)
        self._answer(slot, self._engine.error(error))

    def pause_writing(self) -> None:
        """The client does not read: stop reading it."""
        self._stuck_since = self._clock()
        self._pause()

    def resume_writing(self) -> None:
        """It reads again."""
        self._stuck_since = None
        self._resume()

    def _pause(self) -> None:
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def _resume(self) -> None:
        if (
            self._transport is not None
            and not self._transport.is_reading()
            and len(self._slots) < self._limits.in_flight
        ):
            self._transport.resume_reading()
            if not self._has_turn:
                self._read_lines()

    def close_if_late(self, now: float) -> None:
        """Called every second: end messages that never end, clients that never read, and idle ones.

        An idle client gets no message: a line that nobody asked for would be taken for the answer to its next question.
        """
        if self._transport is None or self._is_closing:
            return
        if self._stuck_since is not None and now - self._stuck_since > self._limits.unsent_s:
            self._transport.abort()
        elif self._line_since is not None and not self._slots and now - self._line_since > self._limits.line_s:
            self._refuse(WireError("timeout", f"the message was not finished within {self._limits.line_s:.0f} s"))
        elif self._limits.idle_s and not self._slots and now - self._last_message > self._limits.idle_s:
            self._transport.close()

    @property
    def owes(self) -> bool:
        """Whether a request that was read has no answer yet."""
        return self._transport is not None and bool(self._slots)

    def stop_reading(self) -> None:
        """The server ends: what was read is still answered, then the connection is closed."""
        self._is_closing = True
        self._pause()
        self._close_if_done()

    def close(self) -> None:
        """The server ends: send what is ready."""
        if self._transport is not None:
            self._transport.close()
