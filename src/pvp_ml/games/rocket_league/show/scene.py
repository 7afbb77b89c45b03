"""A match as a page draws it: few numbers a step, because fifteen of them come every second."""

from __future__ import annotations

from typing import Any

import numpy as np

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import BOOST, STEER
from pvp_ml.games.rocket_league.derived_state import Floats
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.games.rocket_league.signals import SIGNALS
from pvp_ml.match import StepBuffers, VecGame

ON_GROUND, SUPERSONIC, DEMOED, HAS_FLIP, BOOSTING = 1, 2, 4, 8, 16
"""Bits of a car's flags, as `page/motion.js` reads them."""

_TEAM_GOALS = [signal.name for signal in SIGNALS].index("team_goals")


def scene(game: VecGame, out: StepBuffers) -> dict[str, Any]:
    """Row 0. A car: team, place, velocity, forward, up, spin, boost, flags, steering; pads: those that are not there.

    Lengths in uu, times in s; `goal` is the team that scored in this step.
    """
    assert isinstance(game, RocketLeagueGame)
    arenas, shown = game.arenas, game.view(0)
    ball = arenas.ball[0, 0]
    timers = arenas.pad_timer[0]
    goals = out.signals[0, :, _TEAM_GOALS]
    scored = next((int(game.team[seat]) for seat in np.flatnonzero(goals > 0)), None)
    return {
        "kind": "rocket",
        "seconds": shown["seconds"],
        "left": round(max(0.0, game.match_s - shown["seconds"]), 2),
        "score": shown["score"],
        "goal": scored,
        "ball": _whole(ball[sim.BALL_POS]) + _whole(ball[sim.BALL_VEL]) + _fine(ball[sim.BALL_SPIN]),
        "cars": [_car(car, shown["cars"][seat], int(game.team[seat])) for seat, car in enumerate(arenas.cars[0, :, 0])],
        "pads": [
            [pad, round(float(timers[pad]), 1)] for pad in np.flatnonzero(arenas.pads[0, 0] < 0.5).tolist()
        ],
    }  # fmt: skip


def _car(car: Floats, shown: dict[str, Any], team: int) -> list[float]:
    controls = list(shown["controls"].values())
    flags = (
        ON_GROUND * shown["on_ground"]
        + SUPERSONIC * shown["supersonic"]
        + DEMOED * shown["demoed"]
        + HAS_FLIP * shown["has_flip"]
        + BOOSTING * (controls[BOOST] > 0.5 and shown["boost"] > 0)
    )
    place = _whole(car[sim.POS]) + _whole(car[sim.VEL])
    axes = _fine(car[sim.FORWARD]) + _fine(car[sim.UP]) + _fine(car[sim.SPIN])
    return [team, *place, *axes, round(shown["boost"]), flags, controls[STEER]]


def _whole(values: Floats) -> list[float]:
    return [round(float(v)) for v in values]


def _fine(values: Floats) -> list[float]:
    return [round(float(v), 3) for v in values]
