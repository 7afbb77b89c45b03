"""RocketSim behind arrays: M arenas with S cars each. The only module that imports the simulator.

A match begins with new cars: RocketSim keeps suspension and contact state inside a car, and a car that is only moved
carries it into the next match (measured: 3 of 12 matches 1v1 and 11 of 12 matches 2v2 differed). Cars are removed in
reverse order, so that the new ones get the old places in the simulator's collision lists; `car_order` does the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.rocket_league.arena.field import TICKS_PER_S
from pvp_ml.games.rocket_league.arena.memory import Addresses, State, is_known
from pvp_ml.games.rocket_league.arena.meshes import MeshSet, materialise
from pvp_ml.games.rocket_league.car_order import add_apart, find_address_word
from pvp_ml.games.rocket_league.kernels.pads import SOON, count_down

BALL_WIDTH, CAR_WIDTH, PADS = 25, 36, 34
# columns of a ball row
BALL_POS, BALL_VEL, BALL_SPIN = slice(0, 3), slice(7, 10), slice(10, 13)
# columns of a car row
ON_GROUND, DEMOED, TOUCHED, BOOST_AMOUNT = 8, 7, 9, 10
ID, TEAM = 0, 1
COUNTS = slice(2, 7)  # goals, saves, shots, demolitions, boost pick-ups
POS, VEL, SPIN, FORWARD, RIGHT, UP = (slice(i, i + 3) for i in (11, 18, 21, 24, 27, 30))
PHYSICS = slice(10, 36)  # boost and everything that moves; before it stand ids and counters
EVERY = slice(None)
USED_OF_BALL = [*range(3), *range(7, 13)]  # the rest, quaternions and angles, nobody reads
USED_OF_CAR = [*range(14), *range(18, 33)]
PROBE_STEPS = 40
# columns of `flags`; the rest is only read on request
HAS_FLIP, IS_JUMPING, IS_SUPERSONIC, HAS_CONTACT = range(4)
(
    HAS_JUMPED,
    HAS_FLIPPED,
    FLIP_TIME,
    HAS_DOUBLE_JUMPED,
    AIR_TIME_SINCE_JUMP,
    HANDBRAKE_VALUE,
    RESPAWN_TIMER,
    BOOSTING_S,
    HOLDS_JUMP,
) = range(4, 13)
SHORT_FLAGS, ALL_FLAGS = 4, 13
_pack_short, _pack_all = struct.Struct(f"={SHORT_FLAGS}f").pack, struct.Struct(f"={ALL_FLAGS}f").pack
_short_flags = attrgetter("is_jumping", "is_supersonic", "has_world_contact")
_all_flags = attrgetter(
    "is_jumping",
    "is_supersonic",
    "has_world_contact",
    "has_jumped",
    "has_flipped",
    "flip_time",
    "has_double_jumped",
    "air_time_since_jump",
    "handbrake_val",
    "demo_respawn_timer",
    "time_spent_boosting",
    "last_controls.jump",
)

_started_with: list[MeshSet] = []  # RocketSim reads meshes once per process


@dataclass(frozen=True, slots=True)
class Scene:
    """How a match begins, in world coordinates (uu, uu/s, rad, rad/s)."""

    ball: npt.NDArray[np.float64]  # [3,3] position, velocity, spin
    cars: npt.NDArray[np.float64]  # [S,4,3] position, (pitch, yaw, roll), velocity, spin
    boost: npt.NDArray[np.float64]  # [S] 0…100


def simulator(meshes: MeshSet) -> Any:
    """The RocketSim module, started with these meshes; a process cannot change them later."""
    try:
        import RocketSim
    except ImportError as error:
        raise UserError("game 'rocket_league' needs RocketSim", pip_install("rocket-league")) from error
    if not _started_with:
        RocketSim.init(str(materialise(meshes)))
        _started_with.append(meshes)
    elif _started_with[0].digest != meshes.digest:
        raise UserError(
            f"this process already plays on {_started_with[0].origin} meshes ({_started_with[0].digest[:12]}), "
            f"not on {meshes.origin} ({meshes.digest[:12]})",
            "RocketSim reads meshes once per process: use one mesh set per process",
        )
    return RocketSim


class Arenas:
    """M arenas; arrays hold what was last read. Index 1 of the pairs is the field turned by 180°, orange's frame."""

    def __init__(
        self, meshes: MeshSet, matches: int, sizes: tuple[int, int], *, all_flags: bool, is_probe: bool = False
    ) -> None:
        """A probe is built fast and played once; see `_memory_is_known`."""
        self._rs = rs = simulator(meshes)
        self.sizes, self.seats = sizes, sum(sizes)
        self._all_flags = all_flags
        try:
            # the finer grid of collision cells: the same play bit for bit, physics 9 % faster, 1.2 MB an arena, not 0.4
            config = rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.HEAVY, use_custom_broadphase=not is_probe)
            self._arenas = [rs.Arena(rs.GameMode.SOCCAR, config=config) for _ in range(matches)]
        except RuntimeError as error:
            raise UserError(
                f"RocketSim cannot build an arena from {meshes.origin} meshes ({meshes.source}): {error}",
                "run `pvp-ml game setup rocket_league` or set meshes: generated",
            ) from error
        self._pads = [arena.get_boost_pads() for arena in self._arenas]
        self._full_pad = rs.BoostPadState()
        self._address_word: int | None = None
        probe = self._add_cars(self._arenas[0])
        self._address_word = find_address_word(probe)
        for car in reversed(probe):
            self._arenas[0].remove_car(car)
        del probe
        self._cars: list[list[Any]] = [self._add_cars(arena) for arena in self._arenas]
        self._ids = np.array([[car.id for car in cars] for cars in self._cars])
        self.game = np.zeros((matches, 4), np.float32)  # mode, last toucher's id, blue score, orange score
        self.pads = np.zeros((matches, 2, PADS), np.float32)  # 1 = there
        self.pad_timer = np.zeros((matches, PADS), np.float32)  # seconds until it is back, blue's order
        self._taken = np.zeros((matches * PADS, 2), np.int64)
        self.ball = np.zeros((matches, 2, BALL_WIDTH), np.float32)
        self.cars = np.zeros((matches, self.seats, 2, CAR_WIDTH), np.float32)
        self.flags = np.zeros((matches, self.seats, ALL_FLAGS if all_flags else SHORT_FLAGS), np.float32)
        self._state = State(self.game, self.pads, self.ball, self.cars, self.flags)
        self.cars[..., ID], self.cars[..., TEAM] = self._ids[:, :, None], np.repeat([0, 1], sizes)[:, None]
        self._addresses = self._find_addresses() if is_probe or _memory_is_known(meshes) else None

    def _find_addresses(self) -> Addresses | None:
        """Where the state lies, if the layout is a known one."""
        if self._address_word is None or not is_known(self._arenas[0], self._cars[0][0], self._pads[0][0]):
            return None
        found = Addresses(self._arenas, self._pads, self.seats, self._address_word)
        for match, cars in enumerate(self._cars):
            found.follow(match, cars)
        return found

    def _add_cars(self, arena: Any) -> list[Any]:
        team = self._rs.Team
        teams = [team.BLUE] * self.sizes[0] + [team.ORANGE] * self.sizes[1]
        return add_apart([partial(arena.add_car, one) for one in teams], arena.remove_car, self._address_word)

    def controls(self, row: Sequence[float]) -> Any:
        """A CarControls of throttle, steer, pitch, yaw, roll, jump, boost, handbrake."""
        throttle, steer, pitch, yaw, roll, jump, boost, handbrake = row
        return self._rs.CarControls(
            throttle=float(throttle),
            steer=float(steer),
            pitch=float(pitch),
            yaw=float(yaw),
            roll=float(roll),
            jump=bool(jump),
            boost=bool(boost),
            handbrake=bool(handbrake),
        )

    def applied(self, match: int, seat: int) -> tuple[float, ...]:
        """The controls that a car has now, in the same order."""
        c = self._cars[match][seat].get_controls()
        return (c.throttle, c.steer, c.pitch, c.yaw, c.roll, float(c.jump), float(c.boost), float(c.handbrake))

    def place(self, match: int, scene: Scene) -> None:
        """Begin again from a scene: new cars, all pads there. Does not read."""
        rs, arena = self._rs, self._arenas[match]
        for car in reversed(self._cars[match]):
            arena.remove_car(car)
        self._cars[match] = cars = self._add_cars(arena)
        self._ids[match] = [car.id for car in cars]
        if self._addresses is not None:
            self._addresses.follow(match, cars)
            self.cars[match, :, :, ID] = self._ids[match][:, None]
        for car, (position, angles, velocity, spin), boost in zip(
            cars, scene.cars.tolist(), scene.boost.tolist(), strict=True
        ):
            state = rs.CarState()
            state.pos, state.vel, state.ang_vel = rs.Vec(*position), rs.Vec(*velocity), rs.Vec(*spin)
            state.rot_mat = rs.Angle(pitch=angles[0], yaw=angles[1], roll=angles[2]).as_rot_mat()
            state.boost = boost
            state.is_on_ground = position[2] < 20.0 and angles[0] == angles[2] == 0.0
            car.set_state(state)
            car.set_controls(rs.CarControls())
        ball = rs.BallState()
        position, velocity, spin = scene.ball.tolist()
        ball.pos, ball.vel, ball.ang_vel = rs.Vec(*position), rs.Vec(*velocity), rs.Vec(*spin)
        arena.ball.set_state(ball)
        for pad in self._pads[match]:
            pad.set_state(self._full_pad)
        self.pad_timer[match] = 0.0

    def step(self, matches: list[int], inputs: list[list[Any]], delay: int, ticks: int) -> None:
        """Let `ticks` ticks pass in these matches, the new controls [match][seat] from tick `delay` on; then read."""
        rest, rows = ticks - delay, np.array(matches)
        for match, controls in zip(matches, inputs, strict=True):
            arena, cars = self._arenas[match], self._cars[match]
            if delay:
                arena.step(delay)
            for car, control in zip(cars, controls, strict=True):
                car.set_controls(control)
            arena.step(rest)
        if self._addresses is not None:
            self._addresses.passed(rows, ticks)
        self.read(matches)
        self._track_pads(rows, ticks / TICKS_PER_S)
        self._respawn(rows, ticks / TICKS_PER_S)

    def read(self, matches: list[int]) -> None:
        """Copy the state of these matches into the arrays. A touch counts until it is read."""
        if self._addresses is not None:
            self._addresses.read(np.array(matches), self._state)
        else:
            self.ask(matches)

    def ask(self, matches: list[int]) -> None:
        """As `read`, by way of the binding."""
        seen = _Harvest()
        for match in matches:
            seen.take(self._arenas[match], self._cars[match], self._all_flags)
        self._store(matches, seen)

    def _store(self, matches: list[int], seen: _Harvest) -> None:
        flags = np.frombuffer(seen.flags, np.float32).reshape(len(matches), self.seats, -1)
        parts = ((seen.games, self.game), (seen.pads, self.pads), (seen.balls, self.ball), (seen.cars, self.cars))
        if len(matches) == len(self._arenas):  # straight into place: six times as fast as by way of a new array
            for pieces, target in parts:
                np.concatenate(pieces, out=target.reshape(-1, *pieces[0].shape[1:]))
            self.flags[...] = flags
            return
        rows = np.array(matches, int)
        for pieces, target in parts:
            target[rows] = np.concatenate(pieces).reshape(len(rows), *target.shape[1:])
        self.flags[rows] = flags

    def last_toucher(self) -> npt.NDArray[np.int64]:
        """Seat [M] that touched the ball last in its match, −1 for nobody."""
        mine = self._ids == self.game[:, 1:2]
        return np.where(mine.any(1), mine.argmax(1), -1)

    def _track_pads(self, rows: npt.NDArray[np.int64], seconds: float) -> None:
        """Timers count down here; only a pad that was just taken is asked for its exact time."""
        count = count_down(rows, self.pads, seconds, self.pad_timer, self._taken)
        for match, pad in self._taken[:count].tolist():
            self.pad_timer[match, pad] = max(self._pads[match][pad].get_state().cooldown, SOON)

    def _respawn(self, rows: npt.NDArray[np.int64], seconds: float) -> None:
        """Bring back demolished cars whose time ends within the next step, at a place that the match fixes.

        Left alone, the simulator would draw the place from a generator that no seed reaches.
        """
        again, wrecks = [], np.argwhere(self.cars[:, :, 0, DEMOED] > 0.5)
        for match, seat in wrecks[np.isin(wrecks[:, 0], rows)].tolist() if len(wrecks) else ():
            car = self._cars[match][seat]
            if car.get_state().demo_respawn_timer <= seconds:
                ball = self.ball[match, 0, BALL_POS]
                # never pass `boost`: binding 2.2.1 crashes the process; the default is a third of a tank
                car.respawn(seed=int(np.abs(ball).sum() * 1000) % 65_536 + seat)
                again.append(match)
        if again:
            touched = self.cars[:, :, :, TOUCHED].copy()
            self.read(sorted(set(again)))
            self.cars[:, :, :, TOUCHED] = touched

    def readings_agree(self, steps: int) -> bool:
        """Play match 0 by chance, ball and cars close together, and compare both ways of reading after every step."""
        if self._addresses is None:
            return False
        rng = np.random.default_rng(0)
        for _ in range(steps):
            cars = rng.normal(0.0, 1.0, (self.seats, 4, 3)) * ([[200.0] * 3, [0.5] * 3, [900.0] * 3, [1.0] * 3])
            cars[:, 0, 2] = rng.choice([17.0, 300.0], self.seats)
            ball = np.array([[0.0, 5050.0 * rng.integers(-1, 2), 150.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
            cars[:, 0, 1] += ball[0, 1] * 0.95
            self.place(0, Scene(ball, cars, rng.uniform(0.0, 100.0, self.seats)))
            self.ask([0])  # what was hit before does not count
            for _ in range(3):
                buttons = rng.integers(0, 2, (self.seats, 3)).tolist()
                inputs = [self.controls((*rng.uniform(-1.0, 1.0, 5).tolist(), *some)) for some in buttons]
                self.step([0], [inputs], 1, 8)
                if not self.reads_as_told([0]):
                    return False
        return True

    def reads_as_told(self, matches: list[int]) -> bool:
        """Whether the binding tells what was just read of these matches."""
        read = [part[matches].copy() for part in (self.game, self.pads, self.ball, self.cars, self.flags)]
        self.ask(matches)
        answered = [part[matches] for part in (self.game, self.pads, self.ball, self.cars, self.flags)]
        columns: tuple[Any, ...] = (EVERY, EVERY, USED_OF_BALL, USED_OF_CAR, EVERY)
        return all(
            np.array_equal(a[..., some], b[..., some]) for a, b, some in zip(read, answered, columns, strict=True)
        )

    def close(self) -> None:
        """Let go of the arenas."""
        self._cars.clear()
        self._pads.clear()
        self._arenas.clear()


_memory_known: dict[str, bool] = {}  # by digest of the meshes; found out once per process


def _memory_is_known(meshes: MeshSet) -> bool:
    """Whether memory and binding tell the same of a short wild match, so that memory can be relied on."""
    if meshes.digest not in _memory_known:
        probe = Arenas(meshes, 1, (1, 1), all_flags=True, is_probe=True)
        _memory_known[meshes.digest] = probe.readings_agree(PROBE_STEPS)
        probe.close()
    return _memory_known[meshes.digest]


class _Harvest:
    """What the simulator returned, arena by arena, before it becomes arrays."""

    __slots__ = ("balls", "cars", "flags", "games", "pads")

    def __init__(self) -> None:
        self.games: list[Any] = []
        self.pads: list[Any] = []
        self.balls: list[Any] = []
        self.cars: list[Any] = []
        self.flags = bytearray()

    def take(self, arena: Any, cars: list[Any], every: bool) -> None:
        """Read one arena; `every` asks for the flags that only the default observation needs."""
        game, pads, ball, *rows = arena.get_gym_state()
        self.games.append(game)
        self.pads.append(pads)
        self.balls.append(ball)
        self.cars += rows
        pack, chosen = (_pack_all, _all_flags) if every else (_pack_short, _short_flags)
        for car in cars:
            state = car.get_state()
            self.flags += pack(state.has_flip_or_jump(), *chosen(state))
