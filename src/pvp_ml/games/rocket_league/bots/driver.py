"""The cars that bots drive: what they see, and the moves they share. Everything is stateless."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import BOOST, HANDBRAKE, JUMP, PITCH, ROLL, STEER, THROTTLE, YAW
from pvp_ml.games.rocket_league.derived_state import Bools, Facts, Floats

FAR = 20_000.0  # uu: where a car that does not exist stands


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
    rival: Floats  # the opponent nearest to the ball, or FAR away
    rival_velocity: Floats
    ally: Floats  # the team mate nearest to the ball, or FAR away
    pads: Bools  # [n,34] there


def drivers(facts: Facts, previous: Floats, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> Driver:
    """The cars at these rows and seats [n]."""
    at = (rows, seats)
    rival, rival_velocity = _nearest_to_ball(facts, rows, seats, same_team=False)
    ally, _ = _nearest_to_ball(facts, rows, seats, same_team=True)
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
        rival=rival,
        rival_velocity=rival_velocity,
        ally=ally,
        pads=facts.pads[at],
    )


def _nearest_to_ball(
    facts: Facts, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], *, same_team: bool
) -> tuple[Floats, Floats]:
    """Position and velocity [n,3] of another car of that side, a wreck left out."""
    cars = facts.cars[rows, seats]  # [n,J,36]
    own = cars[np.arange(len(rows)), seats, sim.TEAM]
    others = (cars[..., sim.TEAM] == own[:, None]) == same_team
    others[np.arange(len(rows)), seats] = False
    others &= cars[..., sim.DEMOED] < 0.5
    gap = np.linalg.norm(cars[..., sim.POS] - facts.ball[rows, seats][:, None], axis=2)
    gap = np.where(others, gap, np.inf)
    nearest = gap.argmin(1)
    found = cars[np.arange(len(rows)), nearest]
    missing = ~others.any(1)
    position = np.where(missing[:, None], np.float32(FAR), found[:, sim.POS])
    return position, np.where(missing[:, None], np.float32(0.0), found[:, sim.VEL])


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
    level(d, controls)
    pressed = d.previous[:, JUMP] > 0.5
    controls[:, JUMP] = d.is_turtled & ~pressed  # a new press, not a held one, turns the car over
    return controls


def level(d: Driver, controls: Floats) -> None:
    """In the air: nose flat and roof up, against the present spin."""
    air = ~d.on_ground
    nose_z, right_z, roof_z = d.axes[:, 0, 2], d.axes[:, 1, 2], d.axes[:, 2, 2]
    spin = np.einsum("nij,nj->ni", d.axes, d.spin)  # about nose, right and roof
    lean = np.where(roof_z < 0.0, np.sign(right_z) + (right_z == 0.0), right_z)
    controls[:, ROLL] = np.where(air, np.clip(2.0 * lean + 0.4 * spin[:, 0], -1.0, 1.0), 0.0)
    controls[:, PITCH] = np.where(air, np.clip(-2.0 * nose_z + 0.4 * spin[:, 1], -1.0, 1.0), 0.0)
    controls[:, YAW] = np.where(air, np.clip(-0.4 * spin[:, 2], -1.0, 1.0), controls[:, STEER])
    controls[air, BOOST] = 0.0


def flip_at(d: Driver, controls: Floats, wanted: Bools) -> Floats:
    """Jump, let go, and flip forwards: three steps, distinguished by the last controls and the wheels."""
    pressed = d.previous[:, JUMP] > 0.5
    hop = wanted & d.on_ground & ~pressed
    flip = wanted & ~d.on_ground & d.has_flip & ~pressed
    controls[hop | flip, JUMP] = 1.0
    controls[flip, PITCH] = -1.0
    controls[flip, ROLL] = 0.0
    controls[flip, YAW] = 0.0
    return controls
