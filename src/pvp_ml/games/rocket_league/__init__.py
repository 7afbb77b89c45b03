"""Rocket League on RocketSim: cars, a ball, two goals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pvp_ml.games.registry import GameType
from pvp_ml.games.rocket_league.config import RocketLeagueConfig

if TYPE_CHECKING:
    from pvp_ml.games.rocket_league.game import RocketLeagueGame
    from pvp_ml.spec import GameSpec


def _spec(config: RocketLeagueConfig) -> GameSpec:
    from pvp_ml.games.rocket_league.describe import describe

    return describe(config)


def _build(config: RocketLeagueConfig, matches: int) -> RocketLeagueGame:
    from pvp_ml.games.rocket_league.game import RocketLeagueGame

    return RocketLeagueGame(config, matches)


def _setup(progress: Callable[[str], None]) -> None:
    from pvp_ml.games.rocket_league.mesh_setup import setup

    setup(progress)


def _action_notes(config: RocketLeagueConfig) -> list[str]:
    from pvp_ml.games.rocket_league.actions import report

    return report(config).lines()


GAME = GameType(
    name="rocket_league",
    title="Rocket League (RocketSim)",
    config=RocketLeagueConfig,
    spec=_spec,
    build=_build,
    status="tested",
    setup=_setup,
    symmetric=True,
    action_notes=_action_notes,
)
