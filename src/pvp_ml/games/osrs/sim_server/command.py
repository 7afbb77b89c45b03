"""`pvp-ml sim-server` as the flags say it: our fights behind the protocol of the old game server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import DEFAULT_PORT
from pvp_ml.games.osrs.sim_server.server import SimConfig, serve_until_stopped
from pvp_ml.games.osrs.sim_server.world import WorldLimits
from pvp_ml.games.tooling import SimServerOptions

TICK_S = 0.6


def serve(options: SimServerOptions) -> None:
    """Serve NH and Dharok fights until Ctrl-C."""
    config = to_config(options)
    signal.signal(signal.SIGTERM, _stop)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_until_stopped(config, lambda port: _tell(config, port)))


def to_config(options: SimServerOptions) -> SimConfig:
    """The flags as the server wants them."""
    if options.deadline <= 0 or options.max_agents < 1:
        raise UserError("--deadline and --max-agents must be above 0")
    if options.lock_step and options.mode == "real-time":
        raise UserError("--lock-step and --mode real-time exclude each other", "give one of them")
    return SimConfig(
        host=options.host,
        port=_port() if options.port is None else options.port,
        is_open=options.open_to_network,
        connections=options.max_agents + 200,
        seed=secrets.randbits(63) if options.seed is None else options.seed,
        switches_on=options.switches_on,
        switches_off=options.switches_off,
        world=WorldLimits(
            agents=options.max_agents,
            deadline_s=options.deadline,
            tick_s=TICK_S if options.mode == "real-time" else 0.0,
            is_lock_step=options.lock_step,
        ),
    )


def _port() -> int:
    text = os.environ.get("REMOTE_ENV_PORT", "")
    if text and not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise UserError(f"REMOTE_ENV_PORT is {text[:40]!r}", "a port number is expected")
    return int(text or DEFAULT_PORT)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _tell(config: SimConfig, port: int) -> None:
    mode = "real time" if config.world.tick_s else "lock step"
    print(f"fights on {config.host} port {port}, {mode}; Ctrl-C ends it", flush=True)
