"""The state of a match as a program outside is given it, and as the arrays that our observations are built from.

A state is a view of the match (docs/games/rocket_league.md) with what an observation builder needs besides: whose turn
it is, the seconds that are left, and each car's jump and body contact. World coordinates; nothing is turned for orange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import CONTROLS, ActionSet, action_set
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.derived_state import Floats, look
from pvp_ml.games.rocket_league.observe import Context, builder
from pvp_ml.games.rocket_league.rlbot.packets import TURN, World
from pvp_ml.match import BoolArray

if TYPE_CHECKING:
    from pvp_ml.games.rocket_league.game import RocketLeagueGame

State = dict[str, Any]


def state_of(game: RocketLeagueGame, row: int) -> State:
    """The match that a row plays, as JSON values."""
    state = game.view(row)
    flags = game.arenas.flags[row]
    for car, own in zip(state["cars"], flags, strict=True):
        car["jumping"] = bool(own[sim.IS_JUMPING] > 0.5)
        car["contact"] = bool(own[sim.HAS_CONTACT] > 0.5)
    state["seconds_left"] = round(game.match_s - state["seconds"], 3)
    return state


class Spectator:
    """Builds our own observation and mask from a state: what the worked example sees, number for number."""

    def __init__(self, config: RocketLeagueConfig) -> None:
        self._builder, self._config = builder(config), config
        self._actions: ActionSet = action_set(config)
        self._width = sum(block.width for block in self._builder.blocks)

    def see(self, state: State, seat: int) -> tuple[Floats, BoolArray]:
        """Observation [D] and mask [A] of a seat."""
        cars = state["cars"]
        team = np.array([car["team"] for car in cars])
        now = look(world_of(state), team)  # type: ignore[arg-type]  # the arrays of an arena, without the arena
        goals = np.array(state["score"], np.float32)
        left = np.array([state["seconds_left"]], np.float32)
        context = Context(
            previous=np.array([[[car["controls"][name] for name in CONTROLS] for car in cars]], np.float32),
            time_left=left / np.float32(self._config.timeout_s),
            seconds_left=left,
            score_difference=(goals[team] - goals[1 - team])[None],
        )
        obs = np.empty((1, len(cars), self._width), np.float32)
        self._builder.write(now, context, obs)
        mask = np.empty((1, len(cars), self._actions.needs_jump.size), np.bool_)
        self._actions.write_mask(now.may_jump, now.may_boost, mask)
        return obs[0, seat], mask[0, seat]

    def controls(self, choices: np.ndarray[Any, np.dtype[np.int32]]) -> list[float]:
        """The eight controls of a seat's choices [H]."""
        row = self._actions.row_numbers(choices[None, None])[0, 0]
        return [float(value) for value in self._actions.rows[row]]


def world_of(state: State) -> World:
    """The arrays of one arena."""
    cars = state["cars"]
    blue = sum(car["team"] == 0 for car in cars)
    world = World(
        ball=np.zeros((1, 2, sim.BALL_WIDTH), np.float32),
        cars=np.zeros((1, len(cars), 2, sim.CAR_WIDTH), np.float32),
        pads=np.zeros((1, 2, sim.PADS), np.float32),
        pad_timer=np.array([state["pad_timers"]], np.float32),
        flags=np.zeros((1, len(cars), sim.SHORT_FLAGS), np.float32),
        sizes=(blue, len(cars) - blue),
        seat=0,
    )
    ball = state["ball"]
    for columns, name in ((sim.BALL_POS, "position"), (sim.BALL_VEL, "velocity"), (sim.BALL_SPIN, "spin")):
        _both(world.ball[0], columns, np.array(ball[name], np.float32))
    for seat, car in enumerate(cars):
        _car(car, world.cars[0, seat], world.flags[0, seat])
    world.pads[0, 0] = state["pads"]
    world.pads[0, 1] = world.pads[0, 0, ::-1]
    return world


def _both(rows: Floats, columns: slice, value: Floats) -> None:
    """In blue's frame and in orange's."""
    rows[0, columns], rows[1, columns] = value, value * TURN


def _car(car: State, rows: Floats, flags: Floats) -> None:
    nose, roof = np.array(car["forward"], np.float32), np.array(car["up"], np.float32)
    rows[:, sim.TEAM] = car["team"]
    rows[:, sim.ON_GROUND], rows[:, sim.DEMOED] = car["on_ground"], car["demoed"]
    rows[:, sim.BOOST_AMOUNT] = car["boost"]
    for columns, value in (
        (sim.POS, np.array(car["position"], np.float32)),
        (sim.VEL, np.array(car["velocity"], np.float32)),
        (sim.SPIN, np.array(car["spin"], np.float32)),
        (sim.FORWARD, nose),
        (sim.RIGHT, np.cross(roof, nose)),
        (sim.UP, roof),
    ):
        _both(rows, columns, value)
    names = ((sim.HAS_FLIP, "has_flip"), (sim.IS_SUPERSONIC, "supersonic"), (sim.IS_JUMPING, "jumping"))
    for column, name in (*names, (sim.HAS_CONTACT, "contact")):
        flags[column] = car[name]
