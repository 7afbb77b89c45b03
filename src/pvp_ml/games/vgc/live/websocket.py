"""A connection to a websocket server: a thread reads messages into a queue, anybody may send."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping, RejectConnection, Request, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

CONNECT_S = 30.0
READ_BYTES = 1 << 16
MAX_MESSAGE = 8 << 20
"""Characters of one message; the whole log of a long battle has a tenth of that."""


class ConnectionCutError(Exception):
    """The connection could not be made, or is gone."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One message; `text` is None when the connection `life` ended."""

    life: int
    text: str | None


class WebSocket:
    """One connection. `silent_s` tells for how long the server has sent nothing, pongs included."""

    def __init__(self, url: str, inbox: queue.SimpleQueue[Heard], life: int = 0) -> None:
        parts = urlsplit(url)
        is_safe = parts.scheme == "wss"
        host, port = parts.hostname or "", parts.port or (443 if is_safe else 80)
        self._life, self._inbox, self._lock = life, inbox, threading.Lock()
        self._state, self._parts, self._size = WSConnection(ConnectionType.CLIENT), [""], 0
        self._last = time.monotonic()
        try:
            plain = socket.create_connection((host, port), CONNECT_S)
            context = ssl.create_default_context() if is_safe else None
            self._socket = context.wrap_socket(plain, server_hostname=host) if context else plain
            self._socket.sendall(self._state.send(Request(host=f"{host}:{port}", target=parts.path or "/")))
            self._await_welcome()
        except (OSError, RemoteProtocolError) as error:
            raise ConnectionCutError(str(error)) from None
        self._socket.settimeout(None)
        self._thread = threading.Thread(target=self._listen, name=f"showdown-{life}", daemon=True)
        self._thread.start()

    @property
    def silent_s(self) -> float:
        """Seconds since anything came."""
        return time.monotonic() - self._last

    def send(self, text: str) -> None:
        """One message; raises ConnectionCutError when the connection is gone."""
        self._send(TextMessage(text))

    def ping(self) -> None:
        """Ask whether somebody is there; the answer counts as something heard."""
        self._send(Ping())

    def close(self) -> None:
        """Hang up. The inbox still gets its goodbye."""
        with contextlib.suppress(ConnectionCutError):
            self._send(CloseConnection(1000))
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5.0)
        self._socket.close()

    def _await_welcome(self) -> None:
        """Read until the server has accepted; what came with it is kept."""
        while True:
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise ConnectionCutError("the server hung up")
            self._state.receive_data(data)
            for event in self._state.events():
                if isinstance(event, AcceptConnection):
                    for later in self._state.events():
                        self._take(later)
                    return
                if isinstance(event, RejectConnection):
                    raise ConnectionCutError(f"the server answered {event.status_code}")

    def _send(self, event: Event) -> None:
        try:
            with self._lock:
                self._socket.sendall(self._state.send(event))
        except (OSError, LocalProtocolError) as error:
            raise ConnectionCutError(str(error)) from None

    def _listen(self) -> None:
        with contextlib.suppress(OSError, RemoteProtocolError, LocalProtocolError, ConnectionCutError, ValueError):
            while data := self._socket.recv(READ_BYTES):
                self._last = time.monotonic()
                self._state.receive_data(data)
                for event in self._state.events():
                    self._take(event)
        self._inbox.put(Heard(self._life, None))

    def _take(self, event: Event) -> None:
        if isinstance(event, TextMessage):
            self._size += len(event.data)
            if self._size > MAX_MESSAGE:
                raise ConnectionCutError(f"a message has more than {MAX_MESSAGE} characters")
            self._parts.append(event.data)
            if event.message_finished:
                self._inbox.put(Heard(self._life, "".join(self._parts)))
                self._parts, self._size = [], 0
        elif isinstance(event, Ping):
            self._send(event.response())
        elif isinstance(event, CloseConnection):
            raise ConnectionCutError("the server said goodbye")
