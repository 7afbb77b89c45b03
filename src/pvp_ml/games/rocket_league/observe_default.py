"""rlgym v2's default observation: the same sections, order and scales, all seats at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.facts import Facts, Floats
from pvp_ml.spec import Block, Feature

if TYPE_CHECKING:
    from pvp_ml.games.rocket_league.observe import Context

VERSION = 1
PER_LENGTH = 1 / 2300
PER_TURN = 1 / np.pi
PER_TIMER = 1 / 10
FLIP_WINDOW_S = 1.25

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
        n, s = facts.boost.shape
        flags = facts.flags
        holds = flags[..., sim.HOLDS_JUMP] > 0.5
        used = (flags[..., sim.HAS_FLIPPED] > 0.5) | (flags[..., sim.HAS_DOUBLE_JUMPED] > 0.5)
        can_flip = ~facts.on_ground & ~holds & ~used & (flags[..., sim.AIR_TIME_SINCE_JUMP] < FLIP_WINDOW_S)
        own_flags = np.stack(
            [
                holds,
                flags[..., sim.HANDBRAKE_VALUE],
                flags[..., sim.HAS_JUMPED],
                flags[..., sim.IS_JUMPING],
                flags[..., sim.HAS_FLIPPED],
                flags[..., sim.IS_FLIPPING],
                flags[..., sim.HAS_DOUBLE_JUMPED],
                can_flip,
                flags[..., sim.AIR_TIME_SINCE_JUMP],
            ],
            axis=2,
        )
        cars = self._cars(facts)
        seats = np.arange(s)
        ordered = cars[:, seats[:, None], self._order] * (self._order >= 0)[..., None]
        parts = (
            facts.ball * PER_LENGTH,
            facts.ball_velocity * PER_LENGTH,
            facts.ball_spin * PER_TURN,
            facts.pad_timer * PER_TIMER,
            own_flags,
            cars[:, seats, seats],
            ordered.reshape(n, s, -1),
        )
        np.concatenate(parts, axis=2, out=out, casting="unsafe")

    def _cars(self, facts: Facts) -> Floats:
        """[N,S,J,20]: car j as seat s sees it."""
        rows = facts.cars
        per_car = facts.flags[:, None]  # the same for every seat that looks
        shape = rows.shape[:3]
        return np.concatenate(
            [
                rows[..., sim.POS] * PER_LENGTH,
                rows[..., sim.FORWARD],
                rows[..., sim.UP],
                rows[..., sim.VEL] * PER_LENGTH,
                rows[..., sim.SPIN] * PER_TURN,
                rows[..., sim.BOOST_AMOUNT, None] / 100.0,
                np.broadcast_to(per_car[..., sim.RESPAWN_TIMER], shape)[..., None],
                rows[..., sim.ON_GROUND, None],
                np.broadcast_to(per_car[..., sim.IS_BOOSTING], shape)[..., None],
                np.broadcast_to(per_car[..., sim.IS_SUPERSONIC], shape)[..., None],
            ],
            axis=3,
        )
