"""One HTTP/1.1 connection: h11 says what the bytes mean, this reads and writes them, each with a time limit."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus

import h11

from pvp_ml.serve.limits import Limits

MAX_HEAD_BYTES = 16 << 10
HEAD_READ_BYTES = 4 << 10
READ_BYTES = 64 << 10


class HttpError(Exception):
    """Answered with this status, then the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Link:
    """A connection and its state. HttpError is raised for what deserves an answer, TimeoutError for what is late."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._state = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES - HEAD_READ_BYTES)
        self._is_new = True
        self._is_head_only = False
        peer = writer.get_extra_info("peername")
        self.host = str(peer[0]) if peer else ""

    async def head(self, patience_s: float = 0.0) -> h11.Request | None:
        """The next request's head, None when the client is gone.

        It may be silent for `idle_s` between two requests. From the first byte of a head, and from the beginning of a
        connection, it has `line_s` (or `patience_s`) to finish the head.
        """
        if not self._is_new and not self._state.trailing_data[0]:
            async with asyncio.timeout(self._limits.idle_s or None):
                await self._receive()
        async with asyncio.timeout(patience_s or self._limits.line_s):
            while True:
                event = self._next_event()
                if isinstance(event, h11.Request):
                    self._is_new, self._is_head_only = False, event.method == b"HEAD"
                    return event
                if isinstance(event, h11.ConnectionClosed):
                    return None
                await self._receive()

    async def body(self) -> bytes:
        """The whole body, which must fit into a message; empty when there is none."""
        parts, size = [], 0
        async with asyncio.timeout(self._limits.line_s):
            while True:
                event = self._next_event()
                if isinstance(event, h11.Data):
                    parts.append(bytes(event.data))
                    size += len(event.data)
                    if size > self._limits.message_bytes:
                        raise HttpError(413, f"a message may have {self._limits.message_bytes} bytes")
                elif isinstance(event, h11.EndOfMessage):
                    return b"".join(parts)
                elif isinstance(event, h11.ConnectionClosed):
                    raise TimeoutError
                elif event is h11.NEED_DATA:
                    await self._receive(READ_BYTES)

    async def answer(self, status: int, body: bytes, kind: str = "application/json", close: bool = False) -> bool:
        """Send a response; True when another request may follow on this connection."""
        headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("X-Content-Type-Options", "nosniff")]
        if close:
            headers.append(("Connection", "close"))
        reason = HTTPStatus(status).phrase
        try:
            data = self._state.send(h11.Response(status_code=status, headers=headers, reason=reason)) or b""
            if body and not self._is_head_only:
                data += self._state.send(h11.Data(data=body)) or b""
            data += self._state.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError:
            return False  # an answer was begun already, or the client broke the protocol: nothing more can be said
        await self.send(data)
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        self._state.start_next_cycle()
        return True

    async def send(self, data: bytes) -> None:
        """Write, and wait until the client has taken it."""
        self._writer.write(data)
        async with asyncio.timeout(self._limits.unsent_s):
            await self._writer.drain()

    async def read(self, wait_s: float) -> bytes:
        """Bytes after an upgrade; empty when the client is gone. 0 = wait for ever."""
        async with asyncio.timeout(wait_s or None):
            return await self._reader.read(READ_BYTES)

    def left_over(self) -> bytes:
        """What came after an upgrade's head."""
        return bytes(self._state.trailing_data[0])

    def abort(self) -> None:
        """End it now."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End it after what was written has gone out."""
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.close()
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._state.next_event()
        except h11.RemoteProtocolError as error:
            raise HttpError(error.error_status_hint, str(error)[:200]) from error

    async def _receive(self, most: int = HEAD_READ_BYTES) -> None:
        if self._state.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            await self.send(self._state.send(go_on) or b"")
        self._state.receive_data(await self._reader.read(most))
