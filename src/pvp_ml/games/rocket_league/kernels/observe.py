"""The compiled half of `observe` and `observe_default`: plain loops over matches, seats and columns.

N rows, S seats, J cars; vectors in the frame of the seat's team, as in `derived_state.Facts`. `out` [N,S,D] is filled.
"""

import numpy as np

from pvp_ml.games.rocket_league.kernels.pads import ARENAS

# columns of a car row that the kernels read; `simulator` names them all
_DEMOED, _ON_GROUND, _BOOST, _POS, _VEL, _SPIN, _FORWARD, _UP = 7, 8, 10, 11, 18, 21, 24, 30


@ARENAS.kernel
def _put_inside(axes, x, y, z, scale, row, at):
    """A vector in the car's own axes [3,3] (nose, right, roof), scaled, at row[at:at+3]."""
    for i in range(3):
        row[at + i] = (x * axes[i, 0] + y * axes[i, 1] + z * axes[i, 2]) * scale
    return at + 3


@ARENAS.kernel
def _put(row, at, value):
    row[at] = value
    return at + 1


@ARENAS.kernel
def _nearest(distance, count, order):
    """Indexes of the `count` smallest of `distance` [K], smallest first, the earlier one at a tie, into `order`."""
    for slot in range(count):
        best = -1
        for k in range(len(distance)):
            if distance[k] < np.inf and (best < 0 or distance[k] < distance[best]):
                best = k
        order[slot] = best
        if best >= 0:
            distance[best] = np.inf


@ARENAS.kernel
def _put_cars(axes, position, ball, cars, has_flip, table, slots, scales, scratch, row, at):
    """The cars of a table [J], nearest to the ball first; empty slots are zero.

    `cars` [J,36]; `has_flip` [J], empty for version 1. 11 numbers a car in version 1, 19 in version 2, which also tells
    where nose and roof point, wheels on something, and the flip.
    """
    per_length, per_speed, per_spin = scales
    width = 19 if len(has_flip) else 11
    distance, order = scratch[0][: len(table)], scratch[1]
    for j in range(len(table)):
        distance[j] = np.inf
        if table[j]:
            dx, dy, dz = cars[j, _POS] - ball[0], cars[j, _POS + 1] - ball[1], cars[j, _POS + 2] - ball[2]
            distance[j] = dx * dx + dy * dy + dz * dz
    _nearest(distance, slots, order)
    for slot in range(slots):
        j = order[slot]
        if j < 0:
            row[at : at + width] = 0.0
            at += width
            continue
        car = cars[j]
        dx, dy, dz = car[_POS] - position[0], car[_POS + 1] - position[1], car[_POS + 2] - position[2]
        at = _put_inside(axes, dx, dy, dz, per_length, row, at)
        at = _put_inside(axes, car[_VEL], car[_VEL + 1], car[_VEL + 2], per_speed, row, at)
        at = _put_inside(axes, car[_SPIN], car[_SPIN + 1], car[_SPIN + 2], per_spin, row, at)
        if len(has_flip):
            at = _put_inside(axes, car[_FORWARD], car[_FORWARD + 1], car[_FORWARD + 2], 1.0, row, at)
            at = _put_inside(axes, car[_UP], car[_UP + 1], car[_UP + 2], 1.0, row, at)
            at = _put(row, at, car[_ON_GROUND])
            at = _put(row, at, has_flip[j])
        at = _put(row, at, car[_BOOST] / 100.0)
        at = _put(row, at, 1.0 if car[_DEMOED] < 0.5 else 0.0)
    return at


@ARENAS.kernel
def _put_pads(axes, position, point, field, there, timer, count, per_length, scratch, row, at):
    """The pads nearest to a point in xy; `field` = (places [34,3], is big [34]). 6 numbers a pad."""
    places, big = field
    distance, order = scratch[0][: len(places)], scratch[1]
    for k in range(len(places)):
        dx, dy = point[0] - places[k, 0], point[1] - places[k, 1]
        distance[k] = dx * dx + dy * dy
    _nearest(distance, count, order)
    for slot in range(count):
        k = order[slot]
        dx, dy, dz = places[k, 0] - position[0], places[k, 1] - position[1], places[k, 2] - position[2]
        at = _put_inside(axes, dx, dy, dz, per_length, row, at)
        at = _put(row, at, 1.0 if big[k] else 0.0)
        at = _put(row, at, 1.0 if there[k] else 0.0)
        at = _put(row, at, timer[k] / 10.0)
    return at


@ARENAS.kernel
def write_advanced(ball, ball_velocity, car, flags, others, pads, context, shape, constants, out):
    """Fill `out` with the advanced observation.

    ball, ball_velocity [N,S,3]; car = (position, velocity, spin, axes, boost); flags = (has_flip, on_ground, jumping,
    supersonic, demoed, may_boost, may_jump), each [N,S]; others = (cars [N,S,J,36], has_flip [N,J] or, in version 1,
    [N,0]); pads = (there, timer), each [N,S,34]; context = (previous [N,S,8], clock [N], score difference [N,S]);
    shape = (ally table [S,J], allies, opponent table, opponents, pads near the car, pads near the ball); constants =
    (goals [2,3], field, place scale [3], 1/uu, 1/ball speed, 1/car speed, 1/spin, limit).
    """
    position, velocity, spin, axes, boost = car
    has_flip, on_ground, jumping, supersonic, demoed, may_boost, may_jump = flags
    cars, flips = others
    there, timer = pads
    previous, time_left, score = context
    ally_table, allies, rival_table, rivals, near_car, near_ball = shape
    goals, field, place, per_length, per_ball_speed, per_speed, per_spin, limit = constants
    scales = (per_length, per_speed, per_spin)
    scratch = (np.empty(len(field[0]), np.float32), np.empty(len(field[0]), np.int64))
    for n in range(out.shape[0]):
        for s in range(out.shape[1]):
            row, a, p, b = out[n, s], axes[n, s], position[n, s], ball[n, s]
            v, bv, w = velocity[n, s], ball_velocity[n, s], spin[n, s]
            at = _put_inside(a, b[0] - p[0], b[1] - p[1], b[2] - p[2], per_length, row, 0)
            at = _put_inside(a, bv[0] - v[0], bv[1] - v[1], bv[2] - v[2], per_ball_speed, row, at)
            for i in range(3):
                at = _put(row, at, p[i] * place[i])
            at = _put_inside(a, v[0], v[1], v[2], per_speed, row, at)
            at = _put_inside(a, w[0], w[1], w[2], per_spin, row, at)
            at = _put(row, at, boost[n, s])
            for i in range(3):
                at = _put(row, at, a[i, 2])
            at = _put(row, at, has_flip[n, s])
            at = _put(row, at, on_ground[n, s])
            at = _put(row, at, jumping[n, s])
            at = _put(row, at, supersonic[n, s])
            at = _put(row, at, not demoed[n, s])
            still = abs(bv[0]) < 1.0 and abs(bv[1]) < 1.0 and abs(bv[2]) < 1.0
            at = _put(row, at, still and abs(b[0]) < 1.0 and abs(b[1]) < 1.0)
            at = _put(row, at, time_left[n])
            at = _put(row, at, np.tanh(score[n, s] / 3.0))
            for i in range(8):
                at = _put(row, at, previous[n, s, i])
            at = _put(row, at, may_boost[n, s])
            at = _put(row, at, may_jump[n, s])
            at = _put_cars(a, p, b, cars[n, s], flips[n], ally_table[s], allies, scales, scratch, row, at)
            at = _put_cars(a, p, b, cars[n, s], flips[n], rival_table[s], rivals, scales, scratch, row, at)
            at = _put_pads(a, p, p, field, there[n, s], timer[n, s], near_car, per_length, scratch, row, at)
            at = _put_pads(a, p, b, field, there[n, s], timer[n, s], near_ball, per_length, scratch, row, at)
            for g in range(2):
                at = _put_inside(a, goals[g, 0] - b[0], goals[g, 1] - b[1], goals[g, 2] - b[2], per_length, row, at)
            for g in range(2):
                at = _put_inside(a, goals[g, 0] - p[0], goals[g, 1] - p[1], goals[g, 2] - p[2], per_length, row, at)
            for i in range(len(row)):
                row[i] = min(max(row[i], -limit), limit)


@ARENAS.kernel
def _put_scaled(source, at_source, scale, row, at):
    """Three numbers of a car row, scaled."""
    for i in range(3):
        row[at + i] = source[at_source + i] * scale
    return at + 3


@ARENAS.kernel
def write_default(ball, car_rows, flags, timer, order, columns, scales, out):
    """Fill `out` with rlgym's default observation.

    ball = (position, velocity, spin), each [N,S,3]; car_rows [N,S,J,36] as seat s sees car j; flags [N,J,13]; timer
    [N,S,34]; order [S,C] cars in the slots, −1 for none; columns = the flags' columns (holds jump, handbrake, has
    jumped, is jumping, has flipped, flip time, has double jumped, air time, respawn timer, boosting, supersonic);
    scales = (per length, per turn, per timer, flip window, flip torque time).
    """
    holds, handbrake, jumped, jumping, flipped, flip_time, doubled, air_time, respawn, boosting, supersonic = columns
    per_length, per_turn, per_timer, window, torque = scales
    slots = order.shape[1]
    for n in range(out.shape[0]):
        for s in range(out.shape[1]):
            row, own = out[n, s], flags[n, s]
            for i in range(3):
                row[i] = ball[0][n, s, i] * per_length
                row[3 + i] = ball[1][n, s, i] * per_length
                row[6 + i] = ball[2][n, s, i] * per_turn
            for k in range(timer.shape[2]):
                row[9 + k] = timer[n, s, k] * per_timer
            at = 9 + timer.shape[2]
            at = _put(row, at, own[holds] > 0.5)
            for column in (handbrake, jumped, jumping, flipped):
                at = _put(row, at, own[column])
            at = _put(row, at, own[flipped] > 0.5 and own[flip_time] < torque)
            at = _put(row, at, own[doubled])
            free = car_rows[n, s, s, _ON_GROUND] <= 0.5 and own[holds] <= 0.5
            unused = own[flipped] <= 0.5 and own[doubled] <= 0.5
            at = _put(row, at, free and unused and own[air_time] < window)
            at = _put(row, at, own[air_time])
            for slot in range(slots + 1):
                j = s if slot == 0 else order[s, slot - 1]
                if j < 0:
                    row[at : at + 20] = 0.0
                    at += 20
                    continue
                car = car_rows[n, s, j]
                at = _put_scaled(car, _POS, per_length, row, at)
                at = _put_scaled(car, _FORWARD, 1.0, row, at)
                at = _put_scaled(car, _UP, 1.0, row, at)
                at = _put_scaled(car, _VEL, per_length, row, at)
                at = _put_scaled(car, _SPIN, per_turn, row, at)
                at = _put(row, at, car[_BOOST] / 100.0)
                at = _put(row, at, flags[n, j, respawn])
                at = _put(row, at, car[_ON_GROUND])
                at = _put(row, at, flags[n, j, boosting] > 0.0)
                at = _put(row, at, flags[n, j, supersonic])
