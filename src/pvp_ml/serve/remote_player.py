"""A player that lives behind a server: somebody else's program takes the seats, as `pvp-ml eval --against tcp://…`."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.players import KeyArray, SerialArray
from pvp_ml.serve.client import read_reply
from pvp_ml.serve.wire import Request, encode_request
from pvp_ml.spec import GameSpec

UNDER_WAY = 32  # below what a server lets one connection have under way
DEADLINE_MS = 10_000.0
PREFIX = "tcp://"


class RemotePlayer:
    """Asks `tcp://host:port/model`, many questions at a time. The server's own randomness decides, not the keys."""

    def __init__(self, url: str, spec: GameSpec, greedy: bool = False, timeout_s: float = 30.0) -> None:
        parts = urlsplit(url)
        if not url.startswith(PREFIX) or not parts.hostname:
            raise UserError(f"'{url}' is no address", "write tcp://127.0.0.1:9999/model")
        self._url = url
        self._address = (parts.hostname, parts.port or 9999)
        self._model = parts.path.lstrip("/")
        self._token = parts.password or parts.username or ""
        self._greedy = greedy
        self._timeout_s = timeout_s
        self._heads = len(spec.heads)
        self._offsets = np.cumsum([0, *spec.head_sizes])
        self._socket: socket.socket | None = None
        self._left = b""

    def begin(self, serials: SerialArray) -> None:
        """The server is asked match by match anyway."""

    def end(self, serials: SerialArray) -> None:
        """Nothing is kept here."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """One question per row; an error of the server ends the evaluation."""
        actions = np.zeros((len(obs), self._heads), np.int32)
        try:
            for low in range(0, len(obs), UNDER_WAY):
                rows = range(low, min(low + UNDER_WAY, len(obs)))
                self._connect().sendall(b"".join(self._line(obs[i], mask[i]) for i in rows))
                for i in rows:
                    actions[i] = read_reply(self._read_line())[0].action
        except OSError as error:
            raise UserError(f"'{self._url}' does not answer: {error}", "is the server running?") from error
        except ValueError as error:
            raise UserError(f"'{self._url}' answers for another game: {error}") from error
        return actions

    def _line(self, obs: FloatArray, mask: BoolArray) -> bytes:
        masks = [mask[a:b].tolist() for a, b in zip(self._offsets[:-1], self._offsets[1:], strict=True)]
        return encode_request(
            Request([obs.tolist()], masks, self._model, self._greedy, token=self._token, deadlineMs=DEADLINE_MS)
        )

    def _connect(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _read_line(self) -> bytes:
        connection = self._connect()
        while b"\n" not in self._left:
            data = connection.recv(1 << 16)
            if not data or len(self._left) > 1 << 20:
                raise ConnectionError("it hung up")
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line

    def __del__(self) -> None:
        """Hang up."""
        if getattr(self, "_socket", None) is not None:
            assert self._socket is not None
            self._socket.close()
