"""Our own arena: triangles of a soccar field, computed from its dimensions.

The simulator adds infinite planes for the floor (z 0), the roof (z 2048) and the side walls (x ±4096). What it cannot
know is made here, one quadrant at a time: rounded corners, back walls with a goal hole, goal boxes, and the fillets
along floor and roof. The quadrant x ≥ 0, y ≥ 0 is swept along its outline and mirrored three times.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.arena.field import (
    BACK_NET_Y,
    BACK_WALL_Y,
    CORNER_CATHETUS,
    GOAL_HALF_WIDTH,
    GOAL_HEIGHT,
    ROOF_PLANE_Z,
    SIDE_WALL_X,
)

FLOOR_FILLET = 256.0
ROOF_FILLET = 420.0
EDGE_ROUNDING = 520.0  # must exceed ROOF_FILLET, or the fillet folds over itself in the corners
FILLET_FADE = 700.0  # the floor fillet shrinks to nothing over this length before the post
ARC_STEPS = 8
ROUNDING_STEPS = 6
FADE_STEPS = 7


@dataclass(frozen=True, slots=True)
class Mesh:
    """Triangles [T,3] int32 into vertices [V,3] float64 in uu; normals (b−a)×(c−a) point into the field."""

    triangles: npt.NDArray[np.int32]
    vertices: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """One station of the outline: a point on the wall, the direction into the field, the floor fillet's radius."""

    x: float
    y: float
    inward: tuple[float, float]
    floor_fillet: float
    open_below_z: float = 0.0


def generate() -> list[Mesh]:
    """Four meshes, one per quadrant, each with its vertices welded."""
    triangles = _sweep(outline()) + _goal_box()
    return [_weld(triangles, (sx, sy)) for sx in (1.0, -1.0) for sy in (1.0, -1.0)]


def outline() -> list[Column]:
    """Stations of one quadrant from the middle of the side wall (4096, 0) to the middle of the back wall (0, 5120)."""
    half_turn = np.pi / 4
    tangent = EDGE_ROUNDING * np.tan(half_turn / 2)  # from the sharp edge to where the rounding begins
    side = (SIDE_WALL_X, BACK_WALL_Y - CORNER_CATHETUS)
    back = (SIDE_WALL_X - CORNER_CATHETUS, BACK_WALL_Y)
    columns = [Column(SIDE_WALL_X, 0.0, (-1.0, 0.0), FLOOR_FILLET)]
    columns += _rounding((side[0] - EDGE_ROUNDING, side[1] - tangent), 0.0)
    columns += _rounding((back[0] - tangent, back[1] - EDGE_ROUNDING), half_turn)
    fade_from = GOAL_HALF_WIDTH + FILLET_FADE
    for x in np.linspace(fade_from, GOAL_HALF_WIDTH, FADE_STEPS + 1):
        radius = FLOOR_FILLET * (x - GOAL_HALF_WIDTH) / FILLET_FADE
        columns.append(Column(float(x), BACK_WALL_Y, (0.0, -1.0), float(radius)))
    columns.append(Column(GOAL_HALF_WIDTH, BACK_WALL_Y, (0.0, -1.0), 0.0, GOAL_HEIGHT))
    columns.append(Column(0.0, BACK_WALL_Y, (0.0, -1.0), 0.0, GOAL_HEIGHT))
    return columns


def _rounding(centre: tuple[float, float], start: float) -> list[Column]:
    """An eighth of a circle around `centre`, beginning at angle `start`."""
    angles = start + np.linspace(0.0, np.pi / 4, ROUNDING_STEPS + 1)
    return [
        Column(
            float(centre[0] + EDGE_ROUNDING * np.cos(a)),
            float(centre[1] + EDGE_ROUNDING * np.sin(a)),
            (-float(np.cos(a)), -float(np.sin(a))),
            FLOOR_FILLET,
        )
        for a in angles
    ]


def profile(column: Column) -> npt.NDArray[np.float64]:
    """Points [N,3] of the wall above one station, floor to roof; N is the same for every station."""
    arc = np.linspace(0.0, np.pi / 2, ARC_STEPS + 1)
    floor = [(column.floor_fillet * (1 - np.sin(a)), column.floor_fillet * (1 - np.cos(a))) for a in arc]
    roof = [(ROOF_FILLET * (1 - np.cos(a)), ROOF_PLANE_Z - ROOF_FILLET * (1 - np.sin(a))) for a in arc]
    points = [*floor, (0.0, GOAL_HEIGHT), *roof]
    if column.open_below_z:
        points = [(d, max(z, column.open_below_z)) for d, z in points]
    return np.array([(column.x + d * column.inward[0], column.y + d * column.inward[1], z) for d, z in points])


def _sweep(columns: list[Column]) -> list[npt.NDArray[np.float64]]:
    triangles = []
    for left, right in pairwise(columns):
        a, b = profile(left), profile(right)
        flat = left.x == right.x == SIDE_WALL_X
        for i in range(len(a) - 1):
            on_plane = flat and i in (ARC_STEPS, ARC_STEPS + 1)  # the simulator's own side wall stands there
            if not on_plane:
                triangles += [np.array([a[i], b[i + 1], b[i]]), np.array([a[i], a[i + 1], b[i + 1]])]
    return triangles


def _goal_box() -> list[npt.NDArray[np.float64]]:
    """Post side, roof and back of the net; the floor is the simulator's plane."""
    w, h, front, back = GOAL_HALF_WIDTH, GOAL_HEIGHT, BACK_WALL_Y, BACK_NET_Y
    quads = (
        ((w, front, 0), (w, back, 0), (w, back, h), (w, front, h)),
        ((w, back, 0), (0, back, 0), (0, back, h), (w, back, h)),
        ((w, front, h), (w, back, h), (0, back, h), (0, front, h)),
    )
    corners = [np.array(quad, float) for quad in quads]
    return [t for q in corners for t in (q[[0, 2, 1]], q[[0, 3, 2]])]


def _weld(triangles: list[npt.NDArray[np.float64]], signs: tuple[float, float]) -> Mesh:
    """Share equal corners, drop triangles without area, mirror into the quadrant of `signs`."""
    corners = np.concatenate(triangles).round(3)
    vertices, index = np.unique(corners, axis=0, return_inverse=True)
    faces = index.reshape(-1, 3).astype(np.int32)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    faces = faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-6]
    if signs[0] * signs[1] < 0:  # a mirror image turns the normals around
        faces = faces[:, ::-1].copy()
    return Mesh(faces, vertices * np.array([signs[0], signs[1], 1.0]))
