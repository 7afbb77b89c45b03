"""Rocket League on RocketSim: cars, a ball, two goals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pvp_ml.errors import UserError
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.games.registry import GameType
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.tooling import Finding, ShotCourse, Tooling, library
from pvp_ml.match import StepBuffers, VecGame
from pvp_ml.spec import Figure

if TYPE_CHECKING:
    from pvp_ml.games.rocket_league.game import RocketLeagueGame
    from pvp_ml.model.bundle import Bundle
    from pvp_ml.players import Player
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


def _setup_packs(progress: Callable[[str], None]) -> None:
    from pvp_ml.games.rocket_league.pack_setup import setup

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


def _scene(game: VecGame, out: StepBuffers, seat: int | None) -> dict[str, Any]:
    from pvp_ml.games.rocket_league.show.scene import scene

    return scene(game, out)


def _names_no_file(config: RocketLeagueConfig) -> bool:
    return config.meshes in ("auto", "generated") and set(config.packs) <= {"setup"}


def _doctor() -> Iterator[Finding]:
    from pvp_ml.games.rocket_league.arena.meshes import choose

    yield library("rocketsim", "rocket-league", "Rocket League")
    try:
        chosen = choose("auto")
    except UserError as error:
        yield Finding("note", error.message, error.hint)
        return
    if chosen.origin == "real":
        yield Finding("ok", f"Rocket League meshes of the game ({chosen.source})")
    else:
        fix = "set RS_COLLISION_MESHES to the folder of the game's own (docs/games/rocket_league.md)"
        yield Finding("note", f"Rocket League meshes are {chosen.origin} ({chosen.source})", fix)


def _shots(config: RocketLeagueConfig, count: int) -> ShotCourse:
    from pvp_ml.games.rocket_league.shots import Course

    return Course(config, count)


def _bot_folder(model: Bundle, name: str, folder: Path, steps: int, match_s: Callable[[], float]) -> list[str]:
    from pvp_ml.games.rocket_league.rlbot.folder import write_folder
    from pvp_ml.games.rocket_league.rlbot.pilot import BotSettings

    settings = BotSettings(tick_skip=steps)
    if any(block.name.startswith("advanced1.") for block in model.interface.blocks):  # its clock is a share
        settings = BotSettings(tick_skip=steps, timeout_s=match_s())
    return write_folder(model, name, folder, settings)


def _external(game: RocketLeagueGame, command: Sequence[str]) -> Player:
    from pvp_ml.games.rocket_league.external.driver import ExternalDriver

    return ExternalDriver(game, command)


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

RIVALS = {"2v2": "RocketDuo", "3v3": "RocketTrio"}
"""Who knows what to do beside a teammate."""

LADDER = (
    ("idle", 829.0),
    ("chaser", 885.0),
    ("kickoff_and_clear", 1000.0),
    ("keeper", 1092.0),
    ("shooter", 1249.0),
    ("flipper", 1304.0),
)
"""Elo points, kickoff_and_clear pinned: benchmarks/records/rocket_league_ladder.json."""


STEP_MS = 67
"""Eight ticks of 1/120 s, as whole milliseconds."""

GAME = GameType(
    name="rocket_league",
    title="Rocket League (RocketSim)",
    config=RocketLeagueConfig,
    spec=_spec,
    build=_build,
    status="tested",
    symmetric=True,
    cuts_idle=True,
    self_contained=_names_no_file,
    presentation=Presentation(
        narrate=_narrate,
        show=_show,
        action_notes=_action_notes,
        figures=FIGURES,
        ladder=LADDER,
        scene=_scene,
        rival="RocketStriker",
        rival_in=lambda config: RIVALS.get(config.mode, "RocketStriker"),
        page=PageView(Path(__file__).parent / "show/page", styles=("rocket.css",), poster="poster.svg"),
        page_hides=("pack_order", "pack_others"),
        step_ms=STEP_MS,
        page_settings=(("end_on_goal", False), ("no_touch_s", 0.0)),
    ),
    tooling=Tooling(
        setup=_setup,
        setup_packs=_setup_packs,
        shots=_shots,
        doctor=_doctor,
        bench_matches=64,
        bot_folder=_bot_folder,
        external=_external,
    ),
)
