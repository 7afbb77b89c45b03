"""The two games of this package as others find them: settings, scenarios, description. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from pvp_ml.errors import UserError
from pvp_ml.games.contract import Contract, parse_contract
from pvp_ml.games.osrs import state, switches
from pvp_ml.games.osrs.ladder.rungs import LADDER
from pvp_ml.games.osrs.plugins import OLD_PLUGINS
from pvp_ml.games.osrs.remote.config import RemoteFields, is_remote, without_remote
from pvp_ml.games.osrs.remote.params import reset_fields
from pvp_ml.games.osrs.signals import DHAROK_FIGURES, FIGURES, PENALTIES, REWARD_FLAGS, REWARDS, SIGNALS
from pvp_ml.games.presentation import Brought, PageView, Presentation, Roster
from pvp_ml.games.registry import GameType
from pvp_ml.games.tooling import ConformResult, Demo, SimServer, SimServerOptions, Tooling
from pvp_ml.match import IDLE, AsyncVecGame, BoolArray, External, MatchPlan, StepBuffers, VecGame
from pvp_ml.spec import GameSpec, Scenario

if TYPE_CHECKING:
    from pvp_ml.games.osrs.accounts.account import Account

Build = Literal["PURE", "ZERKER", "MED", "MAXED", "LMS_PURE", "LMS_ZERKER", "LMS_MED"]
FightType = Literal["drawn", "of-build", "NORMAL", "LMS", "PVP_ARENA"]
Terrain = Literal["open", "wilderness"]
FIGHT_RULES = {
    "NORMAL": state.FIGHT_NORMAL,
    "LMS": state.FIGHT_LMS,
    "PVP_ARENA": state.FIGHT_ARENA,
    "of-build": state.FIGHT_OF_BUILD,
    "drawn": state.FIGHT_DRAWN,
}
GENERAL_BUILDS: tuple[Build, ...] = ("LMS_PURE", "LMS_ZERKER", "LMS_MED", "PURE", "ZERKER", "MED")
NH_BUILDS: tuple[Build, ...] = ("PURE", "ZERKER", "MED", "MAXED", "LMS_PURE", "LMS_ZERKER", "LMS_MED")
ACCOUNT_SETTINGS = ("account", "opponent_account", "account_variety")
MOST_TICKS = 20_000
"""Below this no stack of ammunition or runes can run out, so amounts need not be counted."""


class FightConfig(RemoteFields):
    """Settings of both fights."""

    max_ticks: int = Field(1000, ge=1, le=MOST_TICKS, description="ticks after which a match is truncated")
    death_match: bool = Field(True, description="only death ends a match; false: a fighter without food ties it")
    random_tiles: bool = Field(True, description="random start tiles; false: both start on the same fixed tile")
    terrain: Terrain = Field("wilderness", description="with water and lava as in the original, or open ground")
    switches_on: tuple[str, ...] = Field((), description="rules to set as in the reference")
    switches_off: tuple[str, ...] = Field((), description="rules to set differently from the reference")

    @field_validator("switches_on", "switches_off")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in switches.BY_NAME:
                raise ValueError(f"there is no switch '{name}'; known: {', '.join(switches.BY_NAME)}")
        return names


class NhConfig(FightConfig):
    """Settings of the NH fight; the defaults are those of the published general training."""

    builds: tuple[Build, ...] = Field(GENERAL_BUILDS, min_length=1, description="builds to draw from, same for both")
    randomize_gear: bool = Field(True, description="vary the gear within the build, for each side separately")
    fight_type: FightType = Field("drawn", description="random, given by the build, or fixed")
    only_switch_prayer_when_about_to_attack: bool = Field(False, description="overheads legal only then")
    only_switch_gear_when_attack_soon: bool = Field(False, description="attacks legal only when ready")
    allow_smite: bool = Field(False, description="Smite is legal")
    allow_redemption: bool = Field(False, description="Redemption is legal")
    allow_moving_if_can_attack: bool = Field(False, description="moving is legal while an attack is ready")
    account: str = Field("", description="account file or shipped account of the side that is trained or measured")
    opponent_account: str = Field("", description="account of its opponent; empty = the same")
    account_variety: float = Field(
        0.0, ge=0.0, le=1.0, description="how far accounts stray from theirs, match by match"
    )

    @field_validator("account", "opponent_account")
    @classmethod
    def _whole_account(cls, name: str) -> str:
        """A file's name becomes what is in it, so that runs, workers and replays carry the account itself."""
        from pvp_ml.games.osrs.accounts.read import load

        return load(name, Path.cwd()).text() if name else ""

    @property
    def accounts(self) -> tuple[Account | None, Account | None]:
        """Of the side that a match is about and of its opponent; None = by build."""
        from pvp_ml.games.osrs.accounts.read import parse

        own = parse(self.account, "account") if self.account else None
        return own, parse(self.opponent_account, "opponent_account") if self.opponent_account else own


class DharokConfig(FightConfig):
    """Settings of the Dharok fight."""


Parameters = tuple[tuple[str, str | int | float | bool], ...]

NH_SCENARIOS: tuple[Scenario, ...] = (
    Scenario("default", (), "the settings of the game as configured"),
    *(
        Scenario(f"build-{build.lower().replace('_', '-')}", (("builds", build),), f"both sides are {build}")
        for build in NH_BUILDS
    ),
    Scenario("normal", (("fight_type", "NORMAL"),), "fight type NORMAL"),
    Scenario("lms", (("fight_type", "LMS"),), "fight type LMS"),
    Scenario("pvp-arena", (("fight_type", "PVP_ARENA"),), "fight type PVP_ARENA"),
    Scenario("plain-gear", (("randomize_gear", False),), "gear as listed"),
    Scenario(
        "reference-defaults",
        (
            ("builds", "PURE"),
            ("randomize_gear", False),
            ("fight_type", "of-build"),
            ("only_switch_prayer_when_about_to_attack", True),
            ("only_switch_gear_when_attack_soon", True),
            ("allow_smite", True),
            ("allow_redemption", True),
            ("allow_moving_if_can_attack", False),
        ),
        "the reference's reset parameters when none are given (2.7)",
    ),
    Scenario("food-race", (("death_match", False),), "also tied when a side has no food left"),
    Scenario("open-ground", (("terrain", "open"),), "no water or lava in the way"),
    Scenario("live-game", (("live", True),), "the corrections towards the live game (section 8)"),
)
DHAROK_SCENARIOS: tuple[Scenario, ...] = (
    Scenario("default", (), "the settings of the game as configured"),
    Scenario("food-race", (("death_match", False),), "also tied when a side has no food left"),
    Scenario("live-game", (("live", True),), "the corrections towards the live game (section 8)"),
)


@cache
def contract(name: str) -> Contract:
    """The packaged contract; a working directory cannot replace what the kernels write."""
    path = resources.files("pvp_ml").joinpath("contracts", "environments", f"{name}.json")
    return parse_contract(path.read_bytes(), name)


def _settings(config: FightConfig) -> Parameters:
    flat = ((key, ",".join(value) if isinstance(value, tuple) else value) for key, value in config)
    kept = tuple((key, value) for key, value in flat if key not in ACCOUNT_SETTINGS)
    return (*without_remote(kept, config), *_account_settings(config))


def _account_settings(config: FightConfig) -> Parameters:
    """Who wears what, by digest; nothing without accounts, so that games without them keep their digest."""
    if not isinstance(config, NhConfig) or not (config.account or config.opponent_account):
        return ()
    own, other = (account.digest if account is not None else "" for account in config.accounts)
    return (("account", own), ("opponent_account", other), ("account_variety", config.account_variety))


def _scenarios(all_: tuple[Scenario, ...], config: FightConfig) -> tuple[Scenario, ...]:
    """An external server decides rules and ground, so changes of them cannot be asked for."""
    ours = {"live", "terrain"}
    return tuple(s for s in all_ if not ours & set(dict(s.parameters))) if is_remote(config) else all_


def nh_spec(config: NhConfig) -> GameSpec:
    """The NH fight as configured."""
    return _fight_spec("nh", "NhEnv", NH_SCENARIOS, config)


def dharok_spec(config: DharokConfig) -> GameSpec:
    """The Dharok fight as configured."""
    return _fight_spec("dharok", "DharokEnv", DHAROK_SCENARIOS, config)


def _fight_spec(name: str, environment: str, scenarios: tuple[Scenario, ...], config: FightConfig) -> GameSpec:
    layout = contract(environment)
    return GameSpec(
        name=name,
        version=1,
        teams=((0,), (1,)),
        blocks=(layout.observation,),
        privileged=(layout.hidden,),
        heads=layout.heads,
        rewards=REWARDS,
        signals=SIGNALS,
        max_steps=config.max_ticks,
        bots=(f"{name}-bot",),
        scenarios=_scenarios(scenarios, config),
        parameters=_settings(config),
    )


def _build_compiled(spec: GameSpec, config: FightConfig, matches: int) -> VecGame:
    from pvp_ml.games.osrs.game import OsrsGame
    from pvp_ml.games.osrs.kernels import jit

    jit.compile_once(lambda: _play_one_tick(OsrsGame(spec, config, 1)))
    return OsrsGame(spec, config, matches)


def _play_one_tick(game: VecGame) -> None:
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(0, 0, (External("a"), External("b")))])
    game.start(out)
    game.step(np.full((1, 2, len(game.spec.heads)), IDLE, np.int32), out)


def _build_remote(spec: GameSpec, config: FightConfig, agent_type: str, matches: int) -> AsyncVecGame:
    if config.switches_on or config.switches_off or config.terrain != "wilderness":
        raise UserError(
            f"game '{spec.name}': switches and terrain cannot be sent to an external server",
            "give them to `pvp-ml sim-server`",
        )
    if _account_settings(config):
        raise UserError(f"game '{spec.name}': accounts cannot be sent to an external server", "name its builds instead")
    from pvp_ml.games.osrs.remote.game import RemoteGame

    settings = config.model_dump()
    bodies = {s.name: reset_fields({**settings, **dict(s.parameters)}, agent_type == "NhEnv") for s in spec.scenarios}
    return RemoteGame(spec, config, agent_type, bodies, matches)


def build_nh(config: NhConfig, matches: int) -> VecGame | AsyncVecGame:
    """M NH fights side by side, here or on an external server."""
    if is_remote(config):
        return _build_remote(nh_spec(config), config, "NhEnv", matches)
    return _build_compiled(nh_spec(config), config, matches)


def build_dharok(config: DharokConfig, matches: int) -> VecGame | AsyncVecGame:
    """M Dharok fights side by side, here or on an external server."""
    if is_remote(config):
        return _build_remote(dharok_spec(config), config, "DharokEnv", matches)
    return _build_compiled(dharok_spec(config), config, matches)


def narrate(steps: Iterable[tuple[VecGame, StepBuffers]]) -> Iterator[str]:
    """A fight in words, tick by tick."""
    from pvp_ml.games.osrs.show.narrate import narrate as tell

    return tell(steps)


def scene(game: VecGame, _: StepBuffers, seat: int | None) -> dict[str, Any]:
    """A fight as a page draws it."""
    from pvp_ml.games.osrs.show.scene import scene as draw

    return draw(game)


def person_mask(game: VecGame, seat: int, mask: BoolArray) -> BoolArray:
    """What a person may choose in a fight; drawn when first asked, as `scene` is."""
    from pvp_ml.games.osrs.show.scene import person_mask as free

    return free(game, seat, mask)


def sketch(view: dict[str, Any], seat: int) -> str:
    """A fight as the one in that seat sees it, in text."""
    from pvp_ml.games.osrs.show.sketch import sketch as draw

    return draw(view, seat)


def _judge_account(config: NhConfig, scenario: str, text: str) -> Brought:
    from pvp_ml.games.osrs.show.roster import check

    return check(config, scenario, text)


def _outfit(config: NhConfig, scenario: str, brings: Sequence[str]) -> tuple[NhConfig, str]:
    from pvp_ml.games.osrs.show.roster import outfit

    return outfit(config, scenario, brings)


def _shipped_accounts(config: NhConfig) -> tuple[str, ...]:
    from pvp_ml.games.osrs.show.roster import names

    return names(config)


PAGE = PageView(Path(__file__).parent / "show" / "page", styles=("fight.css",), poster="poster.svg")
AXE_PAGE = replace(PAGE, poster="poster-axe.svg")


def serve_others(options: SimServerOptions) -> None:
    """Both fights behind the simulation protocol."""
    from pvp_ml.games.osrs.sim_server.command import serve

    serve(options)


def bench_server(agents: Sequence[int], seconds: float, repeats: int) -> dict[str, Any]:
    """How fast that server is."""
    from pvp_ml.games.osrs.sim_server.bench import bench

    return bench(agents, seconds, repeats)


def conform_nh(folder: Path, free_plays: int, limit: int, tell: Callable[[str], None]) -> ConformResult:
    """Agreement with recorded NH fights."""
    from pvp_ml.games.osrs.conformance.conform import conform

    return conform("nh", folder, free_plays, limit=limit, progress=tell)


def conform_dharok(folder: Path, free_plays: int, limit: int, tell: Callable[[str], None]) -> ConformResult:
    """Agreement with recorded Dharok fights."""
    from pvp_ml.games.osrs.conformance.conform import conform

    return conform("dharok", folder, free_plays, limit=limit, progress=tell)


NH = GameType(
    name="nh",
    title="OSRS no-honour fight (NH)",
    config=NhConfig,
    spec=nh_spec,
    build=build_nh,
    aliases=("NhEnv",),
    status="thoroughly tested",
    symmetric=True,
    runs_elsewhere=is_remote,
    file_settings=("account", "opponent_account"),
    presentation=Presentation(
        narrate=narrate,
        sketch=sketch,
        scene=scene,
        person_mask=person_mask,
        page=PAGE,
        figures=FIGURES,
        ladder=LADDER,
        roster=Roster(_shipped_accounts, _judge_account, _outfit),
        rival="GeneralizedNh",
    ),
    tooling=Tooling(
        conform=conform_nh,
        demo=Demo("nh/quick", rival="nh-bot"),
        sim_server=SimServer(serve_others, bench_server),
        served_players=OLD_PLUGINS,
        reward_flags=REWARD_FLAGS,
        penalties=PENALTIES,
    ),
)
DHAROK = GameType(
    name="dharok",
    title="OSRS Dharok edge-style fight",
    config=DharokConfig,
    spec=dharok_spec,
    build=build_dharok,
    aliases=("DharokEnv",),
    status="tested",
    symmetric=True,
    runs_elsewhere=is_remote,
    presentation=Presentation(
        narrate=narrate, sketch=sketch, scene=scene, page=AXE_PAGE, figures=DHAROK_FIGURES, rival="SelfTaughtDharok"
    ),
    tooling=Tooling(conform=conform_dharok, reward_flags=REWARD_FLAGS, penalties=PENALTIES),
)
