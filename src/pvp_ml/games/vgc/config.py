"""Settings of the game, its scenarios and its description."""

from __future__ import annotations

import logging
from functools import cache
from typing import Literal

from pydantic import Field, field_validator

from pvp_ml.games.registry import GameConfig
from pvp_ml.games.vgc import actions, layout
from pvp_ml.games.vgc.formats import FORMATS, find_format, renamed
from pvp_ml.games.vgc.signals import REWARDS, SIGNALS
from pvp_ml.spec import GameSpec, Scenario

log = logging.getLogger(__name__)

BOTS = ("random", "max-power", "heuristics")
SIMULATOR = "0.11.11"
"""The pinned version of the npm package pokemon-showdown."""


class VgcConfig(GameConfig):
    """Settings of VGC doubles."""

    format: str = Field("gen9vgc2025regi", description="regulation of the default scenario")
    sheets: Literal["open", "closed", "mixed"] = Field(
        "open",
        description="open: both see moves, items and abilities at preview; mixed: in every other match, by chance",
    )
    teams: tuple[str, ...] = Field(
        (),
        description="teams that a player may get: shipped names, files or folders, FORMAT=FILE for those of another "
        "format; empty = all shipped",
    )
    opponent_teams: tuple[str, ...] = Field((), description="teams that his opponent may get; empty = the same")
    mirror: bool = Field(False, description="both seats play the same team, drawn from `teams`")
    max_steps: int = Field(300, ge=8, le=4000, description="requests after which a match is truncated")
    workers: int = Field(
        0, ge=0, le=64, description="Node processes; 0 = one for each core, at most one per 16 matches"
    )
    privileged: bool = Field(
        True, description="tell a privileged critic what the foe knows; false saves time where the network has none"
    )
    speedup: bool = Field(True, description="use the checked run-time speed-up of the simulator")
    stall_s: float = Field(
        6.0, gt=0.5, le=600, description="seconds without an answer after which a worker is replaced"
    )
    log_folder: str = Field("", description="folder for Showdown logs of finished matches; empty = none are kept")

    @field_validator("format")
    @classmethod
    def _modern(cls, name: str) -> str:
        found = find_format(name).id
        _mention(renamed(name))
        return found


def names_no_file(config: VgcConfig) -> bool:
    """Whether these settings name shipped teams and whole teams only, and no folder for logs."""
    from pvp_ml.games.vgc.teams import is_text, shipped

    known = shipped()[config.format]
    return not config.log_folder and all(
        team in known or is_text(team) for team in (*config.teams, *config.opponent_teams)
    )


@cache
def _mention(hint: str) -> None:
    """Once a process, however often the settings are read."""
    if hint:
        log.warning("%s", hint)


def scenarios(config: VgcConfig) -> tuple[Scenario, ...]:
    """`default` is the game as configured; the others are every format with the shipped teams, drawn or mirrored."""
    own = Scenario("default", (("format", config.format), ("mirror", config.mirror)), "as configured")
    shipped = [
        Scenario(name, (("format", format.id), ("mirror", mirror), ("shipped", True)), f"{format.title}, {doc}")
        for format in FORMATS
        for name, mirror, doc in (
            (format.id, False, "shipped teams, each seat draws its own"),
            (f"{format.id}/mirror", True, "one shipped team for both"),
        )
    ]
    return (own, *shipped)


def make_spec(config: VgcConfig) -> GameSpec:
    """The description of the game as configured; needs neither Node nor the simulator."""
    return GameSpec(
        name="vgc",
        version=1,
        teams=((0,), (1,)),
        blocks=layout.blocks(),
        privileged=layout.privileged() if config.privileged else (),
        heads=actions.heads(),
        rewards=REWARDS,
        signals=SIGNALS,
        bots=BOTS,
        scenarios=scenarios(config),
        max_steps=config.max_steps,
        parameters=(
            ("simulator", SIMULATOR),
            ("layout", layout.version()),
            ("sheets", config.sheets),
            ("teams", ",".join(config.teams)),
            ("opponent_teams", ",".join(config.opponent_teams)),
        ),
    )
