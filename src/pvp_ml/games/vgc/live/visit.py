"""`pvp-ml play vgc --server`: a player sits down at a Showdown server, accepts challenges or looks for battles."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.tooling import ServerSeat
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.formats import server_name
from pvp_ml.games.vgc.live.client import LiveConfig, Stop, Tell, play_live
from pvp_ml.players import Player
from pvp_ml.spec import GameSpec

LOCAL = "local"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def play_on_server(seat: ServerSeat, player_of: Callable[[GameSpec], Player | str], tell: Tell) -> None:
    """Log in and play until the battles are over or somebody stops us."""
    if seat.server != LOCAL and not seat.server.startswith(("ws://", "wss://")):
        raise UserError(
            f"'{seat.server}' is not the address of a websocket", "ws://HOST:PORT/showdown/websocket, or local"
        )
    config = _settings(seat)
    player = player_of(make_spec(config))
    try:
        with _address(seat.server, tell) as server, stopping(tell) as stop:
            live = LiveConfig(
                server, seat.user, seat.password, seat.matches, ladder=seat.ladder, timer=seat.ladder,
                format=server_name(seat.format), results=seat.results, config=config,
            )  # fmt: skip
            report = play_live(live, player, np.random.default_rng(seat.seed), tell, stop)
            tell(report.text())
    finally:
        if callable(close := getattr(player, "close", None)):
            close()


@contextlib.contextmanager
def stopping(tell: Tell) -> Iterator[Stop]:
    """Ctrl-C and SIGTERM ask us to stop; where signals cannot be handled, nobody does."""
    stop = Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked += 1
        tell("stopping after this battle; once more gives it up" if stop.asked == 1 else "giving up")

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = [signal.signal(number, ask) for number in SIGNALS]
    try:
        yield stop
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


def _settings(seat: ServerSeat) -> VgcConfig:
    from pvp_ml.games import registry
    from pvp_ml.games.vgc import GAME

    chosen: dict[str, Any] = dict(seat.settings)
    if seat.format:
        chosen["format"] = seat.format
    if seat.team:
        chosen["teams"] = (seat.team,)
    config = registry.configure(GAME, chosen)
    assert isinstance(config, VgcConfig)
    return config


@contextlib.contextmanager
def _address(server: str, tell: Tell) -> Iterator[str]:
    """The address itself, or that of a server that is started for it and ends with it."""
    if server != LOCAL:
        yield server
        return
    from pvp_ml.games.vgc.live.showdown_server import local_server

    with local_server() as (_, port):
        tell(f"Showdown server on port {port}; point a client at it: http://localhost:{port}")
        yield f"ws://127.0.0.1:{port}/showdown/websocket"
