"""The advanced observation once more, with whole arrays in numpy instead of compiled loops: both must agree."""

from __future__ import annotations

import numpy as np
import pytest

from pvp_ml.games.rocket_league import derived_state as look_at
from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.arena.field import (
    BACK_WALL_Y,
    CAR_MAX_SPEED,
    CAR_MAX_SPIN,
    CEILING_Z,
    OWN_GOAL,
    PAD_IS_BIG,
    PADS,
    SIDE_WALL_X,
    THEIR_GOAL,
)
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, team_sizes
from pvp_ml.games.rocket_league.observe import BALL_SPEED, DISTANCE, LIMIT, Context, builder, others


def advanced(config: RocketLeagueConfig, facts, context) -> np.ndarray:
    """[N,S,D] from facts and context."""
    mates, rivals = others(np.repeat([0, 1], team_sizes(config)))
    found = [nearest_cars(facts, mates, config.allies), nearest_cars(facts, rivals, config.opponents)]
    cars, there = (np.concatenate(parts, 2) for parts in zip(*found, strict=True))
    near = [nearest_pads(facts.position, config.pads_near_car), nearest_pads(facts.ball, config.pads_near_ball)]
    pads = np.concatenate(near, 2)
    ball, position = facts.ball[:, :, None], facts.position[:, :, None]
    goals = np.stack([THEIR_GOAL, OWN_GOAL])

    def inside(vectors):
        return vectors @ facts.axes.swapaxes(-1, -2)

    def flat(array):
        return array.reshape(*array.shape[:2], -1)

    is_second = config.observation == "advanced"
    attitude = [
        inside(cars[..., sim.FORWARD]),
        inside(cars[..., sim.UP]),
        cars[..., sim.ON_GROUND, None],
        cars[..., -1, None],
    ]
    car_rows = np.concatenate(
        [
            inside((cars[..., sim.POS] - position) / DISTANCE),
            inside(cars[..., sim.VEL] / CAR_MAX_SPEED),
            inside(cars[..., sim.SPIN] / CAR_MAX_SPIN),
            *(attitude if is_second else []),
            cars[..., sim.BOOST_AMOUNT, None] / 100.0,
            cars[..., sim.DEMOED, None] < 0.5,
        ],
        axis=3,
    )
    pad_facts = [
        PAD_IS_BIG[pads],
        np.take_along_axis(facts.pads, pads, 2),
        np.take_along_axis(facts.pad_timer, pads, 2),
    ]
    pad_rows = np.concatenate(
        [inside((PADS[pads] - position) / DISTANCE), np.stack(pad_facts, 3) * [1.0, 1.0, 0.1]], axis=3
    )
    up = facts.axes[..., 2]
    kickoff = (np.abs(facts.ball[..., :2]) < 1.0).all(-1) & (np.abs(facts.ball_velocity) < 1.0).all(-1)
    clock = np.minimum(context.seconds_left / 60.0, 1.0) if is_second else context.time_left
    time_left = np.broadcast_to(clock[:, None], facts.boost.shape)
    flags = (facts.has_flip, facts.on_ground, facts.is_jumping, facts.is_supersonic, ~facts.demoed)
    parts = (
        flat(inside((ball - position) / DISTANCE)),
        flat(inside((facts.ball_velocity - facts.velocity)[:, :, None] / BALL_SPEED)),
        facts.position / [SIDE_WALL_X, BACK_WALL_Y, CEILING_Z],
        flat(inside(facts.velocity[:, :, None] / CAR_MAX_SPEED)),
        flat(inside(facts.spin[:, :, None] / CAR_MAX_SPIN)),
        np.stack([facts.boost, *np.moveaxis(up, -1, 0), *flags], -1),
        np.stack([kickoff, time_left, np.tanh(context.score_difference / 3.0)], -1),
        context.previous,
        np.stack([facts.may_boost, facts.may_jump], -1),
        flat(car_rows * there[..., None]),
        flat(pad_rows),
        flat(inside((goals - ball) / DISTANCE)),
        flat(inside((goals - position) / DISTANCE)),
    )
    return np.clip(np.concatenate(parts, 2), -LIMIT, LIMIT)


def nearest_cars(facts, table, slots):
    """The cars of a table [S,J], nearest to the ball first: rows [N,S,slots,36 + flip] and which of them exist."""
    gap = facts.cars[..., sim.POS] - facts.ball[:, :, None]
    distance = np.where(table, (gap**2).sum(-1), np.inf)
    order = np.argsort(distance, axis=2, kind="stable")[:, :, :slots]
    there = np.take_along_axis(distance, order, 2) < np.inf
    flips = np.broadcast_to(facts.has_flip[:, None, :, None], (*facts.cars.shape[:3], 1))
    rows = np.take_along_axis(np.concatenate([facts.cars, flips], 3), order[..., None], 2)
    missing = slots - order.shape[2]
    padding = ((0, 0), (0, 0), (0, max(0, missing)))
    return np.pad(rows, (*padding, (0, 0))), np.pad(there, padding)


def nearest_pads(point, count):
    """Indices [N,S,count] of the pads nearest to a point [N,S,3]."""
    gap = point[:, :, None, :2] - PADS[:, :2]
    return np.argsort((gap**2).sum(-1), axis=2, kind="stable")[:, :, :count]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mode": "3v2"},
        {"mode": "3v2", "observation": "advanced1"},
        {"mode": "1v0", "allies": 0, "opponents": 1, "pads_near_car": 34, "pads_near_ball": 0},
    ],
)
def test_the_kernel_agrees_with_whole_arrays(play, settings):
    config = RocketLeagueConfig(meshes="generated", **settings)
    p = play(matches=6, scenario="random", **settings)
    rng, seats = np.random.default_rng(0), p.spec.seats
    context = Context(
        previous=rng.uniform(-1.0, 1.0, (6, seats, 8)).astype(np.float32),
        time_left=rng.random(6, np.float32),
        seconds_left=rng.uniform(0.0, 120.0, 6).astype(np.float32),
        score_difference=rng.integers(-3, 4, (6, seats)).astype(np.float32),
    )
    for _ in range(4):
        p.step(16, count=5)  # straight on: it takes pads and reaches walls
        seen = look_at.look(p.game.arenas, p.game.team)
        out = np.empty_like(p.out.obs)
        builder(config).write(seen, context, out)
        np.testing.assert_allclose(out, advanced(config, seen, context), atol=2e-6)
