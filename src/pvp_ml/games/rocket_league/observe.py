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
from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import CONTROLS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, team_sizes
from pvp_ml.games.rocket_league.facts import Facts, Floats
from pvp_ml.games.rocket_league.field import (
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
from pvp_ml.spec import Block, Feature

VERSION = 1
DISTANCE = 6000.0
BALL_SPEED = 6000.0
LIMIT = 5.0  # nothing legal comes near it; a wild number must not reach a network


@dataclass(slots=True)
class Context:
    """What an observation needs besides the facts."""

    previous: Floats  # [N,S,8] controls of the last step
    time_left: Floats  # [N] share of the time limit
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
        sizes = team_sizes(config)
        self._allies, self._opponents = config.allies, config.opponents
        self._near_car, self._near_ball = config.pads_near_car, config.pads_near_ball
        self._ally_table, self._opponent_table = others(np.repeat([0, 1], sizes))
        self.blocks = self._describe()

    def _describe(self) -> tuple[Block, ...]:
        car = (*_vector("position"), *_vector("velocity"), *_vector("spin"), Feature("boost"), *_flags("alive"))
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
            ("ally", self._allies, car),
            ("opponent", self._opponents, car),
            ("pad_near_car", self._near_car, pad),
            ("pad_near_ball", self._near_ball, pad),
            ("goals", 1, goals),
        )
        return tuple(Block(f"advanced{VERSION}.{name}", count, features) for name, count, features in parts if count)

    def write(self, facts: Facts, context: Context, out: Floats) -> None:
        """Fill out [N,S,D]."""
        allies, ally_there = self._nearest_cars(facts, self._ally_table, self._allies)
        rivals, rival_there = self._nearest_cars(facts, self._opponent_table, self._opponents)
        cars, there = np.concatenate([allies, rivals], 2), np.concatenate([ally_there, rival_there], 2)
        pads = np.concatenate(
            [_nearest_pads(facts.position, self._near_car), _nearest_pads(facts.ball, self._near_ball)], 2
        )
        ball, position = facts.ball[:, :, None], facts.position[:, :, None]
        goals = np.stack([THEIR_GOAL, OWN_GOAL])
        vectors = np.concatenate(
            [
                (ball - position) / DISTANCE,
                (facts.ball_velocity - facts.velocity)[:, :, None] / BALL_SPEED,
                facts.velocity[:, :, None] / CAR_MAX_SPEED,
                facts.spin[:, :, None] / CAR_MAX_SPIN,
                (goals - ball) / DISTANCE,
                (goals - position) / DISTANCE,
                (PADS[pads] - position) / DISTANCE,
                (cars[..., sim.POS] - position) / DISTANCE,
                cars[..., sim.VEL] / CAR_MAX_SPEED,
                cars[..., sim.SPIN] / CAR_MAX_SPIN,
            ],
            axis=2,
        )
        inside = vectors @ facts.axes.swapaxes(-1, -2)  # [N,S,V,3] in the car's own axes
        self._lay_out(facts, context, _Gathered(inside, cars, there, pads), out)
        np.clip(out, -LIMIT, LIMIT, out=out)

    def _lay_out(self, facts: Facts, context: Context, g: _Gathered, out: Floats) -> None:
        n, s = facts.boost.shape
        alive = ~facts.demoed
        place = facts.position / np.array([SIDE_WALL_X, BACK_WALL_Y, CEILING_Z], np.float32)
        up = facts.axes[..., 2]
        numbers = (facts.boost, up[..., 0], up[..., 1], up[..., 2])
        flags = (facts.has_flip, facts.on_ground, facts.is_jumping, facts.is_supersonic, alive)
        kickoff = (np.abs(facts.ball[..., :2]) < 1.0).all(-1) & (np.abs(facts.ball_velocity) < 1.0).all(-1)
        time_left = np.broadcast_to(context.time_left[:, None], (n, s))
        score = np.tanh(context.score_difference / 3.0)
        may = (facts.may_boost, facts.may_jump)
        count = self._allies + self._opponents
        first_car = 8 + g.pads.shape[2]
        parts = (
            g.inside[:, :, :2].reshape(n, s, 6),
            place,
            g.inside[:, :, 2:4].reshape(n, s, 6),
            np.stack([*numbers, *flags, kickoff, time_left, score], -1),
            context.previous,
            np.stack(may, -1),
            _car_rows(g, first_car, count).reshape(n, s, -1),
            _pad_rows(facts, g).reshape(n, s, -1),
            g.inside[:, :, 4:8].reshape(n, s, 12),
        )
        np.concatenate(parts, axis=2, out=out, casting="unsafe")

    def _nearest_cars(
        self, facts: Facts, table: npt.NDArray[np.bool_], slots: int
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The cars of a table [S,J], nearest to the ball first: rows [N,S,slots,36] and which of them exist."""
        n, s, _, width = facts.cars.shape
        most = int(table.sum(1).max(initial=0))
        rows = np.zeros((n, s, slots, width), np.float32)
        there = np.zeros((n, s, slots), np.bool_)
        if most and slots:
            gap = facts.cars[..., sim.POS] - facts.ball[:, :, None]
            distance = np.where(table, np.vecdot(gap, gap), np.inf)
            order = np.argsort(distance, axis=2, kind="stable")[:, :, :most]
            found = np.take_along_axis(distance, order, 2) < np.inf
            rows[:, :, :most] = np.take_along_axis(facts.cars, order[..., None], 2) * found[..., None]
            there[:, :, :most] = found
        return rows, there


@dataclass(slots=True)
class _Gathered:
    inside: Floats  # [N,S,V,3] vectors in the car's axes
    cars: Floats  # [N,S,C,36] allies, then opponents
    there: npt.NDArray[np.bool_]  # [N,S,C]
    pads: npt.NDArray[np.int64]  # [N,S,Q]


def _nearest_pads(point: Floats, count: int) -> npt.NDArray[np.int64]:
    """Indices [N,S,count] of the pads nearest to a point [N,S,3], nearest first."""
    gap = point[:, :, None, :2] - PADS[:, :2]
    distance = gap[..., 0] ** 2 + gap[..., 1] ** 2
    return np.argsort(distance, axis=2, kind="stable")[:, :, :count]


def _car_rows(g: _Gathered, first: int, count: int) -> Floats:
    """[N,S,C,11]: position, velocity, spin inside the car; boost; alive. Empty slots are zero."""
    n, s = g.there.shape[:2]
    moves = g.inside[:, :, first:].reshape(n, s, 3, count, 3).transpose(0, 1, 3, 2, 4).reshape(n, s, count, 9)
    boost = g.cars[..., sim.BOOST_AMOUNT, None] / 100.0
    alive = (g.cars[..., sim.DEMOED, None] < 0.5).astype(np.float32)
    return np.concatenate([moves, boost, alive], axis=3) * g.there[..., None]


def _pad_rows(facts: Facts, g: _Gathered) -> Floats:
    """[N,S,Q,6]: position inside the car, big, there, seconds until it is back / 10."""
    q = g.pads.shape[2]
    there = np.take_along_axis(facts.pads, g.pads, 2)
    timer = np.take_along_axis(facts.pad_timer, g.pads, 2) / 10.0
    flags = np.stack([PAD_IS_BIG[g.pads], there, timer], axis=3)
    return np.concatenate([g.inside[:, :, 8 : 8 + q], flags], axis=3)
