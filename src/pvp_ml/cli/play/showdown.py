"""`pvp-ml play vgc --server`: a model sits down at a Showdown server, and people challenge it there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.selfplay.evaluate import find_contestant

if TYPE_CHECKING:
    from pvp_ml.cli.play.command import PlayOptions

LOCAL = "local"
MAX_PASSWORD_BYTES = 1000


def play_on_server(game: str, options: PlayOptions) -> None:
    """Log in and accept challenges until the battles are played or Ctrl-C."""
    from pvp_ml.games.vgc.config import VgcConfig
    from pvp_ml.games.vgc.live.client import LiveConfig, play_live

    kind = registry.find(game)
    if kind.name != "vgc":
        raise UserError(f"'{game}' is not played on servers", "only vgc is")
    if options.server != LOCAL and not options.server.startswith(("ws://", "wss://")):
        raise UserError(
            f"'{options.server}' is not the address of a websocket", "ws://HOST:PORT/showdown/websocket, or local"
        )
    chosen = {"format": options.format} if options.format else {}
    config = registry.configure(kind, {**chosen, "teams": (options.team,) if options.team else ()})
    assert isinstance(config, VgcConfig)
    spec = kind.spec(config)
    contestant = find_contestant(options.against or "player:random", spec, Path.cwd(), options.greedy)
    if contestant.make is None:
        raise UserError(f"'{contestant.name}' is a bot inside the game", "name a model: --against MODEL.zip")
    password = read_password(options.password_file)
    with address(options.server) as server, contextlib.suppress(KeyboardInterrupt):
        live = LiveConfig(server, options.user, password, options.battles, config=config)
        report = play_live(live, contestant.make(spec), np.random.default_rng(options.seed), print)
        print(f"{report.won} won, {report.lost} lost, {report.tied} tied; {len(report.rejected)} choices rejected")


@contextlib.contextmanager
def address(server: str) -> Iterator[str]:
    """The address itself, or that of a server that is started for it and ends with it."""
    if server != LOCAL:
        yield server
        return
    from pvp_ml.games.vgc.live.showdown_server import local_server

    with local_server() as (_, port):
        print(f"Showdown server on port {port}; point a client at it: http://localhost:{port}")
        yield f"ws://127.0.0.1:{port}/showdown/websocket"


def read_password(file: Path | None) -> str:
    """The first line of the file; '' without one."""
    if file is None:
        return ""
    try:
        with file.open("rb") as opened:
            return opened.readline(MAX_PASSWORD_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the password in '{file}': {error}"[:200]) from None
