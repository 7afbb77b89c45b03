"""RLBot's packets as the arrays that `derived_state.look` reads, so a policy sees what it saw in training.

Works on anything with the attributes of RLBot v5's GamePacket; nothing of RLBot is imported. What a packet does not say
is estimated: whether a body touches the floor follows from its height and speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.arena.field import BIG_PAD_S, PAD_IS_BIG, PADS, SMALL_PAD_S
from pvp_ml.games.rocket_league.config import MAX_TEAM
from pvp_ml.games.rocket_league.derived_state import Floats

ON_GROUND, JUMPING = 0, 1  # AirState
LOW_Z, STILL_Z = 60.0, 60.0  # uu, uu/s: a body this low and slow lies on the floor
TURN = np.array([-1.0, -1.0, 1.0], np.float32)  # half a turn about z: the world as orange sees it


@dataclass(slots=True)
class World:
    """One match as `simulator.Arenas` shows it, M = 1; `seat` is the bot's own."""

    ball: Floats  # [1,2,25]
    cars: Floats  # [1,S,2,36]
    pads: Floats  # [1,2,34]
    pad_timer: Floats  # [1,34]
    flags: Floats  # [1,S,4]
    sizes: tuple[int, int]
    seat: int


def pad_order(places: list[tuple[float, float]]) -> npt.NDArray[np.int64]:
    """For each of our 34 pads the index of the game's pad at that place; `places` [n] are x, y of the game's pads."""
    found = np.array(places, np.float32).reshape(-1, 2)
    if len(found) == 0:
        return np.full(len(PADS), -1)
    gap = np.abs(PADS[:, None, :2] - found).sum(2)
    return np.where(gap.min(1) < 50.0, gap.argmin(1), -1)


def axes_of(pitch: float, yaw: float, roll: float) -> Floats:
    """Nose, right and roof [3,3] of a rotation."""
    (sp, sy, sr), (cp, cy, cr) = np.sin([pitch, yaw, roll]), np.cos([pitch, yaw, roll])
    return np.array(
        [
            [cp * cy, cp * sy, sp],
            [cy * sp * sr - cr * sy, sy * sp * sr + cr * cy, -cp * sr],
            [-cr * cy * sp - sr * sy, -cr * sy * sp + sr * cy, cp * cr],
        ],
        np.float32,
    )


def read_packet(packet: Any, index: int, order: npt.NDArray[np.int64]) -> World:
    """The world that player `index` of the packet plays in. At most three cars a side are seen, the own one always."""
    own = packet.players[index]
    teams: list[list[Any]] = [[], []]
    for player in (own, *(p for i, p in enumerate(packet.players) if i != index)):
        if len(teams[player.team]) < MAX_TEAM:
            teams[player.team].append(player)
    players = [*teams[0], *teams[1]]
    world = World(
        ball=np.zeros((1, 2, sim.BALL_WIDTH), np.float32),
        cars=np.zeros((1, len(players), 2, sim.CAR_WIDTH), np.float32),
        pads=np.zeros((1, 2, sim.PADS), np.float32),
        pad_timer=np.zeros((1, sim.PADS), np.float32),
        flags=np.zeros((1, len(players), sim.SHORT_FLAGS), np.float32),
        sizes=(len(teams[0]), len(teams[1])),
        seat=next(seat for seat, player in enumerate(players) if player is own),
    )
    _read_ball(packet.balls[0].physics, world.ball[0])
    for seat, player in enumerate(players):
        _read_car(player, world.cars[0, seat], world.flags[0, seat])
    _read_pads(packet.boost_pads, order, world)
    return world


def _vector(v: Any) -> Floats:
    return np.array([v.x, v.y, v.z], np.float32)


def _read_ball(physics: Any, rows: Floats) -> None:
    for columns, value in (
        (sim.BALL_POS, physics.location),
        (sim.BALL_VEL, physics.velocity),
        (sim.BALL_SPIN, physics.angular_velocity),
    ):
        rows[0, columns] = _vector(value)
        rows[1, columns] = rows[0, columns] * TURN


def _read_car(player: Any, rows: Floats, flags: Floats) -> None:
    physics = player.physics
    axes = axes_of(physics.rotation.pitch, physics.rotation.yaw, physics.rotation.roll)
    state = int(player.air_state)
    rows[:, 1] = player.team
    rows[:, sim.ON_GROUND] = state == ON_GROUND
    rows[:, sim.DEMOED] = player.demolished_timeout >= 0.0
    rows[:, sim.BOOST_AMOUNT] = player.boost
    for columns, value in (
        (sim.POS, _vector(physics.location)),
        (sim.VEL, _vector(physics.velocity)),
        (sim.SPIN, _vector(physics.angular_velocity)),
        (sim.FORWARD, axes[0]),
        (sim.RIGHT, axes[1]),
        (sim.UP, axes[2]),
    ):
        rows[0, columns], rows[1, columns] = value, value * TURN
    flags[sim.HAS_FLIP] = state == ON_GROUND or _may_flip(player)
    flags[sim.IS_JUMPING] = state == JUMPING
    flags[sim.IS_SUPERSONIC] = player.is_supersonic
    lies = physics.location.z < LOW_Z and abs(physics.velocity.z) < STILL_Z
    flags[sim.HAS_CONTACT] = state != ON_GROUND and lies


def _may_flip(player: Any) -> bool:
    if player.has_dodged or player.has_double_jumped:
        return False
    return bool(not player.has_jumped or player.dodge_timeout > 0.0)


def _read_pads(states: Any, order: npt.NDArray[np.int64], world: World) -> None:
    """Pads that the game does not have are never there. The game counts up, we count down."""
    for ours, theirs in enumerate(order.tolist()):
        if 0 <= theirs < len(states):
            state, back = states[theirs], BIG_PAD_S if PAD_IS_BIG[ours] else SMALL_PAD_S
            world.pads[0, 0, ours] = state.is_active
            world.pad_timer[0, ours] = 0.0 if state.is_active else max(back - state.timer, 1e-3)
        else:
            world.pad_timer[0, ours] = BIG_PAD_S
    world.pads[0, 1] = world.pads[0, 0, ::-1]
