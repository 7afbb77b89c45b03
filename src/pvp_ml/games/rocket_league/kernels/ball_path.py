"""Where the ball will be, and when a car can be there: compiled, for the bots that predict.

A flight with gravity, drag and bounces off floor, walls, corners and ceiling. Ramps are left out and nobody touches the
ball, so it is good for a second or two, which is what a driver needs. n cars, T moments; everything in the car's own
team's frame, own goal at −y; uu, uu/s, s.
"""

import numpy as np

from pvp_ml.games.rocket_league.kernels.pads import ARENAS

MOMENT_S = 1.0 / 15.0  # between two moments of a path
MOMENTS = 75
_SUBSTEPS = 4
_DRAG = 0.03  # share of speed lost a second
_BOUNCE, _GRIP = 0.6, 0.285  # of speed: what a bounce gives back, and what it takes along the surface
_SLIDING, _ROLLING = 227.5, 547.5  # uu/s²: friction on the floor; uu/s: spin has a limit, faster balls slide
_RADIUS, _GRAVITY = 91.25, 650.0
_SIDE, _BACK, _TOP, _CORNER = 4096.0, 5120.0, 2044.0, 8064.0
_GOAL_X, _GOAL_Z = 892.755, 642.775
_THROTTLE_LIMIT, _MAX_SPEED, _BOOST_PUSH, _BOOST_USE = 1410.0, 2300.0, 991.7, 33.3
_TURN_RATE = 2.0  # rad/s, what a driving car turns on average


@ARENAS.kernel
def _bounce(p, v, axis, sign):
    """Turn the velocity round at a plane across `axis`; `sign` is the side on which the wall lies."""
    if v[axis] * sign <= 0.0:
        return
    v[axis] *= -_BOUNCE
    for other in range(3):
        if other != axis:
            v[other] *= 1.0 - _GRIP * 0.5


@ARENAS.kernel
def _substep(p, v, dt):
    """Move one ball; True when it is in a goal."""
    in_mouth = abs(p[0]) < _GOAL_X - _RADIUS and p[2] < _GOAL_Z - _RADIUS
    if abs(p[1]) > _BACK and in_mouth:
        return True
    rolls = p[2] < _RADIUS + 3.0 and abs(v[2]) < 60.0
    if rolls:
        p[2], v[2] = _RADIUS + 1.9, 0.0
        speed = np.sqrt(v[0] * v[0] + v[1] * v[1])
        if speed > _ROLLING:
            v[0] *= 1.0 - _SLIDING * dt / speed
            v[1] *= 1.0 - _SLIDING * dt / speed
    else:
        v[2] -= _GRAVITY * dt
    for i in range(3):
        v[i] *= 1.0 - _DRAG * dt
        p[i] += v[i] * dt
    if p[2] < _RADIUS:
        p[2] = _RADIUS
        _bounce(p, v, 2, -1.0)
    elif p[2] > _TOP - _RADIUS:
        p[2] = _TOP - _RADIUS
        _bounce(p, v, 2, 1.0)
    if abs(p[0]) > _SIDE - _RADIUS:
        side = 1.0 if p[0] > 0.0 else -1.0
        p[0] = side * (_SIDE - _RADIUS)
        _bounce(p, v, 0, side)
    if abs(p[1]) > _BACK - _RADIUS and not in_mouth:
        side = 1.0 if p[1] > 0.0 else -1.0
        p[1] = side * (_BACK - _RADIUS)
        _bounce(p, v, 1, side)
    over = abs(p[0]) + abs(p[1]) - (_CORNER - _RADIUS * 1.4142135)
    if over > 0.0:
        sx = 1.0 if p[0] > 0.0 else -1.0
        sy = 1.0 if p[1] > 0.0 else -1.0
        p[0] -= sx * over * 0.5
        p[1] -= sy * over * 0.5
        toward = (v[0] * sx + v[1] * sy) * 0.5
        if toward > 0.0:
            v[0] -= (1.0 + _BOUNCE) * toward * sx
            v[1] -= (1.0 + _BOUNCE) * toward * sy
    return False


@ARENAS.kernel
def fly(ball, velocity, path, goal_s):
    """Fill path [n,T,6] (position, velocity) of balls [n,3]; goal_s [n]: ± s until it is in their (own) goal, or 0."""
    dt = MOMENT_S / _SUBSTEPS
    p, v = np.empty(3), np.empty(3)
    for n in range(len(ball)):
        p[:], v[:] = ball[n], velocity[n]
        goal_s[n] = 0.0
        for t in range(path.shape[1]):
            path[n, t, :3], path[n, t, 3:] = p, v
            for _ in range(_SUBSTEPS):
                if goal_s[n] == 0.0 and _substep(p, v, dt):
                    goal_s[n] = (t + 1) * MOMENT_S * (1.0 if p[1] > 0.0 else -1.0)


@ARENAS.kernel
def _straight_way(speed, boost, way):
    """Fill way [T]: how far a car comes that drives straight on, with the boost (0…1) that it has."""
    gone, tank = 0.0, boost * 100.0
    for t in range(len(way)):
        way[t] = gone
        push = max(1600.0 - 1440.0 * max(speed, 0.0) / 1400.0, 0.0) if speed < _THROTTLE_LIMIT else 0.0
        if tank > 0.0:
            push += _BOOST_PUSH
            tank -= _BOOST_USE * MOMENT_S
        speed = min(speed + push * MOMENT_S, _MAX_SPEED)
        gone += speed * MOMENT_S


@ARENAS.kernel
def meet(path, car, velocity, boost, reach_z, meeting):
    """The first moment of each path [n,T,6] at which the car can be at a ball no higher than reach_z.

    car, velocity [n,3]; boost [n] 0…1. meeting [n,7]: seconds from now, ball position, ball velocity then. A car that
    comes too late for all of it gets the last moment.
    """
    moments = path.shape[1]
    way = np.empty(moments)
    for n in range(len(path)):
        speed = np.sqrt(velocity[n, 0] ** 2 + velocity[n, 1] ** 2)
        _straight_way(speed, boost[n], way)
        found = moments - 1
        for t in range(moments):
            if path[n, t, 2] > reach_z:
                continue
            dx, dy = path[n, t, 0] - car[n, 0], path[n, t, 1] - car[n, 1]
            gap = np.sqrt(dx * dx + dy * dy)
            ahead = (velocity[n, 0] * dx + velocity[n, 1] * dy) / max(speed * gap, 1.0)
            turn_s = np.arccos(min(max(ahead, -1.0), 1.0)) / _TURN_RATE if speed > 300.0 else 0.3
            late = int(turn_s / MOMENT_S)
            if t >= late and way[t - late] + 170.0 >= gap:
                found = t
                break
        meeting[n, 0] = found * MOMENT_S
        meeting[n, 1:] = path[n, found]
