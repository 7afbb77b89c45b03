"""A running server: what it serves, where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.bundle import model_name, read_bundle
from pvp_ml.model.dial import Dial, settled
from pvp_ml.serve.engine import Engine
from pvp_ml.serve.held_back import HeldBackModel
from pvp_ml.serve.http_link import READ_BYTES
from pvp_ml.serve.limits import Limits, check_exposure, is_loopback
from pvp_ml.serve.models import PluginModel, PolicyModel
from pvp_ml.serve.runtimes import NUMPY, RuntimeType
from pvp_ml.serve.transports.http import HttpSide
from pvp_ml.serve.transports.tcp import Gate, LineConnection

log = logging.getLogger(__name__)

SWEEP_S = 1.0
DRAIN_S = 3.0
"""How long the end waits for requests that were accepted."""
DEFAULT_PORT = 9999


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """What to serve and where. `side_port` None: no HTTP; 0 as a port: the system chooses one."""

    models: tuple[Path, ...] = ()
    dials: Mapping[str, Dial] = field(default_factory=dict)  # of models that are held back, by name
    models_dir: Path | None = None
    plugins: tuple[str, ...] = ()
    game: str = ""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    side_port: int | None = None
    token: str = ""
    origins: frozenset[str] = frozenset()
    float_values: bool = False
    closes_on_error: bool = False  # as the old protocol has it, instead of an answer that says what is wrong
    reload_s: float = 2.0
    seed: int = 0
    runtimes: tuple[RuntimeType, ...] = (NUMPY,)  # more than one: the fastest for each batch size, as measured
    limits: Limits = field(default_factory=Limits)


class LoadedModels:
    """The served files: loads them, and loads them again when they change."""

    def __init__(self, config: ServeConfig, engine: Engine) -> None:
        self._config = config
        self._engine = engine
        self._seen: dict[str, tuple[Path, int, int]] = {}
        self._unasked: set[str] = set()
        self.games: dict[str, str] = {}

    def paths(self) -> dict[str, Path]:
        """Name → file; a name given twice belongs to the first."""
        found: dict[str, Path] = {}
        listed = sorted(self._config.models_dir.glob("*.zip")) if self._config.models_dir else []
        for path in (*self._config.models, *listed):
            found.setdefault(model_name(path), path)
        return found

    def load(self) -> None:
        """Load everything once. A file that was named and cannot be read is an error, one of a folder is left out."""
        if self._config.models_dir is not None and not self._config.models_dir.is_dir():
            raise UserError(f"there is no folder '{self._config.models_dir}'", "see --models-dir")
        asked = {model_name(path) for path in self._config.models}
        for name, path in self.paths().items():
            try:
                self._put(name, path, _stamp(path), self._make(name, path))
            except Exception as error:  # whatever is wrong with one file of a folder, the others are served
                if name in asked and isinstance(error, UserError):
                    raise
                if name in asked:
                    raise UserError(
                        f"model '{name}' cannot be used: {_reason(error)}", f"see `pvp-ml model verify {path}`"
                    ) from error
                log.warning("'%s' cannot be used and is skipped: %s", name, _reason(error))
        for name in self._config.plugins:
            self._engine.put(self._plugin(name))
        self._add_unasked(asked)
        if not self._engine.models:
            where = f"'{self._config.models_dir}'" if self._config.models_dir else "the command line"
            raise UserError(f"there is no model in {where}", "give --model FILE, --models-dir or --plugin NAME")

    async def refresh(self) -> None:
        """Load new and changed files and drop deleted ones; if a new file is bad, the old model keeps serving."""
        paths = self.paths()
        for name, path in paths.items():
            try:
                stamp = _stamp(path)
            except OSError:
                continue
            if self._seen.get(name) == (path, *stamp):
                continue
            try:
                self._put(name, path, stamp, await asyncio.to_thread(self._make, name, path))
                log.warning("reloaded '%s'", name)
            except Exception as error:  # whatever is wrong with one file, the others are served and looked after
                self._seen[name] = (path, *stamp)
                log.warning(
                    "the new version of '%s' cannot be used, still serving the old one: %s", name, _reason(error)
                )
        for name in [name for name in self._seen if name not in paths]:
            del self._seen[name]
            self._engine.remove(name)
            log.warning("'%s' was deleted and is no longer served", name)

    def _make(self, name: str, path: Path) -> PolicyModel:
        """Read, build and warm up: all that takes time."""
        config = self._config
        bundle = read_bundle(path)
        if name in config.dials:
            dial = settled(config.dials[name], path, bundle.content_hash, bundle.metadata.game)
            return HeldBackModel(name, bundle, config.limits.batch, config.float_values, dial)
        model = PolicyModel(name, bundle, config.limits.batch, config.float_values, config.runtimes)
        model.warm_up()
        if len(config.runtimes) > 1:
            log.info("'%s' by batch size: %s", name, ", ".join(f"{n} {e}" for n, e in model.engines.items()))
        return model

    def _put(self, name: str, path: Path, stamp: tuple[int, int], model: PolicyModel) -> None:
        self._seen[name] = (path, *stamp)
        self.games[name] = model.bundle.metadata.game
        if name not in self._config.plugins and name not in self._unasked:  # plugins win on a clash
            self._engine.put(model)

    def _add_unasked(self, asked: set[str]) -> None:
        """The scripted players that go with the games of the models; only a file that was named goes before them."""
        kinds = (registry.find(game) for game in sorted(set(self.games.values()) & set(registry.names())))
        for kind in kinds:
            spec = kind.spec(kind.config())
            for player in kind.tooling.served_players:
                if player.name not in asked and player.name not in self._config.plugins:
                    self._unasked.add(player.name)
                    self._engine.put(PluginModel(player.name, player.make(spec), spec, is_unasked=True))

    def _plugin(self, name: str) -> PluginModel:
        games = (
            {self._config.game} if self._config.game else set(self.games.values()) | set(players.find(name).games[:1])
        )
        if len(games) != 1:
            raise UserError(f"plugin '{name}': which game?", "say it with --game")
        game = registry.find(games.pop())
        spec = game.spec(game.config())
        return PluginModel(name, players.make(name, spec), spec)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"[:300]


def _stamp(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


class Server:
    """Async context manager: listening inside. `ports` holds the real ports."""

    def __init__(self, config: ServeConfig) -> None:
        check_exposure(config.host, config.token)
        self._config = config
        self._servers: list[asyncio.Server] = []
        self._sweeper: asyncio.Task[None] | None = None
        self._side: HttpSide | None = None
        self.gate = Gate(config.limits, config.token, closes_on_error=config.closes_on_error)
        self.engine: Engine | None = None
        self.ports: tuple[int, int | None] = (0, None)

    async def __aenter__(self) -> Server:
        """Load the models, then listen."""
        loop = asyncio.get_running_loop()
        config = self._config
        self.engine = engine = Engine(config.limits, config.seed, loop.time, loop.call_soon)
        models = LoadedModels(config, engine)
        models.load()
        line = await _listen(
            lambda: loop.create_server(lambda: LineConnection(engine, self.gate, loop.time), config.host, config.port),
            config.host,
            config.port,
        )
        self._servers.append(line)
        side_port: int | None = None
        if config.side_port is not None:
            side = self._side = HttpSide(engine, self.gate, is_loopback(config.host), config.origins)
            port = config.side_port
            try:
                http = await _listen(
                    lambda: asyncio.start_server(side.handle, config.host, port, limit=READ_BYTES),
                    config.host,
                    port,
                )
            except BaseException:
                line.close()
                raise
            self._servers.append(http)
            side_port = http.sockets[0].getsockname()[1]
        self.ports = (line.sockets[0].getsockname()[1], side_port)
        self._sweeper = asyncio.create_task(self._sweep(models, loop.time))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening, answer what was accepted within DRAIN_S, say goodbye."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        for server in self._servers:
            server.close()
        for connection in list(self.gate.open):
            connection.stop_reading()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while any(c.owes for c in self.gate.open) or (self._side is not None and self._side.busy):
                    await asyncio.sleep(0.005)
        for connection in list(self.gate.open):
            connection.close()
        if self._side is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self._side.end()
        await asyncio.sleep(0)

    async def _sweep(self, models: LoadedModels, clock: Callable[[], float]) -> None:
        """Look after clients and files for ever: a round that fails is logged and the next one is tried."""
        next_reload = clock() + self._config.reload_s
        while True:
            await asyncio.sleep(SWEEP_S)
            now = clock()
            try:
                for connection in list(self.gate.open):
                    connection.close_if_late(now)
                if self._config.reload_s and now >= next_reload:
                    next_reload = now + self._config.reload_s
                    await models.refresh()
            except Exception:
                log.exception("looking after clients and models failed; trying again")


async def _listen(open_server: Callable[[], object], host: str, port: int) -> asyncio.Server:
    try:
        server = await open_server()  # type: ignore[misc]
    except (OSError, OverflowError) as error:
        raise UserError(
            f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}",
            "stop the other program or choose --port",
        ) from error
    assert isinstance(server, asyncio.Server)
    return server


async def serve_until_stopped(config: ServeConfig, ready: Callable[[tuple[int, int | None]], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the ports."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
            loop.add_signal_handler(number, stop.set)
    async with Server(config) as server:
        ready(server.ports)
        await stop.wait()
