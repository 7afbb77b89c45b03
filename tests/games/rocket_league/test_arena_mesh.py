from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pvp_ml.games.rocket_league.arena.field import BACK_NET_Y, BACK_WALL_Y, GOAL_HALF_WIDTH, GOAL_HEIGHT, SIDE_WALL_X
from pvp_ml.games.rocket_league.arena.generated import EDGE_ROUNDING, ROOF_FILLET, generate, outline, profile

POST = 900.0  # the real posts give a little more room than 892.755


def normals(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    return cross / np.linalg.norm(cross, axis=1, keepdims=True), (a + b + c) / 3


def test_four_quadrants_of_the_same_shape():
    meshes = generate()
    assert [len(m.triangles) for m in meshes] == [804] * 4
    assert [len(m.vertices) for m in meshes] == [442] * 4
    for mesh, (sx, sy) in zip(meshes, ((1, 1), (1, -1), (-1, 1), (-1, -1)), strict=True):
        first = meshes[0].vertices * [sx, sy, 1]
        assert np.array_equal(np.sort(mesh.vertices, 0), np.sort(first, 0))
        assert np.abs(mesh.vertices).max(0).tolist() == [SIDE_WALL_X, BACK_NET_Y, 2048.0]


def test_every_normal_points_into_the_field():
    for mesh in generate():
        normal, centre = normals(mesh)
        inside_goal = (np.abs(centre[:, 1]) > BACK_WALL_Y + 1) & (centre[:, 2] <= GOAL_HEIGHT)
        target = np.where(inside_goal[:, None], [0, 0, 300], [0, 0, 1000])
        target[:, 1] = np.where(inside_goal, np.sign(centre[:, 1]) * 5300, 0)
        assert (((target - centre) * normal).sum(1) > 0).all()


def test_no_vertex_is_there_twice_and_no_triangle_is_empty():
    for mesh in generate():
        assert len(np.unique(mesh.vertices.round(2), axis=0)) == len(mesh.vertices)
        a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
        assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1.0


def test_surface_is_closed_between_neighbours():
    """Inside a quadrant an edge belongs to two triangles; single edges lie on its borders, the floor or the planes."""
    mesh = generate()[0]
    edges: dict[tuple[int, int], int] = {}
    for triangle in mesh.triangles.tolist():
        for a, b in zip(triangle, triangle[1:] + triangle[:1], strict=True):
            key = (min(a, b), max(a, b))
            edges[key] = edges.get(key, 0) + 1
    assert set(edges.values()) <= {1, 2}
    for (a, b), count in edges.items():
        if count == 1:
            p, q = mesh.vertices[a], mesh.vertices[b]
            on_border = any(p[i] == q[i] == v for i, v in ((0, 0.0), (1, 0.0), (2, 0.0), (2, 2048.0), (0, SIDE_WALL_X)))
            assert on_border, (p, q)


def test_fillet_fades_to_the_post_and_the_corner_is_where_it_belongs():
    assert EDGE_ROUNDING > ROOF_FILLET
    columns = outline()
    at_post = next(c for c in columns if c.x == GOAL_HALF_WIDTH)
    assert at_post.floor_fillet == 0.0
    assert profile(columns[0])[0].tolist() == [SIDE_WALL_X - 256.0, 0.0, 0.0]
    reach = max(c.x + c.y for c in columns)
    assert reach == pytest.approx(4096 + 5120 - 1152, abs=0.01)  # the 45° wall


def outside(p: tuple[float, float, float]) -> bool:
    """The centre is beyond a surface. A ball at 5000 uu/s is pressed up to 40 uu into the floor, on any arena."""
    x, y, z = abs(p[0]), abs(p[1]), p[2]
    in_goal = x < POST and z < 650.0
    return x > 4096 or z > 2048 or z < 0 or y > 6000 or (y > 5120 and not in_goal) or x + y > 8064 + 5


def shots_that_escape(rs: Any, count: int) -> tuple[int, int, np.ndarray]:
    arena = rs.Arena(rs.GameMode.SOCCAR, config=rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.LIGHT))
    rng = np.random.default_rng(0)
    escaped = goals = 0
    reach = np.zeros(3)
    for _ in range(count):
        way = rng.normal(size=3)
        ball = rs.BallState()
        ball.vel = rs.Vec(*(way / np.linalg.norm(way) * rng.uniform(1000, 6000)).tolist())
        ball.pos = rs.Vec(*rng.uniform([-3500, -4500, 150], [3500, 4500, 1850]).tolist())
        arena.ball.set_state(ball)
        score = arena.blue_score + arena.orange_score
        for _ in range(90):
            arena.step(4)
            place = arena.ball.get_state().pos.as_tuple()
            if arena.blue_score + arena.orange_score > score:
                goals += 1
                break
            reach = np.maximum(reach, np.abs(place))
            if outside(place):
                escaped += 1
                break
    return escaped, goals, reach


def cars_that_escape(rs: Any, count: int) -> tuple[int, float]:
    arena = rs.Arena(rs.GameMode.SOCCAR, config=rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.LIGHT))
    car = arena.add_car(rs.Team.BLUE)
    escaped, highest = 0, 0.0
    for number in range(count):
        rng = np.random.default_rng(number)
        state = rs.CarState()
        state.pos = rs.Vec(float(rng.uniform(-3000, 3000)), float(rng.uniform(-4000, 4000)), 17.0)
        state.rot_mat = rs.Angle(yaw=float(rng.uniform(-np.pi, np.pi))).as_rot_mat()
        state.boost = 100.0
        car.set_state(state)
        for step in range(150):  # 10 s
            if step % 15 == 0:
                steer = float(rng.choice([0, 0, 0, -0.5, 0.5]))
                pitch = float(rng.uniform(-1, 1)) if rng.random() < 0.3 else 0.0
                car.set_controls(
                    rs.CarControls(throttle=1, boost=True, steer=steer, jump=bool(rng.random() < 0.1), pitch=pitch)
                )
            arena.step(8)
            place = car.get_state().pos.as_tuple()
            highest = max(highest, place[2])
            if outside(place):
                escaped += 1
                break
    return escaped, highest


def check_shots(rs: Any, count: int) -> None:
    escaped, goals, reach = shots_that_escape(rs, count)
    assert escaped == 0
    assert 0.01 * count < goals < 0.06 * count
    assert reach[0] < 4060 and reach[2] < 2005 and reach[1] < 5220


def test_no_shot_escapes(rocketsim):
    check_shots(rocketsim, 300)


def test_no_car_escapes(rocketsim):
    escaped, highest = cars_that_escape(rocketsim, 36)
    assert escaped == 0
    assert highest > 1900  # up a wall to the ceiling


@pytest.mark.nightly
def test_no_shot_of_3000_escapes(rocketsim):
    check_shots(rocketsim, 3000)


@pytest.mark.nightly
def test_no_car_of_360_escapes(rocketsim):
    assert cars_that_escape(rocketsim, 360)[0] == 0


@pytest.mark.parametrize(
    ("position", "velocity", "scorer"),
    [
        ((0, 4000, 300), (0, 3000, 0), "blue"),
        ((0, -4000, 300), (0, -3000, 0), "orange"),
        ((500, 4000, 93.15), (0, 1500, 0), "blue"),
        ((1300, 4500, 200), (0, 2500, 0), None),
        ((0, 4000, 900), (0, 3000, 300), None),
    ],
)
def test_goals_count_where_goals_are(rocketsim, position, velocity, scorer):
    rs = rocketsim
    arena = rs.Arena(rs.GameMode.SOCCAR, config=rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.LIGHT))
    ball = rs.BallState()
    ball.pos, ball.vel = rs.Vec(*map(float, position)), rs.Vec(*map(float, velocity))
    arena.ball.set_state(ball)
    arena.step(240)
    assert (arena.blue_score > 0, arena.orange_score > 0) == (scorer == "blue", scorer == "orange")


@pytest.mark.parametrize(
    ("velocity", "axis", "expected"),
    [((1000, 0, 300), 0, 4003.8), ((0, 0, 2000), 2, 1965.5)],
)
def test_the_ball_stops_where_the_real_walls_are(rocketsim, velocity, axis, expected):
    rs = rocketsim
    arena = rs.Arena(rs.GameMode.SOCCAR, config=rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.LIGHT))
    ball = rs.BallState()
    ball.pos, ball.vel = rs.Vec(2500.0 if axis == 0 else 0.0, 2000.0, 900.0), rs.Vec(*map(float, velocity))
    arena.ball.set_state(ball)
    furthest = 0.0
    for _ in range(240):
        arena.step(1)
        furthest = max(furthest, arena.ball.get_state().pos.as_tuple()[axis])
    assert furthest == pytest.approx(expected, abs=8.0)


def test_the_ball_rests_on_the_floor(rocketsim):
    rs = rocketsim
    arena = rs.Arena(rs.GameMode.SOCCAR)
    ball = rs.BallState()
    ball.pos, ball.vel = rs.Vec(1000.0, 1000.0, 300.0), rs.Vec(0.0, 0.0, -1.0)  # without any velocity it would sleep
    arena.ball.set_state(ball)
    arena.step(1200)
    assert arena.ball.get_state().pos.z == pytest.approx(93.13, abs=0.05)
