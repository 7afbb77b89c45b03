"""Settings of the Rocket League game."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from pvp_ml.errors import UserError
from pvp_ml.games.registry import GameConfig
from pvp_ml.games.rocket_league.arena.field import TICKS_PER_S

MAX_TEAM = 3
MODE = re.compile(r"^(\d{1,3})v(\d{1,3})$")


class RocketLeagueConfig(GameConfig):
    """One arena per match. Steps, not ticks, are what a policy decides on: a step is `tick_skip` ticks of 1/120 s."""

    mode: str = Field("1v1", description="cars per side, blue first: 1v0, 1v1, 2v2, 3v3 or any mixture up to 3")
    actions: Literal["rlgym", "hybrid", "heads"] = Field("rlgym", description="action table, or one head per control")
    bins: Literal[3, 5] = Field(3, description="values per axis of `actions: heads`")
    tick_skip: int = Field(8, ge=1, le=60, description="ticks per step; 8 gives 15 decisions a second")
    delay_ticks: int = Field(1, ge=0, le=59, description="ticks of a step before its controls reach the car")
    repeat: int = Field(1, ge=1, le=60, description="steps that one decision lasts; seats do not act in between")
    sticky_steps: int = Field(0, ge=0, le=60, description="steps that a pressed jump, boost or handbrake stays down")
    observation: Literal["advanced", "advanced1", "default"] = Field(
        "advanced", description="observation builder; `advanced1` is for models from before version 2"
    )
    allies: int = Field(2, ge=0, le=MAX_TEAM - 1, description="team mates in the observation, zero padded")
    opponents: int = Field(3, ge=0, le=MAX_TEAM, description="opponents in the observation, zero padded")
    pads_near_car: int = Field(4, ge=0, le=34, description="boost pads in the observation, nearest to the car")
    pads_near_ball: int = Field(2, ge=0, le=34, description="boost pads in the observation, nearest to the ball")
    rewards: tuple[str, ...] = Field((), description="reward terms to compute, `term@condition` allowed; empty: all")
    aerial_weight: float = Field(1.0, ge=0, le=10, description="exponent of the ball's height in `touch_ball`")
    setters: dict[str, float] = Field({"kickoff": 1.0}, description="state setters and their weights")
    start_jitter: float = Field(
        1.0, ge=0, le=10, description="kickoff cars stand up to so many times 10 uu and 1° off their places; 0: exactly"
    )
    mechanics_weight: float = Field(
        0.0, ge=0, le=1, description="share of matches that begin with a wall, air-dribble, flip-reset or jump set-up"
    )
    packs: tuple[str, ...] = Field(
        (),
        description="JSON files of the setter `training_pack`, folders of them, or `setup`: those that setup fetched",
    )
    pack_order: Literal["random", "by_seed"] = Field(
        "random", description="how a match draws its shot: by chance, or the one its seed counts to"
    )
    pack_others: Literal["kickoff", "aside"] = Field(
        "kickoff",
        description="cars that a shot does not name begin at kickoff places, or far from where it goes",
    )
    end_on_goal: bool = Field(True, description="a goal ends the match; otherwise the next kickoff follows")
    no_touch_s: float = Field(15.0, ge=0, le=3600, description="cut the match this long after a touch; 0: never")
    timeout_s: float = Field(300.0, gt=0, le=3600, description="cut the match after this long")
    meshes: str = Field("auto", description="`auto`, `generated`, or a folder that holds soccar/*.cmf")


def team_sizes(config: RocketLeagueConfig) -> tuple[int, int]:
    """Blue and orange cars of the mode."""
    match = MODE.match(config.mode)
    sizes = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (1 <= sizes[0] <= MAX_TEAM and 0 <= sizes[1] <= MAX_TEAM):
        raise UserError(
            f"rocket_league mode '{config.mode}': blue needs 1…{MAX_TEAM} cars and orange 0…{MAX_TEAM}",
            "use 1v0, 1v1, 2v2 or 3v3",
        )
    return sizes


def check(config: RocketLeagueConfig) -> None:
    """Refuse settings that contradict each other."""
    sizes = team_sizes(config)
    if config.delay_ticks >= config.tick_skip:
        raise UserError(
            f"delay_ticks is {config.delay_ticks} with tick_skip {config.tick_skip}",
            "the delay must be the shorter one",
        )
    if max(sizes) - 1 > config.allies or max(sizes) > config.opponents:
        raise UserError(
            f"mode {config.mode} does not fit observations of {config.allies} allies and {config.opponents} opponents",
            f"set allies to at least {max(sizes) - 1} and opponents to at least {max(sizes)}",
        )


def steps(config: RocketLeagueConfig, seconds: float) -> int:
    """Whole steps in that many seconds, at least one."""
    return max(1, round(seconds * TICKS_PER_S / config.tick_skip))
