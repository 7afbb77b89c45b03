"""The compiled half of `arena.memory`: the state of many arenas, read where RocketSim keeps it.

Offsets are bytes from the beginning of a C++ object (or, for counters, of a Python object) of RocketSim 2.2.1; `memory`
compares what comes of them with the binding's own answers before it relies on them.
"""

import numpy as np

from pvp_ml.games.rocket_league.kernels.pads import ARENAS

UU = 50.0  # uu per unit of the physics engine, as a float32 product
FLIP_WINDOW_S = 1.25  # after a jump
BLUE_SCORE, ORANGE_SCORE = 224, 228  # of the Python arena
BALL_BODY = 176
PAD_THERE = 80
GOALS, DEMOS, PICKUPS, SHOTS, SAVES = 392, 396, 400, 404, 408  # of the Python car
CAR_BODY = 416
ON_GROUND, JUMPED, DOUBLE_JUMPED, FLIPPED, JUMPING = 1736, 1741, 1742, 1743, 1769
FLIP_TIME, AIR_TIME_SINCE_JUMP, BOOST, BOOSTING_S = 1764, 1776, 1780, 1792
SUPERSONIC, HANDBRAKE, CONTACT, DEMOED, RESPAWN_TIMER = 1796, 1804, 1824, 1864, 1868
HIT_IS_VALID, HIT_TICK, HOLDS_JUMP = 1872, 1936, 1972
WRECK = ((1632, 11), (1696, 18), (1712, 21))  # (vector, column of a car row)
# of a rigid body: three rows of its basis, 16 bytes each, then its place; velocities follow later
PLACE, SPEED, SPIN = 48, 464, 480


@ARENAS.kernel
def _put_vector(x, y, z, pair, column):
    """A vector in blue's frame and, turned by 180°, in orange's: pair [2,W]."""
    pair[0, column], pair[0, column + 1], pair[0, column + 2] = x, y, z
    pair[1, column], pair[1, column + 1], pair[1, column + 2] = -x, -y, z


@ARENAS.kernel
def _put_body(floats, body, scale, pair, place, velocity, spin):
    """Place, velocity and spin of a rigid body at the address `body`, uu, uu/s and rad/s."""
    at = (body + PLACE) >> 2
    _put_vector(floats[at] * scale, floats[at + 1] * scale, floats[at + 2] * scale, pair, place)
    at = (body + SPEED) >> 2
    _put_vector(floats[at] * scale, floats[at + 1] * scale, floats[at + 2] * scale, pair, velocity)
    at = (body + SPIN) >> 2
    _put_vector(floats[at], floats[at + 1], floats[at + 2], pair, spin)


@ARENAS.kernel
def _put_wreck(floats, car, pair):
    """Of a demolished car the simulator tells where it was when that happened."""
    for offset, column in WRECK:
        at = (car + offset) >> 2
        _put_vector(floats[at], floats[at + 1], floats[at + 2], pair, column)


@ARENAS.kernel
def _put_flags(octets, floats, car, flags):
    """The flags [4 or 13] of a car, in the columns that `simulator` names."""
    f = car >> 2
    may_flip = not octets[car + FLIPPED] and not octets[car + DOUBLE_JUMPED]
    flags[0] = octets[car + ON_GROUND] or (may_flip and floats[f + AIR_TIME_SINCE_JUMP // 4] < FLIP_WINDOW_S)
    flags[1] = octets[car + JUMPING]
    flags[2] = octets[car + SUPERSONIC]
    flags[3] = octets[car + CONTACT]
    if len(flags) > 4:
        flags[4] = octets[car + JUMPED]
        flags[5] = octets[car + FLIPPED]
        flags[6] = floats[f + FLIP_TIME // 4]
        flags[7] = octets[car + DOUBLE_JUMPED]
        flags[8] = floats[f + AIR_TIME_SINCE_JUMP // 4]
        flags[9] = floats[f + HANDBRAKE // 4]
        flags[10] = floats[f + RESPAWN_TIMER // 4]
        flags[11] = floats[f + BOOSTING_S // 4]
        flags[12] = octets[car + HOLDS_JUMP]


@ARENAS.kernel
def read_arenas(rows, space, at, since, uu, out):
    """Fill the rows [N] of out = (game [M,4], pads [M,2,34], ball [M,2,25], cars [M,S,2,36], flags [M,S,F]).

    space = (octets, words, longs, floats): the process's memory, by address over the size of an element; at = the
    addresses of Python arenas [M], balls [M], pads [M,34], Python cars [M,S] and cars [M,S]; since [M]: a ball that was
    hit in this tick or later is a touch. Ids, teams and what nobody asks for (quaternions, angles) stay as they are.
    """
    octets, words, longs, floats = space
    arenas, balls, pad_at, people, car_at = at
    game, pads, ball, cars, flags = out
    count = pads.shape[2]
    for m in rows:
        game[m, 1] = 0.0
        game[m, 2] = words[(arenas[m] + BLUE_SCORE) >> 2]
        game[m, 3] = words[(arenas[m] + ORANGE_SCORE) >> 2]
        for k in range(count):
            there = octets[pad_at[m, k] + PAD_THERE]
            pads[m, 0, k] = there
            pads[m, 1, count - 1 - k] = there
        _put_body(floats, balls[m] + BALL_BODY, uu, ball[m], 0, 7, 10)
        latest = np.uint64(0)
        for s in range(cars.shape[1]):
            car, pair, person = car_at[m, s], cars[m, s], people[m, s] >> 2
            hit = longs[(car + HIT_TICK) >> 3]
            if octets[car + HIT_IS_VALID] and (hit > latest or game[m, 1] == 0.0):  # at a tie the first seat
                latest, game[m, 1] = hit, pair[0, 0]
            if octets[car + DEMOED]:
                _put_wreck(floats, car, pair)
            else:
                _put_body(floats, car + CAR_BODY, uu, pair, 11, 18, 21)
            basis = (car + CAR_BODY) >> 2
            for axis in range(3):
                x, y, z = floats[basis + axis], floats[basis + 4 + axis], floats[basis + 8 + axis]
                _put_vector(x, y, z, pair, 24 + 3 * axis)
            for row in pair:
                row[2] = words[person + GOALS // 4]
                row[3] = words[person + SAVES // 4]
                row[4] = words[person + SHOTS // 4]
                row[5] = words[person + DEMOS // 4]
                row[6] = words[person + PICKUPS // 4]
                row[7] = octets[car + DEMOED]
                row[8] = octets[car + ON_GROUND]
                row[9] = octets[car + HIT_IS_VALID] and hit >= since[m]
                row[10] = floats[(car + BOOST) >> 2]
            _put_flags(octets, floats, car, flags[m, s])
