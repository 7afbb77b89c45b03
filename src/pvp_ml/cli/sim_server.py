"""`pvp-ml sim-server`: our OSRS fights behind the protocol of the old game server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from dataclasses import dataclass, replace
from typing import Literal

from cyclopts import Parameter

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import DEFAULT_PORT
from pvp_ml.serve.sim_server.arena import ArenaLimits
from pvp_ml.serve.sim_server.server import SimConfig, serve_until_stopped

TICK_S = 0.6
LIMITS = ArenaLimits()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimOptions:
    """The flags of `pvp-ml sim-server`.

    Attributes:
        port: default: $REMOTE_ENV_PORT, or 7070
        host: address to listen on; the protocol has no password
        open_to_network: allow an address that other machines can reach
        mode: lock-step = a fight goes on when both sides have spoken; real-time = a tick every 600 ms
        deadline: seconds that an agent may keep its opponent waiting before the fight is void
        max_agents: agents at once
        seed: of fights that do not ask for a seed; default: a secret one
        switches_on: rule switches to set to the reference's behaviour, such as damage_received_zero
        switches_off: rule switches to set away from it
    """

    port: int | None = None
    host: str = "127.0.0.1"
    open_to_network: bool = False
    mode: Literal["lock-step", "real-time"] = "lock-step"
    deadline: float = LIMITS.deadline_s
    max_agents: int = LIMITS.agents
    seed: int | None = None
    switches_on: tuple[str, ...] = ()
    switches_off: tuple[str, ...] = ()


_DEFAULTS = SimOptions()


def sim_server(options: SimOptions = _DEFAULTS) -> None:
    """Serve NH and Dharok fights to trainers that speak the simulation protocol, until Ctrl-C."""
    config = to_config(options)
    signal.signal(signal.SIGTERM, _stop)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_until_stopped(config, lambda port: _tell(config, port)))


def to_config(options: SimOptions) -> SimConfig:
    """The flags as the server wants them."""
    if options.deadline <= 0 or options.max_agents < 1:
        raise UserError("--deadline and --max-agents must be above 0")
    limits = replace(
        LIMITS,
        deadline_s=options.deadline,
        agents=options.max_agents,
        tick_s=TICK_S if options.mode == "real-time" else 0.0,
    )
    return SimConfig(
        host=options.host,
        port=_port() if options.port is None else options.port,
        is_open=options.open_to_network,
        connections=options.max_agents + 200,
        seed=secrets.randbits(63) if options.seed is None else options.seed,
        switches_on=options.switches_on,
        switches_off=options.switches_off,
        arena=limits,
    )


def _port() -> int:
    text = os.environ.get("REMOTE_ENV_PORT", "")
    if text and not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise UserError(f"REMOTE_ENV_PORT is {text[:40]!r}", "a port number is expected")
    return int(text or DEFAULT_PORT)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _tell(config: SimConfig, port: int) -> None:
    mode = "real time" if config.arena.tick_s else "lock step"
    print(f"fights on {config.host} port {port}, {mode}; Ctrl-C ends it", flush=True)
