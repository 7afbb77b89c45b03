"""Asking a server from Python: `Client` waits for each answer, `AsyncClient` has many questions under way at once.

    with Client("127.0.0.1", 9999) as client:
        action = client.predict(obs, masks, model="nh-core").action

Needs numpy-free lists or anything with `tolist()`. A connection that the server closed while nothing was asked is
opened again; what a model with memory remembered of it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from pvp_ml.errors import UserError
from pvp_ml.serve.wire import Answer, Request, encode_request

MAX_LINE_BYTES = 1 << 20


class ServerError(UserError):
    """The server answered with an error; `code` is one of wire.ErrorCode."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Lost(UserError):  # noqa: N818 - the fact, not the class, is the error
    """The server cannot be reached, is too slow, or hung up."""


class _Reply(msgspec.Struct):
    action: list[int] = []
    logProb: float | None = None  # noqa: N815
    entropy: list[float] | None = None
    values: list[float] | float | None = None
    probs: list[list[float]] | None = None
    extensionResults: list[Any] = []  # noqa: N815
    id: str | int | None = None
    error: dict[str, str] | None = None


_decoder = msgspec.json.Decoder(_Reply)


def make_request(obs: Any, masks: Any, **fields: Any) -> Request:
    """A request from arrays or lists; a flat `obs` is one frame. `fields` are those of wire.Request."""
    frames = _plain(obs)
    if not frames or not isinstance(frames[0], list):
        frames = [frames]
    return Request(frames, [_plain(mask) for mask in masks], **fields)


def _plain(values: Any) -> list[Any]:
    return list(values.tolist()) if hasattr(values, "tolist") else [_plain_item(v) for v in values]


def _plain_item(value: Any) -> Any:
    return _plain(value) if hasattr(value, "tolist") or isinstance(value, Sequence) else value


def read_reply(line: bytes) -> tuple[Answer, str | int | None]:
    """The answer and its id; raises ServerError for an error."""
    try:
        reply = _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise Lost(f"the server's answer makes no sense: {error}") from error
    if reply.error is not None:
        raise ServerError(reply.error.get("code", "internal"), reply.error.get("message", ""))
    answer = Answer(reply.action, reply.logProb, reply.entropy, reply.values, reply.probs, reply.extensionResults)
    return answer, reply.id


class Client:
    """One connection, one question at a time. Not for several threads."""

    def __init__(self, host: str = "127.0.0.1", port: int = 9999, token: str = "", timeout_s: float = 5.0) -> None:
        self._address = (host, port)
        self._token = token
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._left = b""

    def __enter__(self) -> Self:
        """Connects with the first question."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        self.close()

    def predict(self, obs: Any, masks: Any, **fields: Any) -> Answer:
        """Ask for one decision; `fields`: model, deterministic, returnProbs … as in wire.Request."""
        return self.ask(make_request(obs, masks, **{"token": self._token, **fields}))

    def ask(self, request: Request) -> Answer:
        """Send a request and wait for its answer."""
        is_old = self._socket is not None
        try:
            return read_reply(self._exchange(request))[0]
        except OSError as error:
            self.close()
            if is_old and isinstance(error, ConnectionError):  # probably closed because it was idle: ask again
                return self.ask(request)
            raise Lost(f"no answer from {self._address[0]}:{self._address[1]}: {error}", "is it running?") from error

    def _exchange(self, request: Request) -> bytes:
        connection = self._connect()
        connection.sendall(encode_request(request))
        return self._read_line(connection)

    def close(self) -> None:
        """Hang up; the next question connects again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._left = b""

    def _connect(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _read_line(self, connection: socket.socket) -> bytes:
        while b"\n" not in self._left:
            data = connection.recv(1 << 16)
            if not data or len(self._left) > MAX_LINE_BYTES:
                raise ConnectionError("the server hung up")
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line


class AsyncClient:
    """One connection, many questions under way; answers find their question by id."""

    def __init__(self, host: str = "127.0.0.1", port: int = 9999, token: str = "", timeout_s: float = 5.0) -> None:
        self._address = (host, port)
        self._token = token
        self._timeout_s = timeout_s
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._next_id = 0
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Connects with the first question."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hang up."""
        await self.close()

    async def predict(self, obs: Any, masks: Any, **fields: Any) -> Answer:
        """Ask for one decision; may be called again before the answer has come."""
        writer = await self._connect()
        self._next_id += 1
        number = self._next_id
        request = make_request(obs, masks, **{"token": self._token, **fields, "id": number})
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            writer.write(encode_request(request))
            line = await asyncio.wait_for(future, self._timeout_s)
        except (OSError, TimeoutError) as error:
            raise Lost(f"no answer from {self._address[0]}:{self._address[1]}: {error}", "is it running?") from error
        finally:
            self._waiting.pop(number, None)
        return read_reply(line)[0]

    async def close(self) -> None:
        """Hang up; questions under way fail."""
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
        if self._writer is not None:
            self._writer.close()
        self._writer = self._reading = None

    async def _connect(self) -> asyncio.StreamWriter:
        async with self._connecting:
            if self._writer is None or self._reading is None or self._reading.done():
                try:
                    opening = asyncio.open_connection(*self._address, limit=MAX_LINE_BYTES)
                    reader, self._writer = await asyncio.wait_for(opening, self._timeout_s)
                except (OSError, TimeoutError) as error:
                    raise Lost(f"cannot reach {self._address[0]}:{self._address[1]}", "is it running?") from error
                self._reading = asyncio.create_task(self._read(reader))
            assert self._writer is not None
            return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Hand each line to who waits for its id."""
        try:
            while line := await reader.readline():
                number = msgspec.json.decode(line, type=_IdOnly).id
                future = self._waiting.get(number) if isinstance(number, int) else None
                if future is not None and not future.done():
                    future.set_result(line)
        except (OSError, ValueError, msgspec.DecodeError):
            pass
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("the server hung up"))


class _IdOnly(msgspec.Struct):
    id: str | int | None = None
