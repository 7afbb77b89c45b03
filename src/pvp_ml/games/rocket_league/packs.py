"""Training packs: beginnings of matches in a JSON file.

    {"format": 1, "name": "ground shots", "kind": "striker", "noise": 1.0, "shots": [
        {"seconds": 10, "ball": {"position": [0, 2000, 93], "velocity": [0, 500, 0], "spin": [0, 0, 0]},
         "cars": [{"team": "blue", "position": [0, 0, 17], "angles": [0, 1.57, 0], "velocity": [0, 900, 0],
                   "spin": [0, 0, 0], "boost": 50}]}]}

Angles are pitch, yaw, roll. `noise` scales ±500/±500/±100 uu on the ball's position and ±500/±500/±200 uu/s on its
velocity. Cars that a shot does not name stand at kickoff places, or out of its way (`pack_others`). `kind` (striker or
goalie) and `seconds` say when a shot counts as a success: blue scores within that time, or does not concede.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.arena.field import (
    BALL_MAX_SPEED,
    CAR_MAX_SPEED,
    CAR_MAX_SPIN,
    KICKOFF_BOOST,
    SIDE_WALL_X,
)
from pvp_ml.games.rocket_league.arena.meshes import cache_folder
from pvp_ml.games.rocket_league.simulator import Scene

MAX_BYTES = 1_000_000
MAX_SHOTS = 1_000
MAX_CARS = 6
INSTALLED = "setup"  # in place of a file: what `pvp-ml game setup rocket_league --packs` fetched
KINDS = ("striker", "goalie")
POSITION_LIMIT = (SIDE_WALL_X, 6000.0, 2044.0)
POSITION_NOISE = np.array([500.0, 500.0, 100.0])
VELOCITY_NOISE = np.array([500.0, 500.0, 200.0])
BALL_BOX = (np.array([-3900.0, -4900.0, 93.15]), np.array([3900.0, 4900.0, 1900.0]))  # noise stays inside

SPARE_PLACE, SPARE_GAP = (3000.0, 4200.0), 300.0  # uu; the gap leaves a car's length between two

Triple = tuple[float, float, float]
ZERO: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PackCar:
    """One car of a shot."""

    team: int
    position: Triple
    angles: Triple
    velocity: Triple
    spin: Triple
    boost: float


@dataclass(frozen=True, slots=True)
class Shot:
    """One beginning."""

    ball: tuple[Triple, Triple, Triple]
    cars: tuple[PackCar, ...]
    noise: float
    pack: str = ""
    kind: str = "striker"
    seconds: float = 10.0


def read_packs(paths: tuple[str, ...]) -> tuple[tuple[Shot, ...], str]:
    """The shots of all files, folders of files and `setup`'s own, and a digest of their contents ("" without any)."""
    shots: list[Shot] = []
    sha = hashlib.sha256()
    for path in _files(paths):
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise UserError(f"training pack {path} cannot be read: {error.strerror}") from error
        shots += parse_pack(data, Path(path).name)
        sha.update(hashlib.sha256(data).digest())
    return tuple(shots), sha.hexdigest() if paths else ""


def packs_folder() -> Path:
    """What `pvp-ml game setup rocket_league --packs` fills."""
    return cache_folder() / "packs"


def _files(paths: tuple[str, ...]) -> list[str]:
    """Every file that is meant, those of a folder in the order of their names."""
    files: list[str] = []
    for path in paths:
        folder = packs_folder() if path == INSTALLED else Path(path)
        if folder.is_dir():
            files += [str(file) for file in sorted(folder.glob("*.json"))]
        elif path == INSTALLED:
            raise UserError("the training packs are not there", "run `pvp-ml game setup rocket_league --packs`")
        else:
            files.append(path)
    return files


def parse_pack(data: bytes, name: str) -> list[Shot]:
    """Read one file; whatever is too large, unknown or out of range is refused with its place."""
    if len(data) > MAX_BYTES:
        raise UserError(f"training pack {name} is larger than {MAX_BYTES} bytes")
    try:
        pack = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UserError(f"training pack {name} is not JSON: {error}") from error
    _keys(pack, {"format", "shots"}, {"name", "noise", "kind"}, name)
    if pack["format"] != 1:
        raise UserError(f"training pack {name} has format {pack['format']!r}", "this version reads format 1")
    noise = _number(pack.get("noise", 0.0), 0.0, 1.0, f"{name}: noise")
    kind = pack.get("kind", KINDS[0])
    if kind not in KINDS:
        raise UserError(f"training pack {name}: kind is {str(kind)[:40]!r}", f"it is {' or '.join(KINDS)}")
    shots = pack["shots"]
    if not isinstance(shots, list) or not 1 <= len(shots) <= MAX_SHOTS:
        raise UserError(f"training pack {name}: shots must be a list of 1…{MAX_SHOTS}")
    title = str(pack.get("name", name))[:80]
    read = [_shot(shot, noise, f"{name}: shots[{i}]") for i, shot in enumerate(shots)]
    return [replace(shot, pack=title, kind=kind) for shot in read]


def _shot(value: Any, noise: float, where: str) -> Shot:
    _keys(value, {"ball"}, {"cars", "seconds"}, where)
    ball, cars = value["ball"], value.get("cars", [])
    _keys(ball, {"position"}, {"velocity", "spin"}, f"{where}.ball")
    if not isinstance(cars, list) or len(cars) > MAX_CARS:
        raise UserError(f"{where}.cars must be a list of at most {MAX_CARS}")
    speeds = (BALL_MAX_SPEED,) * 3
    return Shot(
        (
            _triple(ball["position"], POSITION_LIMIT, f"{where}.ball.position"),
            _triple(ball.get("velocity", ZERO), speeds, f"{where}.ball.velocity"),
            _triple(ball.get("spin", ZERO), (6.0,) * 3, f"{where}.ball.spin"),
        ),
        tuple(_car(car, f"{where}.cars[{i}]") for i, car in enumerate(cars)),
        noise,
        seconds=_number(value.get("seconds", 10.0), 0.1, 300.0, f"{where}.seconds"),
    )


def _car(value: Any, where: str) -> PackCar:
    _keys(value, {"team", "position"}, {"angles", "velocity", "spin", "boost"}, where)
    if value["team"] not in ("blue", "orange"):
        raise UserError(f"{where}.team is {value['team']!r}", "it is blue or orange")
    return PackCar(
        ("blue", "orange").index(value["team"]),
        _triple(value["position"], POSITION_LIMIT, f"{where}.position"),
        _triple(value.get("angles", ZERO), (7.0,) * 3, f"{where}.angles"),
        _triple(value.get("velocity", ZERO), (CAR_MAX_SPEED,) * 3, f"{where}.velocity"),
        _triple(value.get("spin", ZERO), (CAR_MAX_SPIN,) * 3, f"{where}.spin"),
        _number(value.get("boost", KICKOFF_BOOST), 0.0, 100.0, f"{where}.boost"),
    )


def _keys(value: Any, needed: set[str], allowed: set[str], where: str) -> None:
    if not isinstance(value, dict):
        raise UserError(f"{where} must be an object, got {type(value).__name__}")
    if missing := sorted(needed - set(value)):
        raise UserError(f"{where} lacks {missing}")
    if unknown := sorted(set(value) - needed - allowed):
        raise UserError(f"{where} has unknown keys {unknown[:5]}", f"known: {sorted(needed | allowed)}")


def _number(value: Any, low: float, high: float, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"{where} is {str(value)[:40]}", f"a number from {low:g} to {high:g}")
    return float(value)


def _triple(value: Any, limits: tuple[float, ...], where: str) -> Triple:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise UserError(f"{where} must be three numbers")
    x, y, z = (_number(v, -limit, limit, where) for v, limit in zip(value, limits, strict=True))
    return x, y, z


def aside(shot: Shot, cars: int) -> npt.NDArray[np.float64]:
    """[S,2] x and y beside the goal that the shot does not aim at, across the field from the ball."""
    x, y = SPARE_PLACE
    x, y = (-x if shot.ball[0][0] > 0.0 else x), (-y if shot.kind == "striker" else y)
    return np.array([[x, y - np.sign(y) * SPARE_GAP * seat] for seat in range(cars)])


def shot_scene(shot: Shot, rng: np.random.Generator, sizes: tuple[int, int], spare: Scene) -> Scene:
    """The shot with its noise; seats that it does not name keep their place in `spare`."""
    ball = np.array(shot.ball)
    if shot.noise:
        ball[0] += rng.uniform(-1.0, 1.0, 3) * POSITION_NOISE * shot.noise
        ball[0] = np.clip(ball[0], *BALL_BOX)
        ball[1] += rng.uniform(-1.0, 1.0, 3) * VELOCITY_NOISE * shot.noise
    cars, boost = spare.cars.copy(), spare.boost.copy()
    taken = [0, 0]
    for car in shot.cars:
        if taken[car.team] < sizes[car.team]:
            seat = taken[car.team] + (sizes[0] if car.team else 0)
            cars[seat] = car.position, car.angles, car.velocity, car.spin
            boost[seat] = car.boost
            taken[car.team] += 1
    return Scene(ball, cars, boost)
