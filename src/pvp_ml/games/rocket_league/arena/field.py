"""The soccar field in numbers: lengths in uu (1 cm), speeds in uu/s, angles in rad, times in s.

x runs along the goal line, y from the blue goal (−5120) to the orange goal (+5120), z up. Everything that a seat sees
is in its own team's frame: own goal at −y, their goal at +y; orange's frame is the world turned by 180° about z.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TICKS_PER_S = 120
SIDE_WALL_X = 4096.0
BACK_WALL_Y = 5120.0
BACK_NET_Y = 6000.0
CEILING_Z = 2044.0
ROOF_PLANE_Z = 2048.0
CORNER_CATHETUS = 1152.0
GOAL_HALF_WIDTH = 892.755
GOAL_HEIGHT = 642.775
GOAL_LINE_Y = 5215.5  # the ball's centre has to pass it

CAR_MAX_SPEED = 2300.0
CAR_MAX_SPIN = 5.5
BALL_MAX_SPEED = 6000.0
BALL_RADIUS = 92.75  # the radius that the reward formulas use
BALL_REST_Z = 93.15
CAR_REST_Z = 17.0
SUPERSONIC_SPEED = 2200.0
BOOST_MAX = 100.0
KICKOFF_BOOST = 100.0 / 3.0
GRAVITY = 650.0

FloatArray = npt.NDArray[np.float32]

THEIR_GOAL: FloatArray = np.array([0.0, BACK_NET_Y, GOAL_HEIGHT / 2], np.float32)
OWN_GOAL: FloatArray = np.array([0.0, -BACK_NET_Y, GOAL_HEIGHT / 2], np.float32)

# (x, y, yaw) of blue; orange's are turned by 180°
KICKOFF_SPAWNS: tuple[tuple[float, float, float], ...] = (
    (-2048.0, -2560.0, 0.25 * np.pi),
    (2048.0, -2560.0, 0.75 * np.pi),
    (-256.0, -3840.0, 0.5 * np.pi),
    (256.0, -3840.0, 0.5 * np.pi),
    (0.0, -4608.0, 0.5 * np.pi),
)

BIG_PAD_S, SMALL_PAD_S = 10.0, 4.0
BIG_PAD_BOOST, SMALL_PAD_BOOST = 100.0, 12.0

_BLUE_HALF_PADS = (
    (0.0, -4240.0, 70.0),
    (-1792.0, -4184.0, 70.0),
    (1792.0, -4184.0, 70.0),
    (-3072.0, -4096.0, 73.0),
    (3072.0, -4096.0, 73.0),
    (-940.0, -3308.0, 70.0),
    (940.0, -3308.0, 70.0),
    (0.0, -2816.0, 70.0),
    (-3584.0, -2484.0, 70.0),
    (3584.0, -2484.0, 70.0),
    (-1788.0, -2300.0, 70.0),
    (1788.0, -2300.0, 70.0),
    (-2048.0, -1036.0, 70.0),
    (0.0, -1024.0, 70.0),
    (2048.0, -1036.0, 70.0),
    (-3584.0, 0.0, 73.0),
    (-1024.0, 0.0, 70.0),
)
# The simulator's order; reading it backwards gives the pads of the turned field.
PADS: FloatArray = np.array([*_BLUE_HALF_PADS, *((-x, -y, z) for x, y, z in reversed(_BLUE_HALF_PADS))], np.float32)
PAD_IS_BIG: npt.NDArray[np.bool_] = PADS[:, 2] > 72.0
