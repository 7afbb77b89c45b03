"""Connections to a simulation server: one per agent, non-blocking, one request at a time, a deadline on everything."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import DEFAULT_PORT, MAX_ANSWER_BYTES

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
_CHUNK = 1 << 16


class Failure(Enum):
    """Why there will be no answer."""

    REFUSED = "the server cannot be reached"
    CLOSED = "the server closed the connection"
    LATE = "the server did not answer in time"
    TOO_LONG = "the answer is longer than an answer may be"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`host`, `host:port`, `[v6]:port` or `:port`."""
        host, separator, port = text.strip().rpartition(":")
        if not separator or port.endswith("]"):
            host, port = text.strip(), str(DEFAULT_PORT)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
            raise UserError(
                f"remote address '{text[:80]}' has no valid port", "write host:port, such as localhost:7070"
            )
        return cls(host.strip("[]") or "localhost", int(port))

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.host}:{self.port}"


@dataclass(eq=False, slots=True)
class Link:
    """One connection. It opens when the first request is sent and again after a failure, with growing pauses."""

    index: int
    socket: socket.socket | None = None
    is_open: bool = False
    deadline: float | None = None  # of the request in flight; None = nothing is in flight
    unsent: bytes = b""
    received: bytearray = field(default_factory=bytearray)
    pause_s: float = FIRST_PAUSE_S
    retry_at: float = 0.0


class Links:
    """All connections of a game, served by one selector inside `poll`."""

    def __init__(self, address: Address, count: int) -> None:
        self.address = address
        self.links = [Link(i) for i in range(count)]
        self._selector = selectors.DefaultSelector()

    def is_connected(self, index: int) -> bool:
        """Whether the connection is open, or about to be."""
        return self.links[index].socket is not None

    def request(self, index: int, line: bytes, deadline: float, now: float) -> Failure | None:
        """Send one line; the answer comes out of `poll`. Gives a failure when it cannot even begin."""
        link = self.links[index]
        assert link.deadline is None, "one request at a time"
        if link.socket is None and not self._connect(link, now):
            return Failure.REFUSED
        link.deadline, link.unsent = deadline, line
        if link.is_open:
            return self._flush(link, now)
        return None

    def in_flight(self, index: int) -> bool:
        """Whether an answer is owed."""
        return self.links[index].deadline is not None

    def drop(self, index: int, now: float, wait: bool = False) -> None:
        """Close a connection: a late answer must not be taken for the answer to something else."""
        link = self.links[index]
        if link.socket is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(link.socket)
            link.socket.close()
        link.socket, link.is_open, link.deadline, link.unsent = None, False, None, b""
        link.received.clear()
        if wait:
            link.retry_at = now + link.pause_s
            link.pause_s = min(2 * link.pause_s, LONGEST_PAUSE_S)

    def poll(self, timeout_s: float, now: float) -> Iterator[tuple[int, bytes | Failure]]:
        """Wait up to that long for anything; gives answers and failures by index.

        Each is read when it is asked for: what follows from one may end the connection of another.
        """
        for key, events in self._selector.select(max(0.0, timeout_s)):
            link: Link = key.data
            if key.fileobj is not link.socket:
                continue
            if events & selectors.EVENT_WRITE:
                failure = self._opened(link, now)
                if failure is not None:
                    yield link.index, failure
                    continue
            if events & selectors.EVENT_READ:
                found = self._read(link, now)
                if found is not None:
                    yield link.index, found

    def overdue(self, now: float) -> Iterator[int]:
        """Requests whose deadline has passed; their connections are closed."""
        for link in self.links:
            if link.deadline is not None and now >= link.deadline:
                self.drop(link.index, now, wait=not link.is_open)
                yield link.index

    def extend(self, seconds: float) -> None:
        """Give every request in flight more time: a server in lock step waits for those who were not asked yet."""
        for link in self.links:
            if link.deadline is not None:
                link.deadline += seconds

    def close(self) -> None:
        """Close everything."""
        for link in self.links:
            self.drop(link.index, 0.0)
        self._selector.close()

    def _connect(self, link: Link, now: float) -> bool:
        try:
            found = socket.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, place = min(found, key=lambda item: item[0] != socket.AF_INET)
            link.socket = socket.socket(family, kind, protocol)
            link.socket.setblocking(False)
            link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(BlockingIOError):
                link.socket.connect(place)
        except OSError:
            self.drop(link.index, now, wait=True)
            return False
        self._selector.register(link.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, link)
        return True

    def _opened(self, link: Link, now: float) -> Failure | None:
        """The connection is ready to be written to, or could not be made."""
        assert link.socket is not None
        if not link.is_open and link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.drop(link.index, now, wait=True)
            return Failure.REFUSED
        link.is_open, link.pause_s = True, FIRST_PAUSE_S
        return self._flush(link, now)

    def _flush(self, link: Link, now: float) -> Failure | None:
        assert link.socket is not None
        try:
            while link.unsent:
                link.unsent = link.unsent[link.socket.send(link.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(link.index, now)
            return Failure.CLOSED
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.unsent else 0)
        if self._selector.get_key(link.socket).events != events:
            self._selector.modify(link.socket, events, link)
        return None

    def _read(self, link: Link, now: float) -> bytes | Failure | None:
        """A whole line, a failure, or nothing yet."""
        if link.socket is None:
            return None
        try:
            data = link.socket.recv(_CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            was_open = link.is_open
            self.drop(link.index, now, wait=True)
            return Failure.CLOSED if was_open else Failure.REFUSED
        link.received += data
        end = link.received.find(b"\n")
        if end >= 0 and link.deadline is not None:
            line = bytes(link.received[:end])
            link.received.clear()  # strict request and response: anything more was not asked for
            link.deadline = None
            return line
        if len(link.received) > MAX_ANSWER_BYTES or (end >= 0 and link.deadline is None):
            self.drop(link.index, now)
            return Failure.TOO_LONG
        return None
