"""rlgym v2's default observation: the same sections, order and scales, all seats at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.derived_state import Facts, Floats
from pvp_ml.games.rocket_league.kernels.observe import write_default
from pvp_ml.spec import Block, Feature

if TYPE_CHECKING:
    from pvp_ml.games.rocket_league.observe import Context

VERSION = 1
PER_LENGTH = 1 / 2300
PER_TURN = 1 / np.pi
PER_TIMER = 1 / 10
FLIP_WINDOW_S = 1.25  # after a jump, in which a flip is possible
FLIP_TORQUE_S = 0.65  # of a flip, in which it turns the car
_SCALES = (PER_LENGTH, PER_TURN, PER_TIMER, FLIP_WINDOW_S, FLIP_TORQUE_S)
_COLUMNS = (
    sim.HOLDS_JUMP,
    sim.HANDBRAKE_VALUE,
    sim.HAS_JUMPED,
    sim.IS_JUMPING,
    sim.HAS_FLIPPED,
    sim.FLIP_TIME,
    sim.HAS_DOUBLE_JUMPED,
    sim.AIR_TIME_SINCE_JUMP,
    sim.RESPAWN_TIMER,
    sim.BOOSTING_S,
    sim.IS_SUPERSONIC,
)

_CAR = (
    *(f"{what}_{axis}" for what in ("position", "forward", "up", "velocity", "spin") for axis in "xyz"),
    "boost",
    "respawn_timer",
    "on_ground",
    "boosting",
    "supersonic",
)
_FLAGS = (
    "holds_jump",
    "handbrake",
    "has_jumped",
    "is_jumping",
    "has_flipped",
    "is_flipping",
    "has_double_jumped",
    "can_flip",
    "air_time_since_jump",
)


class Default:
    """Ball 9, pads 34, own flags 9, own car 20, allies and opponents 20 each, zero padded, in seat order."""

    needs_all_flags = True

    def __init__(self, allies: int, opponents: int, sizes: tuple[int, int]) -> None:
        team = np.repeat([0, 1], sizes)
        self._slots = allies + opponents
        self._order = np.full((len(team), self._slots), -1)
        for seat, own in enumerate(team):
            mates = [j for j in range(len(team)) if team[j] == own and j != seat]
            rivals = [j for j in range(len(team)) if team[j] != own]
            self._order[seat, : len(mates)] = mates
            self._order[seat, allies : allies + len(rivals)] = rivals
        ball = tuple(Feature(f"{what}_{axis}") for what in ("position", "velocity", "spin") for axis in "xyz")
        car = tuple(Feature(name) for name in _CAR)
        parts = (
            ("ball", 1, ball),
            ("pad_timer", 34, (Feature("timer"),)),
            ("flags", 1, tuple(Feature(name) for name in _FLAGS)),
            ("self", 1, car),
            ("ally", allies, car),
            ("opponent", opponents, car),
        )
        self.blocks = tuple(Block(f"default{VERSION}.{name}", count, fs) for name, count, fs in parts if count)

    def write(self, facts: Facts, context: Context, out: Floats) -> None:
        """Fill out [N,S,D]."""
        ball = (facts.ball, facts.ball_velocity, facts.ball_spin)
        write_default(ball, facts.cars, facts.flags, facts.pad_timer, self._order, _COLUMNS, _SCALES, out)
