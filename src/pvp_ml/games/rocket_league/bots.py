"""Bots: scripted drivers inside the game. They steer freely, not through the action table.

Each takes the facts of n cars and the controls of their last step, and gives controls [n,8]. They keep no state, so a
match with bots replays from its plan and actions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.actions import BOOST, HANDBRAKE, JUMP, PITCH, ROLL, STEER, THROTTLE, YAW
from pvp_ml.games.rocket_league.arena.field import BACK_WALL_Y, OWN_GOAL
from pvp_ml.games.rocket_league.derived_state import Bools, Facts, Floats


@dataclass(slots=True)
class Driver:
    """n cars, each in its team's frame. Vectors [n,3], numbers [n]."""

    ball: Floats
    ball_velocity: Floats
    position: Floats
    velocity: Floats
    spin: Floats
    axes: Floats  # [n,3,3]
    on_ground: Bools
    is_turtled: Bools
    has_flip: Bools
    boost: Floats
    previous: Floats  # [n,8]


def drivers(facts: Facts, previous: Floats, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> Driver:
    """The cars at these rows and seats [n]."""
    at = (rows, seats)
    return Driver(
        ball=facts.ball[at],
        ball_velocity=facts.ball_velocity[at],
        position=facts.position[at],
        velocity=facts.velocity[at],
        spin=facts.spin[at],
        axes=facts.axes[at],
        on_ground=facts.on_ground[at],
        is_turtled=facts.is_turtled[at],
        has_flip=facts.has_flip[at],
        boost=facts.boost[at],
        previous=previous[at],
    )


def idle(d: Driver) -> Floats:
    """Touches nothing."""
    return np.zeros((len(d.boost), 8), np.float32)


def chaser(d: Driver) -> Floats:
    """Drives at the ball by the shortest way, boosts when it points at it, gets back on its wheels."""
    return drive_to(d, d.ball)


def kickoff_and_clear(d: Driver) -> Floats:
    """Rushes kickoffs with a flip; else gets behind the ball and hits it away from its own goal, or falls back."""
    gap = np.linalg.norm(d.ball - d.position, axis=1)
    kickoff = (np.abs(d.ball[:, :2]) < 1.0).all(1) & (np.abs(d.ball_velocity) < 1.0).all(1)
    behind = d.position[:, 1] < d.ball[:, 1] - 100.0
    from_goal = d.ball - OWN_GOAL
    from_goal[:, 2] = 0.0
    away = from_goal / np.maximum(np.linalg.norm(from_goal, axis=1, keepdims=True), 1.0)
    approach = d.ball - away * np.clip(gap * 0.35, 60.0, 900.0)[:, None]
    retreat = np.stack([d.ball[:, 0] * 0.4, np.minimum(d.ball[:, 1] - 1500.0, 0.0), np.zeros(len(gap))], axis=1)
    retreat[:, 1] = np.maximum(retreat[:, 1], 300.0 - BACK_WALL_Y)
    target = np.where(behind[:, None], approach, retreat).astype(np.float32)
    target[kickoff] = d.ball[kickoff]
    controls = drive_to(d, target)
    return _flip_at(d, controls, kickoff & (gap < 650.0))


def drive_to(d: Driver, target: Floats) -> Floats:
    """Steer at a point on the floor; in the air level the car; on the roof jump."""
    controls = np.zeros((len(d.boost), 8), np.float32)
    inside = np.einsum("nij,nj->ni", d.axes, target - d.position)
    angle = np.arctan2(inside[:, 1], inside[:, 0])
    distance = np.linalg.norm(inside[:, :2], axis=1)
    speed = np.linalg.norm(d.velocity, axis=1)
    controls[:, THROTTLE] = 1.0
    controls[:, STEER] = np.clip(3.0 * angle, -1.0, 1.0)
    controls[:, HANDBRAKE] = (np.abs(angle) > 1.8) & (speed > 600.0)
    controls[:, BOOST] = (np.abs(angle) < 0.25) & (distance > 400.0) & (speed < 2250.0) & (d.boost > 0.0)
    _level(d, controls)
    pressed = d.previous[:, JUMP] > 0.5
    controls[:, JUMP] = d.is_turtled & ~pressed  # a new press, not a held one, turns the car over
    return controls


def _level(d: Driver, controls: Floats) -> None:
    """In the air: nose flat and roof up, against the present spin."""
    air = ~d.on_ground
    nose_z, right_z, roof_z = d.axes[:, 0, 2], d.axes[:, 1, 2], d.axes[:, 2, 2]
    spin = np.einsum("nij,nj->ni", d.axes, d.spin)  # about nose, right and roof
    lean = np.where(roof_z < 0.0, np.sign(right_z) + (right_z == 0.0), right_z)
    controls[:, ROLL] = np.where(air, np.clip(2.0 * lean + 0.4 * spin[:, 0], -1.0, 1.0), 0.0)
    controls[:, PITCH] = np.where(air, np.clip(-2.0 * nose_z + 0.4 * spin[:, 1], -1.0, 1.0), 0.0)
    controls[:, YAW] = np.where(air, np.clip(-0.4 * spin[:, 2], -1.0, 1.0), controls[:, STEER])
    controls[air, BOOST] = 0.0


def _flip_at(d: Driver, controls: Floats, wanted: Bools) -> Floats:
    """Jump, let go, and flip forwards: three steps told apart by the last controls and the wheels."""
    pressed = d.previous[:, JUMP] > 0.5
    hop = wanted & d.on_ground & ~pressed
    flip = wanted & ~d.on_ground & d.has_flip & ~pressed
    controls[hop | flip, JUMP] = 1.0
    controls[flip, PITCH] = -1.0
    controls[flip, ROLL] = 0.0
    controls[flip, YAW] = 0.0
    return controls


BOTS: dict[str, Callable[[Driver], Floats]] = {
    "idle": idle,
    "chaser": chaser,
    "kickoff_and_clear": kickoff_and_clear,
}
