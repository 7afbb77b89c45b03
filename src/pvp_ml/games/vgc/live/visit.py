"""`pvp-ml play vgc --server`: a model sits down at a Showdown server, and people challenge it there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.tooling import ServerSeat
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.live.client import LiveConfig, Tell, play_live
from pvp_ml.players import Player
from pvp_ml.spec import GameSpec

LOCAL = "local"


def play_on_server(seat: ServerSeat, player_of: Callable[[GameSpec], Player | str], tell: Tell) -> None:
    """Log in and accept challenges until the battles are played or Ctrl-C."""
    if seat.server != LOCAL and not seat.server.startswith(("ws://", "wss://")):
        raise UserError(
            f"'{seat.server}' is not the address of a websocket", "ws://HOST:PORT/showdown/websocket, or local"
        )
    config = _settings(seat)
    player = player_of(make_spec(config))
    with _address(seat.server, tell) as server, contextlib.suppress(KeyboardInterrupt):
        live = LiveConfig(server, seat.user, seat.password, seat.matches, config=config)
        report = play_live(live, player, np.random.default_rng(seat.seed), tell)
        tell(f"{report.won} won, {report.lost} lost, {report.tied} tied; {len(report.rejected)} choices rejected")


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
