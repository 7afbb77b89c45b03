"""What people see: one match as JSON, RocketSimVis datagrams, and replays as JSON lines."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import CONTROLS
from pvp_ml.games.rocket_league.arena.field import PADS, TICKS_PER_S
from pvp_ml.games.rocket_league.derived_state import Floats
from pvp_ml.games.rocket_league.simulator import Arenas

VIS_PORT = 9273
REPLAY_FORMAT = 1
MAX_LINE_BYTES = 65_536
MAX_FRAMES = 200_000

View = dict[str, Any]


def _list(values: Floats) -> list[float]:
    return [round(float(v), 4) for v in values]


def view(arenas: Arenas, match: int, team: np.ndarray, controls: Floats) -> View:
    """Ball, cars and pads of one match in world coordinates; `controls` [S,8] of the last step."""
    ball, flags = arenas.ball[match, 0], arenas.flags[match]
    cars = [
        {
            "seat": seat,
            "team": int(team[seat]),
            "position": _list(car[sim.POS]),
            "velocity": _list(car[sim.VEL]),
            "spin": _list(car[sim.SPIN]),
            "forward": _list(car[sim.FORWARD]),
            "up": _list(car[sim.UP]),
            "boost": round(float(car[sim.BOOST_AMOUNT]), 2),
            "on_ground": bool(car[sim.ON_GROUND] > 0.5),
            "demoed": bool(car[sim.DEMOED] > 0.5),
            "has_flip": bool(flags[seat, sim.HAS_FLIP] > 0.5),
            "supersonic": bool(flags[seat, sim.IS_SUPERSONIC] > 0.5),
            "controls": dict(zip(CONTROLS, _list(controls[seat]), strict=True)),
        }
        for seat, car in enumerate(arenas.cars[match, :, 0])
    ]
    return {
        "ball": {
            "position": _list(ball[sim.BALL_POS]),
            "velocity": _list(ball[sim.BALL_VEL]),
            "spin": _list(ball[sim.BALL_SPIN]),
        },
        "cars": cars,
        "pads": [bool(there) for there in arenas.pads[match, 0] > 0.5],
        "pad_timers": _list(arenas.pad_timer[match]),
    }


def datagram(shown: View) -> bytes:
    """A view in RocketSimVis's JSON; boost is 0–100, as its viewer reads it."""
    message = {
        "ball_phys": _physics(shown["ball"]),
        "cars": [
            {
                "team_num": car["team"],
                "phys": _physics(car),
                "boost_amount": car["boost"],
                "on_ground": car["on_ground"],
                "is_demoed": car["demoed"],
                "has_flip": car["has_flip"],
                "controls": {name: car["controls"][name] for name in CONTROLS},
            }
            for car in shown["cars"]
        ],
        "boost_pad_states": shown["pads"],
        "boost_pad_locations": [[float(v) for v in pad] for pad in PADS],
    }
    return json.dumps(message, separators=(",", ":")).encode()


def _physics(thing: dict[str, Any]) -> dict[str, list[float]]:
    physics = {"pos": thing["position"], "vel": thing["velocity"], "ang_vel": thing["spin"]}
    if "forward" in thing:
        physics |= {"forward": thing["forward"], "up": thing["up"]}
    return physics


class VisSender:
    """Sends views to RocketSimVis. A viewer that is not there loses them; nothing waits."""

    def __init__(self, host: str = "127.0.0.1", port: int = VIS_PORT) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect((host, port))  # the system then tells when nobody listens
        self._refused = 2

    @property
    def is_watched(self) -> bool:
        """Whether the last datagrams were not refused; without a viewer every other one is."""
        return self._refused == 0

    def send(self, shown: View) -> bool:
        """Whether the datagram left this process."""
        try:
            self._socket.send(datagram(shown))
        except OSError:
            self._refused = 2
            return False
        self._refused = max(0, self._refused - 1)
        return True

    def close(self) -> None:
        """Free the socket."""
        self._socket.close()


@cache
def _viewer() -> VisSender:
    return VisSender()


def show(shown: View) -> None:
    """Send one view to RocketSimVis on this machine: `render()` of the Gymnasium and PettingZoo adapters."""
    _viewer().send(shown)


class ReplayWriter:
    """JSON lines: a header, then one line per step."""

    def __init__(self, file: IO[str], game_digest: str, tick_skip: int) -> None:
        self._file = file
        header = {"replay": REPLAY_FORMAT, "game": "rocket_league", "game_digest": game_digest, "tick_skip": tick_skip}
        self._write({**header, "ticks_per_s": TICKS_PER_S})

    def add(self, shown: View) -> None:
        """Append one view."""
        self._write(shown)

    def _write(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")


def read_replay(path: Path) -> Iterator[dict[str, Any]]:
    """The header, then the views. Lines are limited in length and number."""
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file, path.name)):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"replay {path.name}, line {number + 1}: not JSON") from error
            if not isinstance(value, dict):
                raise UserError(f"replay {path.name}, line {number + 1}: expected an object")
            if number == 0 and (value.get("replay") != REPLAY_FORMAT or value.get("game") != "rocket_league"):
                raise UserError(f"{path.name} is not a rocket_league replay of format {REPLAY_FORMAT}")
            yield value


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    for _ in range(MAX_FRAMES + 1):
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            raise UserError(f"replay {name} has a line longer than {MAX_LINE_BYTES} bytes")
        yield line
    raise UserError(f"replay {name} has more than {MAX_FRAMES} steps")
