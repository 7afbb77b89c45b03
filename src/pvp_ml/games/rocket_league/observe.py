"""Observations: what a policy reads, as arrays [N,S,D] in the frame of each seat's team.

`advanced` describes the field from inside the car (x nose, y right as the simulator has it, z roof). `default` has the
sections, order and scales of rlgym v2's default builder. The version is part of the block names, so that a change of
meaning changes the interface digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league import observe_default
from pvp_ml.games.rocket_league.actions import CONTROLS
from pvp_ml.games.rocket_league.arena.field import (
    BACK_WALL_Y,
    CAR_MAX_SPEED,
    CAR_MAX_SPIN,
    CEILING_Z,
    OWN_GOAL,
    PAD_IS_BIG,
    PADS,
    SIDE_WALL_X,
    THEIR_GOAL,
)
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, team_sizes
from pvp_ml.games.rocket_league.derived_state import Facts, Floats
from pvp_ml.games.rocket_league.kernels.observe import write_advanced
from pvp_ml.spec import Block, Feature

VERSIONS = {"advanced": 2, "advanced1": 1}
LAST_SECONDS = 60.0  # version 2 counts down the last minute; before that there is plenty of time
DISTANCE = 6000.0
BALL_SPEED = 6000.0
LIMIT = 5.0  # nothing legal comes near it; a wild number must not reach a network
_CONSTANTS = (
    np.stack([THEIR_GOAL, OWN_GOAL]),
    (PADS, PAD_IS_BIG),
    1.0 / np.array([SIDE_WALL_X, BACK_WALL_Y, CEILING_Z]),
    1.0 / DISTANCE,
    1.0 / BALL_SPEED,
    1.0 / CAR_MAX_SPEED,
    1.0 / CAR_MAX_SPIN,
    LIMIT,
)


@dataclass(slots=True)
class Context:
    """What an observation needs besides the facts."""

    previous: Floats  # [N,S,8] controls of the last step
    time_left: Floats  # [N] share of the time limit, what version 1 shows
    seconds_left: Floats  # [N]
    score_difference: Floats  # [N,S] own goals − theirs in this match


class Observation(Protocol):
    """An observation builder."""

    blocks: tuple[Block, ...]
    needs_all_flags: bool

    def write(self, facts: Facts, context: Context, out: Floats) -> None:
        """Fill out [N,S,D]."""


def builder(config: RocketLeagueConfig) -> Observation:
    """The builder of a configuration."""
    if config.observation == "default":
        return observe_default.Default(config.allies, config.opponents, team_sizes(config))
    return Advanced(config)


def _reals(*names: str) -> tuple[Feature, ...]:
    return tuple(Feature(name) for name in names)


def _vector(name: str) -> tuple[Feature, ...]:
    return _reals(*(f"{name}_{axis}" for axis in "xyz"))


def _flags(*names: str) -> tuple[Feature, ...]:
    return tuple(Feature(name, "flag") for name in names)


def others(seat_teams: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Who is whose ally and whose opponent: two tables [S,J]."""
    same = seat_teams[:, None] == seat_teams[None, :]
    return same & ~np.eye(len(seat_teams), dtype=bool), ~same


class Advanced:
    """Ball, self, context, last action, allies, opponents, pads and goals from inside the car."""

    needs_all_flags = False

    def __init__(self, config: RocketLeagueConfig) -> None:
        mates, rivals = others(np.repeat([0, 1], team_sizes(config)))
        self.version = VERSIONS[config.observation]
        near = (config.pads_near_car, config.pads_near_ball)
        self._shape = (mates, config.allies, rivals, config.opponents, *near)
        self.blocks = self._describe(config)

    def _describe(self, config: RocketLeagueConfig) -> tuple[Block, ...]:
        car = (*_vector("position"), *_vector("velocity"), *_vector("spin"))
        if self.version > 1:
            car += (*_vector("nose"), *_vector("roof"), *_flags("on_ground", "has_flip"))
        car += (Feature("boost"), *_flags("alive"))
        pad = (*_vector("position"), Feature("big", "flag"), Feature("there", "flag"), Feature("timer"))
        own = (
            *_vector("place"),
            *_vector("velocity"),
            *_vector("spin"),
            *_reals("boost", "nose_z", "right_z", "roof_z"),
            *_flags("has_flip", "on_ground", "jumping", "supersonic", "alive"),
        )
        goals = tuple(f for name in ("ball_theirs", "ball_own", "car_theirs", "car_own") for f in _vector(name))
        parts = (
            ("ball", 1, (*_vector("position"), *_vector("velocity"))),
            ("self", 1, own),
            ("context", 1, (Feature("kickoff", "flag"), Feature("time_left"), Feature("score"))),
            ("action", 1, (*_reals(*CONTROLS), *_flags("may_boost", "may_jump"))),
            ("ally", config.allies, car),
            ("opponent", config.opponents, car),
            ("pad_near_car", config.pads_near_car, pad),
            ("pad_near_ball", config.pads_near_ball, pad),
            ("goals", 1, goals),
        )
        return tuple(
            Block(f"advanced{self.version}.{name}", count, features) for name, count, features in parts if count
        )

    def write(self, facts: Facts, context: Context, out: Floats) -> None:
        """Fill out [N,S,D]."""
        if self.version == 1:
            clock, has_flip = context.time_left, facts.has_flip[:, :0]
        else:
            clock, has_flip = (
                np.minimum(context.seconds_left / np.float32(LAST_SECONDS), np.float32(1.0)),
                facts.has_flip,
            )
        write_advanced(
            facts.ball,
            facts.ball_velocity,
            (facts.position, facts.velocity, facts.spin, facts.axes, facts.boost),
            (
                facts.has_flip,
                facts.on_ground,
                facts.is_jumping,
                facts.is_supersonic,
                facts.demoed,
                facts.may_boost,
                facts.may_jump,
            ),
            (facts.cars, has_flip),
            (facts.pads, facts.pad_timer),
            (context.previous, clock, context.score_difference),
            self._shape,
            _CONSTANTS,
            out,
        )
