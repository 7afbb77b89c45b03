"""A running arena, random models, and a WebSocket client that can also misbehave."""

import asyncio
import http.client
import json
import socket
import threading
import time
from urllib.parse import quote

import numpy as np
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from pvp_ml.games import registry
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes
from pvp_ml.web.arena import ArenaConfig
from pvp_ml.web.arenas import Arenas
from pvp_ml.web.guard import ServerConfig
from pvp_ml.web.server import serve_until
from pvp_ml.web.site import Site


def spec_of(game):
    kind = registry.find(game)
    return kind.spec(kind.config())


def bundle_for(game, seed=0, **network):
    """A policy with small random weights; by default with a win head and a critic that sees what is hidden."""
    spec = spec_of(game)
    chosen = {"trunk": (16,), "win_head": True}
    if spec.privileged_size:
        chosen |= {"critic": "separate", "privileged": True}
    shape = NetworkConfig(**(chosen | network))
    rng = np.random.default_rng(seed)
    tensors = {
        name: rng.normal(0, 0.3, size).astype(np.float32) for name, size in tensor_shapes(shape, spec.interface).items()
    }
    return make_bundle(spec, shape, tensors, empty_normalizer(shape, spec.interface))


class Ringside:
    """A site served from a thread of its own, with one game's arena ready; `runs` is a desk, None for no runs."""

    def __init__(self, game, working_directory, folder, token="", host="127.0.0.1", runs=None, **limits):
        config = {k: limits.pop(k) for k in ("against", "seat", "seed", "given") if k in limits}
        self._arena_config = ArenaConfig(game, folder=folder, **config)
        self._place, self._folder, self._runs = working_directory, folder, runs
        self.game = game
        self.config = ServerConfig(host=host, token=token, **limits)
        self._ready = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self):
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        arenas = Arenas(self._place, self.loop.time, self._folder, [self._arena_config])
        self.arena = arenas.get(self.game)
        self.site = Site.of(arenas, self._runs)

        def ready(port):
            self.port = port
            self._ready.set()

        await serve_until(self.site, self.config, ready, self._stop)

    def __enter__(self):
        self._thread.start()
        while not self._ready.wait(1):  # it may compile the fights first: minutes, on a crowded machine
            assert self._thread.is_alive(), "the site does not start"
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(120)
        assert not self._thread.is_alive()

    @property
    def root(self):
        return f"http://127.0.0.1:{self.port}/"

    @property
    def address(self):
        """The page of the game."""
        return f"{self.root}play/{quote(self.arena.kind.name, safe='')}"

    @property
    def api(self):
        """Where everything about the game is asked."""
        return f"/api/games/{quote(self.arena.kind.name, safe='')}"

    def get(self, path, method="GET", body=None, **headers):
        """(status, body, headers) of one request."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            link.request(method, path, body, {"Host": f"127.0.0.1:{self.port}", **headers})
            answer = link.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            link.close()

    def facts(self):
        return json.loads(self.get(self.api)[1])

    def socket(self, **more):
        return Socket(self.port, game=self.arena.kind.name, **more)


class Refused(Exception):
    """The handshake was rejected."""


class Socket:
    """One WebSocket, blocking."""

    def __init__(self, port, token="", origin=None, host=None, game="connect4"):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._inbox, self._text = [], ""
        self.closed = None
        headers = [(b"Origin", origin.encode())] if origin else []
        target = f"/ws/{quote(game, safe='')}" + (f"?token={quote(token)}" if token else "")
        self._accepted = False
        try:
            self._put(Request(host=host or f"127.0.0.1:{port}", target=target, extra_headers=headers))
            while not self._accepted:
                self._pump()
        except BaseException:
            self._socket.close()
            raise

    def _put(self, event):
        self._socket.sendall(self._wire.send(event))

    def raw(self, data):
        self._socket.sendall(data)

    def _pump(self):
        data = self._socket.recv(1 << 16)
        if not data:
            self.closed = self.closed or 1006
            if not self._accepted:
                raise Refused
            return
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, AcceptConnection):
                self._accepted = True
            elif isinstance(event, RejectConnection | RejectData):
                raise Refused
            elif isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    self._inbox.append(json.loads(self._text))
                    self._text = ""
            elif isinstance(event, Ping):
                self._put(event.response())
            elif isinstance(event, CloseConnection):
                self.closed = event.code

    def send(self, **message):
        self._put(TextMessage(data=json.dumps(message)))

    def send_text(self, text):
        self._put(TextMessage(data=text))

    def send_bytes(self, data):
        self._put(BytesMessage(data=data))

    def hear(self, kind=None, limit_s=60.0):
        """The next message, or the next one of that type; others stay for later."""
        end = time.monotonic() + limit_s
        while True:
            for i, message in enumerate(self._inbox):
                if kind is None or message["type"] == kind:
                    return self._inbox.pop(i)
            if self.closed:
                raise ConnectionError(f"closed with {self.closed}")
            if time.monotonic() > end:
                raise TimeoutError(f"no {kind or 'message'} within {limit_s} s")
            self._pump()

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
