"""Upper rungs of the ladder: bots that foresee the ball, line up shots, keep their goal, jump and flip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pvp_ml.games.rocket_league.actions import BOOST, HANDBRAKE, JUMP, PITCH, ROLL, STEER, THROTTLE, YAW
from pvp_ml.games.rocket_league.arena.field import BACK_WALL_Y, PAD_IS_BIG, PADS, SIDE_WALL_X
from pvp_ml.games.rocket_league.bots.driver import Driver, drive_to, flip_at
from pvp_ml.games.rocket_league.derived_state import Bools, Floats
from pvp_ml.games.rocket_league.kernels.ball_path import MOMENTS, fly, meet

ROLLING_Z, JUMP_Z = 190.0, 420.0  # uu: balls that a driving car hits, and one that jumps
SHOT_SPEED = 2600.0  # uu/s: the speed that a hit shall give the ball
EDGE = 1.2  # rad: how far from its own way a car hits the ball
STEERING = 6.0  # of the wheel per rad off the target
RIVAL_BOOST = 0.3  # nobody knows the other's tank
BIG_PADS: Floats = PADS[PAD_IS_BIG]


@dataclass(slots=True)
class Outlook:
    """What n drivers foresee."""

    seconds: Floats  # [n] until the car can be at the ball
    ball: Floats  # [n,3] there
    ball_velocity: Floats  # [n,3] then
    rival_s: Floats  # [n] until the rival can
    goal_s: Floats  # [n] > 0: until the ball is in their goal, < 0: in ours, 0: neither


def outlook(d: Driver, reach_z: float) -> Outlook:
    """Fly the ball and find who meets it where."""
    n = len(d.boost)
    path, goal_s = np.empty((n, MOMENTS, 6)), np.empty(n)
    fly(d.ball.astype(np.float64), d.ball_velocity.astype(np.float64), path, goal_s)
    mine, theirs = np.empty((n, 7)), np.empty((n, 7))
    meet(path, d.position, d.velocity, d.boost, reach_z, mine)
    meet(path, d.rival, d.rival_velocity, np.full(n, RIVAL_BOOST, np.float32), ROLLING_Z, theirs)
    f = np.float32
    return Outlook(
        mine[:, 0].astype(f), mine[:, 1:4].astype(f), mine[:, 4:].astype(f), theirs[:, 0].astype(f), goal_s.astype(f)
    )


def shooter(d: Driver) -> Floats:
    """Meets the ball where it will be, from the side that sends it to their goal; rotates back when it is behind."""
    o = outlook(d, ROLLING_Z)
    return _kick_off(d, _shoot(d, o))


def keeper(d: Driver) -> Floats:
    """A shooter that waits before its own goal while the other is first at the ball, and saves."""
    o = outlook(d, ROLLING_Z)
    return _kick_off(d, _guard(d, o, _shoot(d, o)))


def flipper(d: Driver) -> Floats:
    """A shooter that flips into shots, jumps at bouncing balls and fetches boost."""
    o = outlook(d, ROLLING_Z)
    controls = _fetch_boost(d, o, _shoot(d, o))
    gap = d.ball - d.position
    flat, above = np.linalg.norm(gap[:, :2], axis=1), gap[:, 2]
    speed = np.linalg.norm(d.velocity - d.ball_velocity, axis=1)
    faced = np.abs(_bearing(d, d.ball)) < 0.3
    ahead = gap[:, 1] > 0.0
    strike = faced & ahead & (flat < 120.0 + 0.25 * speed) & (above < 130.0)
    rise = faced & ahead & (flat < 150.0 + 0.35 * speed) & (above > 150.0) & (above < 380.0)
    return _kick_off(d, _leap(d, controls, strike, rise))


def _kick_off(d: Driver, controls: Floats) -> Floats:
    """Kickoffs are rushed with a flip, whatever else was planned."""
    kickoff = np.asarray((np.abs(d.ball[:, :2]) < 1.0).all(1) & (np.abs(d.ball_velocity) < 1.0).all(1))
    if not kickoff.any():
        return controls
    rush = flip_at(d, drive_to(d, d.ball), np.linalg.norm(d.ball - d.position, axis=1) < 650.0)
    return np.where(kickoff[:, None], rush, controls)


def _shoot(d: Driver, o: Outlook) -> Floats:
    """Drive through the ball toward their goal, or back to the own side of it."""
    flat = (o.ball - d.position)[:, :2]
    gap = np.maximum(np.linalg.norm(flat, axis=1), 1.0)
    way = flat / gap[:, None]
    aim = np.stack([np.clip(o.ball[:, 0], -500.0, 500.0), np.full(len(gap), BACK_WALL_Y + 300.0)], axis=1)
    to_goal = aim - o.ball[:, :2]
    to_goal /= np.maximum(np.linalg.norm(to_goal, axis=1, keepdims=True), 1.0)
    push = to_goal * SHOT_SPEED - o.ball_velocity[:, :2]
    hit = _within(way, push / np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1.0))
    behind = np.zeros_like(d.position)
    behind[:, :2] = o.ball[:, :2] - hit * np.clip(gap * 0.45, 50.0, 1300.0)[:, None]
    wrong_side = (d.position[:, 1] > o.ball[:, 1] - 50.0) & (way[:, 1] < -0.2) & (o.ball[:, 1] < 3000.0)
    back = np.zeros_like(d.position)
    back[:, 0] = o.ball[:, 0] * 0.35
    back[:, 1] = np.clip(o.ball[:, 1] - 1800.0, 200.0 - BACK_WALL_Y, BACK_WALL_Y)
    close = wrong_side & (gap < 700.0)
    aside = np.where(d.position[:, 0] > o.ball[:, 0], 450.0, -450.0)
    back[close, 0] = (o.ball[:, 0] + aside)[close]
    target = _inside(d, np.where(wrong_side[:, None], back, behind))
    left = np.linalg.norm((target - d.position)[:, :2], axis=1) + np.linalg.norm(o.ball - target, axis=1) - 100.0
    speed = np.where(wrong_side, 2300.0, np.maximum(left, 100.0) / np.maximum(o.seconds, 0.05))
    return _drive(d, target, speed)


def _within(way: Floats, wanted: Floats) -> Floats:
    """`wanted` [n,2], turned until it lies within EDGE of `way`: a car can hit only the half of the ball it sees."""
    angle = np.arctan2(way[:, 0] * wanted[:, 1] - way[:, 1] * wanted[:, 0], (way * wanted).sum(1))
    angle = np.clip(angle, -EDGE, EDGE)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([way[:, 0] * cos - way[:, 1] * sin, way[:, 0] * sin + way[:, 1] * cos], axis=1)


def _guard(d: Driver, o: Outlook, attack: Floats) -> Floats:
    """While the other is first at the ball and the own goal is in no danger: wait between ball and goal."""
    goal = np.array([0.0, -BACK_WALL_Y, 0.0], np.float32)
    is_late = o.seconds > o.rival_s + 0.15
    behind = d.position[:, 1] < d.ball[:, 1]
    post = goal + (d.ball - goal) * np.float32(0.4)
    post[:, 2] = 0.0
    post[:, 1] = np.clip(post[:, 1], 150.0 - BACK_WALL_Y, 0.0)
    gap = np.linalg.norm((post - d.position)[:, :2], axis=1)
    wait = _drive(d, _inside(d, post), np.where(gap > 400.0, gap * 1.6, 0.0))
    waits = is_late & behind & (o.goal_s >= 0.0)
    return np.where(waits[:, None], wait, attack)


def _fetch_boost(d: Driver, o: Outlook, controls: Floats) -> Floats:
    """With a dry tank, a far ball and a safe goal: drive to the nearest big pad on the own side of the ball."""
    there = d.pads[:, PAD_IS_BIG]
    gap = np.linalg.norm(BIG_PADS[None, :, :2] - d.position[:, None, :2], axis=2)
    gap = np.where(there & (BIG_PADS[None, :, 1] < d.ball[:, 1, None] + 500.0), gap, np.inf)
    best = gap.argmin(1)
    target = BIG_PADS[best].copy()
    target[:, 2] = 0.0
    near = gap[np.arange(len(best)), best] < 1800.0
    wanted = (d.boost < 0.2) & near & (o.goal_s >= 0.0) & (o.seconds > 1.5) & (o.rival_s > 1.0)
    return np.where(wanted[:, None], _drive(d, target, np.full(len(best), 2300.0)), controls)


def _leap(d: Driver, controls: Floats, strike: Bools, rise: Bools) -> Floats:
    """Flip into balls on the floor; jump at higher ones, hold the button while they are above, flip when near."""
    controls = flip_at(d, controls, strike)
    pressed = d.previous[:, JUMP] > 0.5
    above = d.ball[:, 2] - d.position[:, 2]
    near = np.linalg.norm(d.ball - d.position, axis=1) < 260.0
    hop = rise & d.on_ground & ~pressed & ~d.is_turtled
    hold = rise & ~d.on_ground & pressed & (above > 120.0) & ~near
    hit = rise & ~d.on_ground & near & d.has_flip & ~pressed
    controls[hop | hold | hit, JUMP] = 1.0
    controls[hop | hold, BOOST] = 0.0
    controls[hit, PITCH], controls[hit, ROLL], controls[hit, YAW] = -1.0, 0.0, 0.0
    return controls


def _inside(d: Driver, target: Floats) -> Floats:
    """The target, kept off the walls; a car in a goal first leaves it between the posts."""
    target = target.copy()
    target[:, 0] = np.clip(target[:, 0], 150.0 - SIDE_WALL_X, SIDE_WALL_X - 150.0)
    target[:, 1] = np.clip(target[:, 1], 100.0 - BACK_WALL_Y, BACK_WALL_Y - 100.0)
    in_goal = np.abs(d.position[:, 1]) > BACK_WALL_Y - 30.0
    target[in_goal, 0] = np.clip(target[in_goal, 0], -700.0, 700.0)
    return target


def _bearing(d: Driver, target: Floats) -> Floats:
    """Angle [n] from the nose to a point, right positive."""
    inside = np.einsum("nij,nj->ni", d.axes, target - d.position)
    return np.asarray(np.arctan2(inside[:, 1], inside[:, 0]))


def _drive(d: Driver, target: Floats, speed: Floats) -> Floats:
    """`drive_to` at a given speed [n], uu/s; 0 means stop there."""
    controls = drive_to(d, target)
    bearing = _bearing(d, target)
    controls[:, STEER] = np.clip(STEERING * bearing, -1.0, 1.0)
    angle = np.abs(bearing)
    now = np.einsum("ni,ni->n", d.velocity, d.axes[:, 0])
    excess = now - np.minimum(speed, 2300.0)
    grounded = d.on_ground
    controls[grounded & (excess > 0.0), THROTTLE] = 0.0
    controls[grounded & (excess > 250.0), THROTTLE] = -1.0
    gap = np.linalg.norm((target - d.position)[:, :2], axis=1)
    tight = grounded & (angle > 0.7) & (gap < 900.0) & (now > 900.0)
    controls[tight, THROTTLE] = -1.0
    controls[(excess > -100.0) | (angle > 0.25), BOOST] = 0.0
    controls[:, HANDBRAKE] = grounded & (angle > 1.6) & (now > 500.0)
    controls[~grounded, STEER] = 0.0
    return controls
