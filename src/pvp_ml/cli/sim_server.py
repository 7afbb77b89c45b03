"""`pvp-ml sim-server`: a game behind a protocol that other trainers speak."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from pvp_ml.games import registry
from pvp_ml.games.tooling import SimServerOptions

_DEFAULTS = SimServerOptions()


def sim_server(options: Annotated[SimServerOptions, Parameter(name="*")] = _DEFAULTS) -> None:
    """Serve NH and Dharok fights to trainers that speak the simulation protocol, until Ctrl-C."""
    registry.ability(lambda tools: tools.sim_server, "simulation server").serve(options)
