"""Signals: named facts per seat and step, for metrics, breakdowns and reward expressions."""

from __future__ import annotations

import numpy as np

from pvp_ml.games.rocket_league.derived_state import Floats, Moment
from pvp_ml.games.rocket_league.rewards import terms as terms
from pvp_ml.spec import Signal

WALL_UP_Z = 0.3

SIGNALS: tuple[Signal, ...] = (
    Signal("minutes", "min", doc="time played"),
    Signal("touches", doc="touches that began"),
    Signal("goals", doc="goals after a last touch by this car"),
    Signal("team_goals", doc="goals of the team"),
    Signal("conceded", doc="goals against the team"),
    Signal("own_goals", doc="goals against after a last touch by this car"),
    Signal("shots", doc="shots on goal, as the simulator counts them"),
    Signal("saves", doc="saves, as the simulator counts them"),
    Signal("demos", doc="demolitions by this car"),
    Signal("demoed", doc="demolitions of this car"),
    Signal("pads", doc="boost pads taken"),
    Signal("boost_collected", "tanks", doc="boost that came"),
    Signal("boost_used", "tanks", doc="boost that went"),
    Signal("boost", "tanks", "mean", doc="boost held"),
    Signal("speed", "uu/s", "mean"),
    Signal("supersonic", fold="mean", doc="share of steps at supersonic speed"),
    Signal("airborne", fold="mean", doc="share of steps in the air"),
    Signal("distance_to_ball", "uu", "mean"),
    Signal("ball_speed", "uu/s", "mean"),
    Signal("ball_y", "uu", "mean", doc="own half negative"),
    Signal("closest", fold="mean", doc="nobody is closer to the ball"),
    Signal("touched_last", fold="mean", doc="the last touch was this car's"),
    Signal("behind_ball", fold="mean", doc="on the own side of the ball"),
    Signal("turtles", doc="times the car came to lie on its roof"),
    Signal("turtle_recoveries", doc="back on the wheels within 45 steps"),
    Signal("turtle_failures", doc="still down after 45 steps"),
    Signal("turtle_recovery_steps", "steps", doc="sum over recoveries"),
    Signal("air_touches", doc="touches that began in the air"),
    Signal("wall_touches", doc="touches that began while driving on a wall"),
    Signal("flip_resets", doc="flips that the ball under the wheels gave back"),
    Signal("mechanics", fold="max", doc="the match began in the mechanics lane"),
    Signal("mechanics_touches", doc="touches in matches of the lane, until the first goal"),
    Signal("mechanics_air_touches", doc="those in the air"),
    Signal("mechanics_goals", doc="first goals of such matches after a last touch by this car"),
)


def write(moment: Moment, minutes: float, out: Floats) -> None:
    """Fill out [M,S,K]; `minutes` is the length of a step."""
    now, counts, drill = moment.now, moment.counts, moment.is_drill
    air_touch = moment.touch & ~now.on_ground
    values = (
        minutes,
        moment.touch,
        moment.scorer,
        moment.scored,
        moment.conceded,
        moment.own_goal,
        counts[..., 2],
        counts[..., 1],
        counts[..., 3],
        moment.new_demoed,
        counts[..., 4],
        moment.gained,
        moment.spent,
        now.boost,
        terms.length(now.velocity),
        now.is_supersonic,
        ~now.on_ground,
        moment.distance,
        terms.length(now.ball_velocity),
        now.ball[..., 1],
        terms.is_closest(moment),
        moment.touched_last,
        terms.is_behind_ball(moment),
        moment.turtled,
        moment.recovered,
        moment.stayed_down,
        moment.recovery_steps,
        air_touch,
        moment.touch & now.on_ground & (abs(now.up[..., 2]) < WALL_UP_Z),
        moment.flip_reset,
        drill,
        moment.touch & drill,
        air_touch & drill,
        moment.scorer & drill,
    )
    table = np.empty((len(values), *moment.touch.shape), np.float32)  # whole rows first: columns of `out` are slow
    for row, value in zip(table, values, strict=True):
        row[...] = value
    out[...] = table.transpose(1, 2, 0)
