"""Rocket League on RocketSim: cars, a ball, two goals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pvp_ml.games.registry import GameType
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.match import StepBuffers, VecGame
from pvp_ml.spec import Figure

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
    from pvp_ml.games.rocket_league.arena.mesh_setup import setup

    setup(progress)


def _action_notes(config: RocketLeagueConfig) -> list[str]:
    from pvp_ml.games.rocket_league.actions import report

    return report(config).lines()


def _narrate(steps: Iterable[tuple[VecGame, StepBuffers]]) -> Iterator[str]:
    from pvp_ml.games.rocket_league.show.narrate import narrate

    return narrate(steps)


def _show(view: dict[str, Any]) -> None:
    from pvp_ml.games.rocket_league.show.view import show

    show(view)


FIGURES = (
    Figure("touches", "a minute", ("touches",), ("minutes",)),
    Figure("goals", "a minute", ("team_goals",), ("minutes",)),
    Figure("conceded", "a minute", ("conceded",), ("minutes",)),
    Figure("air_touches", "a minute", ("air_touches",), ("minutes",)),
    Figure("turtle_recovery", "of turtles", ("turtle_recoveries",), ("turtles",)),
    Figure("mechanics_touches", "a match of the lane", ("mechanics_touches",), ("mechanics",)),
    Figure("mechanics_goals", "a match of the lane", ("mechanics_goals",), ("mechanics",)),
)
"""What players talk about; the metrics `figure/…` of a run."""


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
    narrate=_narrate,
    show=_show,
    bench_matches=64,
    figures=FIGURES,
)
