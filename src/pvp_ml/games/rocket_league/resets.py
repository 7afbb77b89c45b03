"""State setters: how a match begins. Each takes a generator and the team sizes and gives a Scene in world coordinates.

Blue sits first. A set-up for one attacker is built in blue's frame and turned for orange half of the time.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena.field import (
    BACK_WALL_Y,
    BALL_REST_Z,
    CAR_MAX_SPEED,
    CAR_MAX_SPIN,
    CAR_REST_Z,
    CORNER_CATHETUS,
    KICKOFF_BOOST,
    KICKOFF_SPAWNS,
    SIDE_WALL_X,
)
from pvp_ml.games.rocket_league.packs import Shot, aside, shot_scene
from pvp_ml.games.rocket_league.simulator import Scene

Sizes = tuple[int, int]
Setter = Callable[[np.random.Generator, Sizes], Scene]
Vectors = npt.NDArray[np.float64]

POSITION, ANGLES, VELOCITY, SPIN = range(4)
MIXTURE = "default"
PACK_SETTER = "training_pack"
JITTER_UU, JITTER_RAD = 10.0, np.pi / 180.0
RAMP_REACH = 600.0  # uu from a wall, within which floor and wall are no longer flat; as x ≤ 3500 keeps from side walls
OPEN_FLOOR = SIDE_WALL_X + BACK_WALL_Y - CORNER_CATHETUS - RAMP_REACH * np.sqrt(2.0)  # largest |x| + |y|


def resting_ball() -> Vectors:
    """At the centre spot."""
    return np.array([[0.0, 0.0, BALL_REST_Z], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def turn_cars(cars: Vectors) -> Vectors:
    """Cars [S,4,3] turned by 180° about z."""
    turned = cars.copy()
    turned[:, [POSITION, VELOCITY, SPIN], :2] *= -1.0
    turned[:, ANGLES, 1] = (turned[:, ANGLES, 1] + 2 * np.pi) % (2 * np.pi) - np.pi
    return turned


def turn_ball(ball: Vectors) -> Vectors:
    """A ball [3,3] turned by 180° about z."""
    return np.asarray(ball * np.array([-1.0, -1.0, 1.0]))


def kickoff_cars(rng: np.random.Generator, sizes: Sizes) -> Vectors:
    """Distinct spawn points; both teams draw the same ones, mirrored."""
    order = rng.permutation(len(KICKOFF_SPAWNS))
    cars = np.zeros((max(sizes), 4, 3))
    for car, spot in zip(cars, order, strict=False):
        x, y, yaw = KICKOFF_SPAWNS[spot]
        car[POSITION] = x, y, CAR_REST_Z
        car[ANGLES, 1] = yaw
    return np.concatenate([cars[: sizes[0]], turn_cars(cars[: sizes[1]])])


def kickoff(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """A kickoff: ball on the centre spot, a third of a tank."""
    return Scene(resting_ball(), kickoff_cars(rng, sizes), np.full(sum(sizes), KICKOFF_BOOST))


def jittered(rng: np.random.Generator, scene: Scene, amount: float) -> Scene:
    """The same with every car up to `amount` × 10 uu and 1° off its place, so that no two matches are alike.

    Five kickoff places give players that never draw five matches, however many seeds are played.
    """
    cars = scene.cars.copy()
    cars[:, POSITION, :2] += rng.uniform(-1.0, 1.0, (len(cars), 2)) * JITTER_UU * amount
    cars[:, ANGLES, 1] += rng.uniform(-1.0, 1.0, len(cars)) * JITTER_RAD * amount
    return Scene(scene.ball, cars, scene.boost)


def direction(rng: np.random.Generator) -> Vectors:
    """A unit vector, all directions alike."""
    v = rng.normal(size=3)
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-9))


def anywhere(rng: np.random.Generator, low: Vectors, high: Vectors) -> Vectors:
    """A point of the box, drawn again while it lies in a corner of the field."""
    while True:
        point = rng.uniform(low, high)
        if abs(point[0]) + abs(point[1]) <= OPEN_FLOOR:
            return np.asarray(point)


def scattered(rng: np.random.Generator, sizes: Sizes, grounded: float, y_low: float = -4500.0) -> Scene:
    """Ball and cars anywhere with any velocity; a car is on its wheels with probability `grounded`."""
    ball = np.zeros((3, 3))
    ball[0] = anywhere(rng, np.array([-3500.0, y_low, 100.0]), np.array([3500.0, 4500.0, 1950.0]))
    ball[1] = direction(rng) * rng.uniform(0.0, 3000.0)
    ball[2] = direction(rng) * rng.uniform(0.0, 6.0)
    cars = np.zeros((sum(sizes), 4, 3))
    for car in cars:
        car[POSITION] = anywhere(rng, np.array([-3500.0, y_low, 150.0]), np.array([3500.0, 4500.0, 2000.0]))
        car[ANGLES] = rng.uniform([-np.pi / 4, -np.pi, -np.pi / 2], [np.pi / 4, np.pi, np.pi / 2])
        car[VELOCITY] = direction(rng) * rng.uniform(0.0, CAR_MAX_SPEED)
        car[SPIN] = direction(rng) * rng.uniform(0.0, CAR_MAX_SPIN)
        if rng.random() < grounded:
            car[POSITION, 2] = CAR_REST_Z
            car[ANGLES, [0, 2]] = 0.0
            car[VELOCITY, 2] = 0.0
            car[SPIN] = 0.0
    return Scene(ball, cars, rng.uniform(0.0, 100.0, sum(sizes)))


def random(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """Anywhere; half of the cars in the air."""
    return scattered(rng, sizes, 0.5)


def random_ground(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """Anywhere; every car on its wheels."""
    return scattered(rng, sizes, 1.0)


def random_one_side(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """Everything in one half, blue's or orange's with equal chance."""
    scene = scattered(rng, sizes, 0.5, y_low=0.0)
    return _maybe_turned(rng, scene)


def turtled(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """Every car falls on its roof in its own half, 600 uu apart; ball on the centre spot."""
    teams = []
    for size in sizes:
        cars = np.zeros((size, 4, 3))
        for i, car in enumerate(cars):
            car[POSITION] = (i - (size - 1) / 2) * 600.0, -1500.0, 45.0
            car[ANGLES] = np.pi, rng.uniform(-np.pi, np.pi), 0.55
            car[VELOCITY] = 0.0, 0.0, -1500.0
            car[SPIN] = 0.15, 0.05, 0.10
        teams.append(cars)
    cars = np.concatenate([teams[0], turn_cars(teams[1])])
    return Scene(resting_ball(), cars, np.full(sum(sizes), KICKOFF_BOOST))


def _attack(rng: np.random.Generator, sizes: Sizes, ball: Vectors, attacker: Vectors, boost: float) -> Scene:
    """One car of blue (or, turned, of orange) in the set-up; the others at kickoff places."""
    cars = kickoff_cars(rng, sizes)
    tanks = np.full(len(cars), KICKOFF_BOOST)
    by_orange = sizes[1] > 0 and rng.random() < 0.5
    seat = sizes[0] if by_orange else 0
    cars[seat] = turn_cars(attacker[None])[0] if by_orange else attacker
    tanks[seat] = boost
    return Scene(turn_ball(ball) if by_orange else ball, cars, tanks)


def _maybe_turned(rng: np.random.Generator, scene: Scene) -> Scene:
    if rng.random() < 0.5:
        return scene
    return Scene(turn_ball(scene.ball), turn_cars(scene.cars), scene.boost)


def wall(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """A ball rolls up a side wall, a car drives after it."""
    side = rng.choice([-1.0, 1.0])
    y = rng.uniform(-2500.0, 2000.0)
    ball, car = np.zeros((3, 3)), np.zeros((4, 3))
    ball[0] = side * rng.uniform(2600.0, 3200.0), y, BALL_REST_Z + 10.0
    ball[1] = side * rng.uniform(1100.0, 1600.0), rng.uniform(0.0, 500.0), 0.0
    car[POSITION] = ball[0] - [side * rng.uniform(700.0, 1100.0), rng.uniform(100.0, 400.0), 0.0]
    car[POSITION, 2] = CAR_REST_Z
    yaw = np.arctan2(ball[0, 1] - car[POSITION, 1], side * SIDE_WALL_X - car[POSITION, 0])
    car[ANGLES, 1] = yaw
    car[VELOCITY] = np.array([np.cos(yaw), np.sin(yaw), 0.0]) * rng.uniform(1000.0, 1500.0)
    return _attack(rng, sizes, ball, car, rng.uniform(50.0, 100.0))


def air_dribble(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """Car and ball rise together toward the goal, the car just below and behind."""
    ball, car = np.zeros((3, 3)), np.zeros((4, 3))
    ball[0] = rng.uniform([-1500.0, -2000.0, 600.0], [1500.0, 1500.0, 900.0])
    yaw = np.arctan2(5120.0 - ball[0, 1], -ball[0, 0])
    flat = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    pitch = rng.uniform(0.4, 0.8)
    car[POSITION] = ball[0] - flat * rng.uniform(150.0, 220.0) - [0.0, 0.0, rng.uniform(60.0, 120.0)]
    car[ANGLES] = pitch, yaw, 0.0
    ball[1] = flat * rng.uniform(600.0, 1000.0) + [0.0, 0.0, rng.uniform(250.0, 450.0)]
    car[VELOCITY] = ball[1] + flat * rng.uniform(50.0, 200.0)
    return _attack(rng, sizes, ball, car, 100.0)


def flip_reset(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """A high ball, the car under it with its wheels turned to the ball."""
    ball, car = np.zeros((3, 3)), np.zeros((4, 3))
    ball[0] = rng.uniform([-1500.0, -500.0, 1000.0], [1500.0, 2500.0, 1400.0])
    yaw = np.arctan2(5120.0 - ball[0, 1], -ball[0, 0])
    flat = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    ball[1] = flat * rng.uniform(500.0, 900.0) + [0.0, 0.0, rng.uniform(0.0, 150.0)]
    car[POSITION] = ball[0] - flat * rng.uniform(100.0, 200.0) - [0.0, 0.0, rng.uniform(180.0, 260.0)]
    car[ANGLES] = rng.uniform(-0.2, 0.2), yaw, np.pi + rng.uniform(-0.3, 0.3)
    car[VELOCITY] = ball[1] + flat * rng.uniform(0.0, 150.0) + [0.0, 0.0, rng.uniform(150.0, 300.0)]
    return _attack(rng, sizes, ball, car, 100.0)


def jump(rng: np.random.Generator, sizes: Sizes) -> Scene:
    """A ball comes down in front of a driving car, at the height of a jump."""
    ball, car = np.zeros((3, 3)), np.zeros((4, 3))
    ball[0] = rng.uniform([-2000.0, 500.0, 350.0], [2000.0, 3000.0, 550.0])
    ball[1] = rng.uniform([-150.0, -150.0, -50.0], [150.0, 150.0, 200.0])
    yaw = np.arctan2(5120.0 - ball[0, 1], -ball[0, 0]) + rng.uniform(-0.15, 0.15)
    flat = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    car[POSITION] = ball[0] - flat * rng.uniform(700.0, 1100.0)
    car[POSITION, 2] = CAR_REST_Z
    car[ANGLES, 1] = yaw
    car[VELOCITY] = flat * rng.uniform(800.0, 1400.0)
    return _attack(rng, sizes, ball, car, rng.uniform(20.0, 60.0))


SETTERS: dict[str, Setter] = {
    "kickoff": kickoff,
    "random": random,
    "random_ground": random_ground,
    "random_one_side": random_one_side,
    "turtled": turtled,
    "wall": wall,
    "air_dribble": air_dribble,
    "flip_reset": flip_reset,
    "jump": jump,
}


MECHANICS = ("wall", "air_dribble", "flip_reset", "jump")
"""The set-ups of the mechanics lane."""


@dataclass(frozen=True, slots=True)
class Setters:
    """The setters of a configuration: `default` draws from the mixture, every other name stands for itself."""

    names: tuple[str, ...]  # of the mixture
    weights: tuple[float, ...]  # sum 1
    shots: tuple[Shot, ...]
    mechanics_weight: float = 0.0  # share of `default` that goes to the mechanics lane, its set-ups alike
    jitter: float = 0.0  # of kickoffs
    by_seed: bool = False  # shots in turn, as seeds count
    aside: bool = False  # cars that a shot does not name stay out of its way

    def draw(self, scenario: str, rng: np.random.Generator) -> str:
        """The setter of a match of this scenario."""
        if scenario != MIXTURE:
            return scenario
        if self.mechanics_weight and rng.random() < self.mechanics_weight:
            return MECHANICS[int(rng.integers(len(MECHANICS)))]
        return self.names[int(rng.choice(len(self.names), p=self.weights))]

    def scene(self, name: str, rng: np.random.Generator, sizes: Sizes, seed: int = 0) -> Scene:
        """The beginning of a match with this seed, by the name of its setter."""
        if name == PACK_SETTER:
            cars = kickoff_cars(rng, sizes)
            shot = self.shots[seed % len(self.shots) if self.by_seed else int(rng.integers(len(self.shots)))]
            if self.aside:
                cars[:, 0, :2] = aside(shot, sum(sizes))
            return shot_scene(shot, rng, sizes, Scene(resting_ball(), cars, np.full(sum(sizes), KICKOFF_BOOST)))
        scene = SETTERS[name](rng, sizes)
        return jittered(rng, scene, self.jitter) if name == "kickoff" and self.jitter else scene

    def scenarios(self) -> tuple[str, ...]:
        """All names that a plan may ask for."""
        return (MIXTURE, *SETTERS, *((PACK_SETTER,) if self.shots else ()))


def choose(
    weights: dict[str, float], shots: tuple[Shot, ...], mechanics_weight: float = 0.0, jitter: float = 0.0
) -> Setters:
    """A weighted mixture; unknown names, bad weights and a pack setter without packs are refused."""
    known = [*SETTERS, PACK_SETTER]
    for name, weight in weights.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"known setters: {', '.join(known)}"
            raise UserError(f"rocket_league has no state setter '{name}'", hint)
        if not (0.0 <= weight < float("inf")):
            raise UserError(f"state setter '{name}' has weight {weight}", "weights are finite and not negative")
    used = {name: weight for name, weight in weights.items() if weight > 0.0}
    if not used:
        raise UserError("the setters of rocket_league have no positive weight", "give at least one, e.g. kickoff: 1")
    if PACK_SETTER in used and not shots:
        raise UserError(f"state setter '{PACK_SETTER}' has no shots", "name JSON files under `packs`")
    total = sum(used.values())
    return Setters(tuple(used), tuple(weight / total for weight in used.values()), shots, mechanics_weight, jitter)
