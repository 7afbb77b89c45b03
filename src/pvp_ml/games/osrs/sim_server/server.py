"""The simulation protocol over TCP: our fights for trainers that know the old game server (`pvp-ml sim-server`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import msgspec
import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import DEFAULT_PORT, MAX_REQUEST_BYTES, Envelope, encode_error, read_envelope
from pvp_ml.games.osrs.sim_server.fights import GamePool, warm_up
from pvp_ml.games.osrs.sim_server.world import ACTIONS, World, WorldLimits
from pvp_ml.serve.limits import is_loopback

log = logging.getLogger(__name__)

CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class SimConfig:
    """Where to listen, how fights run, what strangers may do. Times in seconds."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    is_open: bool = False  # the protocol has no secret, so listening beyond this machine must be wanted
    connections: int = 1200
    line_s: float = 30.0  # from the first byte of a line to its last
    unsent_bytes: int = 1 << 20
    seed: int = 0
    switches_on: tuple[str, ...] = ()
    switches_off: tuple[str, ...] = ()
    world: WorldLimits = field(default_factory=WorldLimits)


class SimConnection(asyncio.Protocol):
    """One client: requests one after another, the next is read when the last is answered."""

    def __init__(self, server: SimServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._is_waiting = False
        self._line_since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, or be shown out."""
        self._transport = cast(asyncio.Transport, transport)
        if len(self._server.connections) >= self._server.config.connections:
            self._end(encode_error(f"{self._server.config.connections} connections are open, which is the limit"))
            return
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Its agents are orphans now."""
        self._transport = None
        self._buffer.clear()
        if self in self._server.connections:
            self._server.connections.discard(self)
            self._server.world.orphan(self, self._server.now())

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a line is complete."""
        if self._transport is None or self._transport.is_closing():
            return
        self._buffer += data
        if self._line_since is None:
            self._line_since = self._server.now()
        self._read_lines()

    def _read_lines(self) -> None:
        while not self._is_waiting and self._transport is not None and not self._transport.is_closing():
            end = self._buffer.find(b"\n", 0, MAX_REQUEST_BYTES + 1)
            if end < 0:
                if len(self._buffer) > MAX_REQUEST_BYTES:
                    log.info("closing a client whose line is longer than %d bytes", MAX_REQUEST_BYTES)
                    self._transport.abort()
                break
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._line_since = self._server.now() if self._buffer else None
            if line.strip():
                self._take(line)
        if self._transport is not None and self._is_waiting and len(self._buffer) > MAX_REQUEST_BYTES:
            self._transport.pause_reading()

    def _take(self, line: bytes) -> None:
        request = _read(line)
        if isinstance(request, str):
            self._end(encode_error(request))
            return
        self._is_waiting = True
        self._server.world.handle(request, self, self._server.now(), self._answer)

    def _answer(self, data: bytes) -> None:
        self._is_waiting = False
        transport = self._transport
        if transport is None:
            return
        transport.write(data)
        if transport.get_write_buffer_size() > self._server.config.unsent_bytes:
            log.info("closing a client that does not read its answers")
            transport.abort()
            return
        if self._buffer:  # a turn for the others first
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._transport is not None:
            if not self._transport.is_closing() and not self._transport.is_reading():
                self._transport.resume_reading()
            self._read_lines()

    def _end(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)
            self._transport.close()

    def close_if_late(self, now: float) -> None:
        """End a line that never ends."""
        if self._transport is None or self._is_waiting or self._line_since is None:
            return
        if now - self._line_since > self._server.config.line_s:
            log.info("closing a client whose line was not finished within %g s", self._server.config.line_s)
            self._transport.abort()

    def close(self) -> None:
        """The server ends."""
        if self._transport is not None:
            self._transport.close()


def _read(line: bytes) -> Envelope | str:
    """The request, or what is wrong with it."""
    try:
        request = read_envelope(line)
    except msgspec.ValidationError as error:
        return f"not a request: {str(error)[:200]}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"not one JSON object on one line: {str(error)[:200]}"
    if request.action not in ACTIONS:
        return f"there is no action '{request.action[:40]}'; known: {', '.join(ACTIONS)}"
    return request


class SimServer:
    """Listens, keeps time, and owns the world. Everything runs on the event loop's thread."""

    def __init__(self, config: SimConfig) -> None:
        if not is_loopback(config.host) and not config.is_open:
            raise UserError(
                f"refusing to listen on {config.host or 'all addresses'}: the protocol has no password",
                "use 127.0.0.1 and a tunnel, or say --open-to-network",
            )
        self.config = config
        self._pool = GamePool(config.switches_on, config.switches_off)
        self.world = World(config.world, self._pool, np.random.default_rng(config.seed))
        self.connections: set[SimConnection] = set()
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def now(self) -> float:
        """Seconds on the loop's clock."""
        return asyncio.get_running_loop().time()

    async def start(self) -> int:
        """Listen; gives the port."""
        loop = asyncio.get_running_loop()
        warm_up(self._pool)
        try:
            self._server = await loop.create_server(
                lambda: SimConnection(self), self.config.host, self.config.port, backlog=1024
            )
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(
                f"cannot listen on {self.config.host} port {self.config.port}: {reason}",
                "choose another --port",
            ) from error
        self._tasks.append(loop.create_task(self._check()))
        if self.config.world.tick_s > 0:
            self._tasks.append(loop.create_task(self._keep_time()))
        return int(self._server.sockets[0].getsockname()[1])

    async def _check(self) -> None:
        pause = min(CHECK_S, max(0.01, self.config.world.deadline_s / 4), max(0.01, self.config.world.orphan_s / 4))
        while True:
            await asyncio.sleep(pause)
            now = self.now()
            self.world.expire(now)
            for connection in list(self.connections):
                connection.close_if_late(now)

    async def _keep_time(self) -> None:
        """A tick every `tick_s`; a late tick does not move the later ones, unless a whole one was missed."""
        tick_s, due = self.config.world.tick_s, self.now()
        while True:
            due = max(due + tick_s, self.now() - tick_s)
            await asyncio.sleep(max(0.0, due - self.now()))
            self.world.play_ticks()

    async def stop(self) -> None:
        """Close everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.close()
        await asyncio.sleep(0)
        if self._server is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 2.0)


async def serve_until_stopped(config: SimConfig, tell: Callable[[int], None]) -> None:
    """Serve for ever; `tell` gets the port once it is open."""
    server = SimServer(config)
    tell(await server.start())
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()
