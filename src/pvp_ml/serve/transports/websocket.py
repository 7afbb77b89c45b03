"""A WebSocket of small text messages: wsproto says what the frames mean, limits and deadlines are ours."""

from __future__ import annotations

import asyncio

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import FrameProtocol
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from pvp_ml.serve.http_link import HttpError, Link
from pvp_ml.serve.limits import Limits

MAX_PARTS = 1024
MAX_PINGS = 16
"""Pings between two messages."""


def text_frame(text: bytes) -> bytes:
    """A whole text message as a server sends it: encoded once, it can go to many clients."""
    return bytes(FrameProtocol(client=False, extensions=[]).send_data(text.decode(), fin=True))


class WebSocketError(Exception):
    """The peer broke the protocol or a limit; `code` goes into the close frame."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Socket:
    """An upgraded connection."""

    def __init__(self, link: Link, limits: Limits) -> None:
        self._link, self._limits = link, limits
        self._state = WSConnection(ConnectionType.SERVER)

    async def accept(self, head: h11.Request) -> None:
        """Answer the handshake; raises HttpError when it is none."""
        if head.method != b"GET":
            raise HttpError(405, "this path speaks WebSocket: use GET")
        try:
            self._state.initiate_upgrade_connection(list(head.headers.raw_items()), head.target.decode("latin-1"))
            if not any(isinstance(event, Request) for event in self._state.events()):
                raise HttpError(400, "this path speaks WebSocket")
        except (RemoteProtocolError, UnicodeError) as error:
            raise HttpError(400, f"this path speaks WebSocket: {error}"[:200]) from error
        await self._send(AcceptConnection())
        if data := self._link.left_over():
            self._take(data)

    async def message(self) -> bytes | None:
        """The next text message, None when the peer says goodbye; pings are answered on the way, up to a limit.

        The peer may be silent for `idle_s`; a message that has begun must end within `line_s`.
        """
        parts: list[str] = []
        size = pings = 0
        deadline: float | None = None
        clock = asyncio.get_running_loop().time
        while True:
            event = self._next_event()
            if event is None:
                wait_s = self._limits.idle_s if deadline is None else max(0.001, deadline - clock())
                self._take(await self._link.read(wait_s))
            elif isinstance(event, CloseConnection):
                await self._send(event.response())
                return None
            elif isinstance(event, Ping):
                pings += 1
                if pings > MAX_PINGS:
                    raise WebSocketError(1008, f"more than {MAX_PINGS} pings without a message")
                await self._send(event.response())
            elif isinstance(event, BytesMessage):
                raise WebSocketError(1003, "only text messages are read")
            elif isinstance(event, TextMessage):
                parts.append(event.data)
                size += len(event.data.encode())
                if size > self._limits.message_bytes:
                    raise WebSocketError(1009, f"a message may have {self._limits.message_bytes} bytes")
                if len(parts) > MAX_PARTS:
                    raise WebSocketError(1008, "too many fragments")
                if event.message_finished:
                    return "".join(parts).encode()
                deadline = deadline or clock() + self._limits.line_s

    async def say(self, text: bytes) -> None:
        """Send a text message."""
        await self._send(TextMessage(data=text.decode()))

    async def close(self, code: int, reason: str = "") -> None:
        """Say goodbye."""
        await self._send(CloseConnection(code=code, reason=reason[:100]))

    def _next_event(self) -> Event | None:
        try:
            return next(self._state.events(), None)
        except RemoteProtocolError as error:
            hint = error.event_hint
            code = int(hint.code) if isinstance(hint, CloseConnection) else 1002
            raise WebSocketError(code, str(error)) from error

    def _take(self, data: bytes) -> None:
        try:
            self._state.receive_data(data or None)
        except RemoteProtocolError as error:
            raise WebSocketError(1002, str(error)) from error
        except LocalProtocolError as error:  # bytes after the goodbye
            raise TimeoutError from error

    async def _send(self, event: Event) -> None:
        try:
            data = self._state.send(event)
        except LocalProtocolError:
            return  # it is closed already
        await self._link.send(data)
