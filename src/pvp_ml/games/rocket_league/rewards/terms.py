"""One function per reward term and condition: Moment → [M,S]. The docstring's first line is what users read.

b, v_b ball position and velocity; p, v_p car; f nose, u roof; goals are the back-of-net points; everything in the
seat's own frame.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.arena.field import (
    BACK_NET_Y,
    BACK_WALL_Y,
    BALL_MAX_SPEED,
    BALL_RADIUS,
    CAR_MAX_SPEED,
    CEILING_Z,
    GOAL_HALF_WIDTH,
    GOAL_HEIGHT,
    GRAVITY,
    OWN_GOAL,
    PAD_IS_BIG,
    PADS,
    THEIR_GOAL,
)
from pvp_ml.games.rocket_league.derived_state import Bools, Floats, Moment

NEAR = 500.0  # uu
FAR = 6000.0  # uu
JUMP_STEPS = 90
SHOT_SECONDS = 3.0  # a ball that needs longer is no shot
THEIR_BIG_PADS: Floats = PADS[PAD_IS_BIG & (PADS[:, 1] > 0)]


def dot(a: Floats, b: Floats) -> Floats:
    """Over the last axis."""
    return np.asarray(np.vecdot(a, b))


def length(a: Floats) -> Floats:
    """Euclidean, over the last axis."""
    return np.asarray(np.sqrt(np.vecdot(a, a)))


def unit(a: Floats) -> Floats:
    """Direction; zero stays zero."""
    return np.asarray(a / np.maximum(length(a), np.float32(1e-6))[..., None], np.float32)


# Events -----------------------------------------------------------------------------------------------------------


def touch(m: Moment) -> Bools:
    """1 when a touch begins; a continued touch pays once."""
    return m.touch


def goal(m: Moment) -> Floats:
    """Goals of the own team."""
    return m.scored


def concede(m: Moment) -> Floats:
    """Goals against; weigh it with a negative number."""
    return m.conceded


def own_goal(m: Moment) -> Bools:
    """1 for the seat that touched the ball last before its own net."""
    return m.own_goal


def shot(m: Moment) -> Floats:
    """Shots on goal as the simulator counts them."""
    return m.counts[..., 2]


def save(m: Moment) -> Floats:
    """Saves as the simulator counts them."""
    return m.counts[..., 1]


def demo(m: Moment) -> Floats:
    """Demolitions by this car."""
    return m.counts[..., 3]


def demoed(m: Moment) -> Bools:
    """1 when this car is demolished."""
    return m.new_demoed


def boost_gain(m: Moment) -> Floats:
    """Boost that came, 0…1 of a full tank."""
    return m.gained


def constant(m: Moment) -> npt.NDArray[np.float32]:
    """1 in every step."""
    return np.ones_like(m.now.boost)


# Movement ---------------------------------------------------------------------------------------------------------


def velocity_player_to_ball(m: Moment) -> Floats:
    """v_p·unit(b−p)/2300; 0 beyond 6000 uu."""
    return np.where(m.distance > FAR, 0.0, dot(m.now.velocity, m.toward) / CAR_MAX_SPEED).astype(np.float32)


def speed_toward_ball(m: Moment) -> Floats:
    """max(0, v_p·unit(b−p))/2300; 0 beyond 6000 uu."""
    return np.maximum(velocity_player_to_ball(m), 0.0)


def face_ball(m: Moment) -> Floats:
    """f·unit(b−p)."""
    return dot(m.now.forward, m.toward)


def in_air(m: Moment) -> Bools:
    """1 while fewer than three wheels touch something; 0 for a demolished car."""
    return ~m.now.on_ground & ~m.now.demoed


def velocity(m: Moment) -> Floats:
    """|v_p|/2300."""
    return length(m.now.velocity) / np.float32(CAR_MAX_SPEED)


# Ball and goals ---------------------------------------------------------------------------------------------------


def velocity_ball_to_goal(m: Moment) -> Floats:
    """unit(their goal−b)·v_b/6000."""
    return dot(unit(THEIR_GOAL - m.now.ball), m.now.ball_velocity) / np.float32(BALL_MAX_SPEED)


def basic_shot(m: Moment) -> Floats:
    """The same number as velocity_ball_to_goal, under the name that older configurations use."""
    return velocity_ball_to_goal(m)


def clear(m: Moment) -> Floats:
    """max(0, unit(b−own goal)·v_b/6000)."""
    return np.asarray(
        np.maximum(dot(unit(m.now.ball - OWN_GOAL), m.now.ball_velocity) / np.float32(BALL_MAX_SPEED), 0.0)
    )


def velocity_toward_own_goal(m: Moment) -> Floats:
    """−max(0, unit(own goal−b)·v_b/6000): already negative, so a positive weight punishes."""
    return np.asarray(
        -np.maximum(dot(unit(OWN_GOAL - m.now.ball), m.now.ball_velocity) / np.float32(BALL_MAX_SPEED), 0.0)
    )


def liu_distance_ball_to_goal(m: Moment) -> Floats:
    """exp(−0.5·(|b−their goal|−(6000−5120+92.75))/6000)."""
    gap = length(THEIR_GOAL - m.now.ball) - np.float32(BACK_NET_Y - BACK_WALL_Y + BALL_RADIUS)
    return np.asarray(np.exp(np.float32(-0.5) * gap / np.float32(BALL_MAX_SPEED)))


def liu_distance_player_to_ball(m: Moment) -> Floats:
    """exp(−0.5·(|p−b|−92.75)/2300)."""
    return np.asarray(np.exp(np.float32(-0.5) * (m.distance - np.float32(BALL_RADIUS)) / np.float32(CAR_MAX_SPEED)))


def align_ball_goal(m: Moment) -> Floats:
    """cos(b−p, p−own goal) + cos(b−p, their goal−p)."""
    behind, ahead = unit(m.now.position - OWN_GOAL), unit(THEIR_GOAL - m.now.position)
    return dot(m.toward, behind + ahead)


def shot_setup(m: Moment) -> Floats:
    """cos(b−their goal, p−b) when above 0.6: the car is behind the ball on the line to the goal."""
    value = -dot(unit(m.now.ball - THEIR_GOAL), m.toward)
    return np.where(value > 0.6, value, 0.0).astype(np.float32)


# Touches ----------------------------------------------------------------------------------------------------------


def strong_hit(m: Moment) -> Floats:
    """On a touch, sqrt(min(|v_b − v_b one step ago|/6000, 1)); not for later changes such as gravity."""
    change = length(m.now.ball_velocity - m.ball_velocity_before)
    return np.where(m.touch, np.sqrt(np.minimum(change / BALL_MAX_SPEED, 1.0)), 0.0).astype(np.float32)


def touch_to_goal(m: Moment) -> Floats:
    """On a touch, (v_b − v_b one step ago)·unit(their goal−b)/6000: what the hit gave toward their goal, or took."""
    gain = dot(m.now.ball_velocity - m.ball_velocity_before, unit(THEIR_GOAL - m.now.ball))
    return np.where(m.touch, gain / BALL_MAX_SPEED, 0.0).astype(np.float32)


def shot_quality(m: Moment) -> Floats:
    """On a touch, min(v_b,y/3000, 1) if the ball then flies into their goal mouth, floor and gravity alone acting."""
    ball, velocity = m.now.ball, m.now.ball_velocity
    ahead = np.maximum(velocity[..., 1], 1.0)
    seconds = (BACK_WALL_Y - ball[..., 1]) / ahead
    x = ball[..., 0] + velocity[..., 0] * seconds
    z = ball[..., 2] + velocity[..., 2] * seconds - 0.5 * GRAVITY * seconds * seconds
    inside = (np.abs(x) < GOAL_HALF_WIDTH - BALL_RADIUS) & (z < GOAL_HEIGHT - BALL_RADIUS)
    paid = m.touch & inside & (velocity[..., 1] > 0.0) & (seconds < SHOT_SECONDS)
    return np.where(paid, np.minimum(velocity[..., 1] / 3000.0, 1.0), 0.0).astype(np.float32)


def touch_ball(m: Moment) -> Floats:
    """On a touch, (b_z+92.75)/185.5 to the power of the setting aerial_weight."""
    return np.where(m.touch, (m.now.ball[..., 2] + BALL_RADIUS) / (2 * BALL_RADIUS), 0.0).astype(np.float32)


def air_touch(m: Moment) -> Floats:
    """On a touch in the air, clip(b_z/2044, 0, 1)."""
    paid = m.touch & ~m.now.on_ground
    return np.where(paid, np.clip(m.now.ball[..., 2] / CEILING_Z, 0.0, 1.0), 0.0).astype(np.float32)


def jump_shot(m: Moment) -> Floats:
    """On a touch in the air at most 90 steps after jump was pressed there, clip(p_z/2044, 0, 1)."""
    paid = m.touch & ~m.now.on_ground & (m.steps_since_jump <= JUMP_STEPS)
    return np.where(paid, np.clip(m.now.position[..., 2] / CEILING_Z, 0.0, 1.0), 0.0).astype(np.float32)


def goal_line_save(m: Moment) -> Bools:
    """1 for a touch within 1000 uu (xy) of the own net that turns a ball moving to it away from it."""
    near = length((m.now.position - OWN_GOAL)[..., :2]) < 1000.0
    turned = (m.ball_velocity_before[..., 1] < 0.0) & (m.now.ball_velocity[..., 1] > 0.0)
    return m.touch & near & turned


def possession(m: Moment) -> Floats:
    """min(own touches in a row, 5)/5."""
    return np.minimum(m.streak, 5).astype(np.float32) / np.float32(5.0)


def fifty_fifty(m: Moment) -> Bools:
    """1 when this car and an opponent are within 500 uu of the ball, the last touch was mine and it moves to goal."""
    gaps = length(m.now.cars[..., 11:14] - m.now.ball[:, :, None, :])  # [M,S,J]
    teams = m.now.cars[..., 1]
    own = np.take_along_axis(teams, np.arange(teams.shape[1])[None, :, None], axis=2)
    rival_near = ((gaps < NEAR) & (teams != own)).any(2)
    return np.asarray(rival_near & (m.distance < NEAR) & m.touched_last & (velocity_ball_to_goal(m) > 0.0))


def wall_hit(m: Moment) -> Floats:
    """On a touch while driving on a wall (wheels down, |u_z| < 0.3), clip(p_z/2044, 0, 1)."""
    paid = m.touch & m.now.on_ground & (np.abs(m.now.up[..., 2]) < 0.3)
    return np.where(paid, np.clip(m.now.position[..., 2] / CEILING_Z, 0.0, 1.0), 0.0).astype(np.float32)


def dribbling(m: Moment) -> Bools:
    """1 while the ball rides on a driving car: 90–200 uu above it, within 130 uu in xy, at most 500 uu/s apart."""
    gap = m.gap
    height = gap[..., 2]
    over = (height > 90.0) & (height < 200.0) & (length(gap[..., :2]) < 130.0)
    return over & m.now.on_ground & (length(m.now.ball_velocity - m.now.velocity) < 500.0)


def control(m: Moment) -> Floats:
    """While the last touch was mine and the ball is within 500 uu: max(0, 1−|v_b−v_p|/2300)."""
    calm = np.maximum(1.0 - length(m.now.ball_velocity - m.now.velocity) / CAR_MAX_SPEED, 0.0)
    return np.where(m.touched_last & (m.distance < NEAR), calm, 0.0).astype(np.float32)


# The car's body ---------------------------------------------------------------------------------------------------


def basic_aerial(m: Moment) -> Floats:
    """In the air within 500 uu: 0.2·min(1, air steps/90) + 0.2 nose up + 0.3 boosting upwards + 0.3 flying at it."""
    now = m.now
    flying = ~now.on_ground & ~now.demoed & (m.distance < NEAR)
    value = 0.2 * np.minimum(m.air_steps / 90.0, 1.0) + 0.2 * (now.forward[..., 2] > 0.5)
    value += 0.3 * ((m.spent > 0.0) & (now.velocity[..., 2] > 0.0)) + 0.3 * (dot(unit(now.velocity), m.toward) > 0.8)
    return np.where(flying, np.minimum(value, 1.0), 0.0).astype(np.float32)


def recovery_and_landing(m: Moment) -> Floats:
    """In the air 0.3·u_z + 0.2·max(0, Δu_z); on landing 1 + 0.2·align (×1.25 on the ball), or −0.5·(1−align).

    align is the cosine between the roof one step before and the roof on the wheels: 1 is a flat landing, on any
    surface; it pays when above 0.85. Driving pays nothing.
    """
    up_z = m.now.up[..., 2]
    flight = 0.3 * up_z + 0.2 * np.maximum(up_z - m.up_before[..., 2], 0.0)
    align = dot(m.now.up, m.up_before)
    good = (1.0 + 0.2 * align) * np.where(m.now.touching, 1.25, 1.0)
    landing = np.where(align > 0.85, good, -0.5 * (1.0 - align))
    value = np.where(m.landed, landing, np.where(m.now.on_ground, 0.0, flight))
    return np.where(m.now.demoed, 0.0, value).astype(np.float32)


def bad_orientation(m: Moment) -> Floats:
    """On wheels or body with u_z < 0.75: −0.1, with u_z < 0: −0.3."""
    up_z = m.now.up[..., 2]
    down = m.now.on_ground | m.now.has_contact
    return np.where(down & (up_z < 0.75), np.where(up_z < 0.0, -0.3, -0.1), 0.0).astype(np.float32)


# Boost ------------------------------------------------------------------------------------------------------------


def save_boost(m: Moment) -> Floats:
    """sqrt(boost), boost in 0…1."""
    return np.sqrt(m.now.boost)


def collect_boost(m: Moment) -> Floats:
    """Gain above 0.5: 0.3; else clip(gain/0.12, 0, 1): small pads are worth the way."""
    return np.where(m.gained > 0.5, 0.3, np.clip(m.gained / 0.12, 0.0, 1.0)).astype(np.float32)


def boost_pickup(m: Moment) -> Floats:
    """1 for a gain above 0.12, 0.5 for a smaller one."""
    return np.where(m.gained > 0.12 + 1e-4, 1.0, np.where(m.gained > 0.0, 0.5, 0.0)).astype(np.float32)


def steal_boost(m: Moment) -> Floats:
    """On a pick-up in their half: 1 within 500 uu of one of their corner pads, else 0.25."""
    xy = m.now.position[..., None, :2] - THEIR_BIG_PADS[:, :2]
    corner = (length(xy) < NEAR).any(-1)
    theirs = (m.gained > 0.0) & (m.now.position[..., 1] > 0.0)
    return np.where(theirs, np.where(corner, 1.0, 0.25), 0.0).astype(np.float32)


# Places and conditions --------------------------------------------------------------------------------------------


def offside(m: Moment) -> Floats:
    """−1 in their half ahead of the ball."""
    ahead = (m.now.position[..., 1] > 0.0) & (m.now.position[..., 1] > m.now.ball[..., 1])
    return np.where(ahead & ~m.now.demoed, -1.0, 0.0).astype(np.float32)


def in_net(m: Moment) -> Floats:
    """−0.5 inside the own net, −1 inside theirs."""
    y = m.now.position[..., 1]
    return np.where(y < -BACK_WALL_Y, -0.5, np.where(y > BACK_WALL_Y, -1.0, 0.0)).astype(np.float32)


def is_closest(m: Moment) -> Bools:
    """No car is closer to the ball; a demolished one does not count."""
    distance = np.where(m.now.demoed, np.inf, m.distance)
    return np.asarray((distance <= distance.min(axis=1, keepdims=True)) & ~m.now.demoed)


def is_touched_last(m: Moment) -> Bools:
    """The last touch was this car's."""
    return m.touched_last


def is_behind_ball(m: Moment) -> Bools:
    """Between the ball and the own back wall in y."""
    return m.now.position[..., 1] < m.now.ball[..., 1]
