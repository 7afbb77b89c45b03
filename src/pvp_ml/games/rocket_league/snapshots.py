"""Snapshots of running matches: plans and the inputs since each match began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.plans import Queue, Ticket, arrays_to_tickets, tickets_to_arrays
from pvp_ml.match import IDLE, IntArray
from pvp_ml.spec import GameSpec

_QUEUE = ("serial", "seed", "scenario", "bots")


class History:
    """Inputs of the running matches [M,T,S,H]; T grows as needed."""

    def __init__(self, matches: int, seats: int, heads: int) -> None:
        self.inputs = np.full((matches, 256, seats, heads), IDLE, np.int16)

    def add(self, clock: IntArray, given: IntArray, playing: npt.NDArray[np.bool_]) -> None:
        """Note the inputs [M,S,H] of step `clock` [M] in the rows that play."""
        if int(clock.max()) >= self.inputs.shape[1]:
            self.inputs = np.concatenate([self.inputs, np.full_like(self.inputs, IDLE)], axis=1)
        rows = np.flatnonzero(playing)
        self.inputs[rows, clock[rows]] = given[rows]

    def clear(self) -> None:
        """Forget everything."""
        self.inputs[...] = IDLE


@dataclass(frozen=True, slots=True)
class Saved:
    """A snapshot that was read and checked."""

    tickets: list[Ticket | None]
    clock: IntArray
    inputs: npt.NDArray[np.int16]  # [M,T,S,H]
    queue: dict[str, npt.NDArray[Any]]
    ball: npt.NDArray[np.float32]
    cars: npt.NDArray[np.float32]

    def actions(self, clock: IntArray, playing: npt.NDArray[np.bool_]) -> IntArray:
        """Inputs [M,S,H] of the step that each playing row is at."""
        now = np.full((len(clock), *self.inputs.shape[2:]), IDLE, np.int32)
        rows = np.flatnonzero(playing)
        now[rows] = self.inputs[rows, clock[rows]]
        return now


def pack(
    spec: GameSpec,
    tickets: list[Ticket | None],
    clock: IntArray,
    history: History,
    queue: Queue,
    ball: npt.NDArray[np.float32],
    cars: npt.NDArray[np.float32],
) -> bytes:
    """Everything as safetensors with the game's digest; `ball` and `cars` only tell whether a replay arrived."""
    rows = np.array([row for row, ticket in enumerate(tickets) if ticket is not None], np.int64)
    running = tickets_to_arrays([ticket for ticket in tickets if ticket is not None], spec.seats)
    longest = int(clock.max(initial=0))
    arrays = {
        "game_digest": np.frombuffer(bytes.fromhex(spec.game_digest), np.uint8),
        "rows": rows,
        "clock": clock,
        "inputs": history.inputs[:, :longest].copy(),
        "ball": ball,
        "cars": cars,
        **{f"running.{name}": value for name, value in running.items()},
        **{f"queue.{name}": value for name, value in queue.arrays().items()},
    }
    return bytes(safetensors.numpy.save({name: np.ascontiguousarray(value) for name, value in arrays.items()}))


def unpack(data: bytes, spec: GameSpec, matches: int) -> Saved:
    """Read what `pack` wrote; another game, another M and damaged bytes are refused."""
    try:
        arrays = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise UserError(f"not a snapshot of game '{spec.name}': {str(error)[:100]}") from error
    _check(arrays, spec, matches)
    tickets: list[Ticket | None] = [None] * matches
    running = arrays_to_tickets({name: arrays[f"running.{name}"] for name in _QUEUE})
    for row, ticket in zip(arrays["rows"].tolist(), running, strict=True):
        tickets[row] = ticket
    queue = {name: arrays[f"queue.{name}"] for name in _QUEUE}
    return Saved(tickets, arrays["clock"], arrays["inputs"], queue, arrays["ball"], arrays["cars"])


def _check(arrays: dict[str, npt.NDArray[Any]], spec: GameSpec, matches: int) -> None:
    digest = arrays.get("game_digest", np.zeros(0, np.uint8)).tobytes().hex()
    if digest != spec.game_digest:
        raise UserError(
            f"snapshot of another game or configuration ({digest[:12] or 'none'}, this is {spec.game_digest[:12]})",
            "meshes, mode, tables and ends must be the same",
        )
    clock = arrays.get("clock", np.zeros(0, np.int32))
    if len(clock) != matches:
        raise UserError(f"snapshot of {len(clock)} matches, this game has {matches}")
    inputs, rows, running = arrays["inputs"], arrays["rows"], arrays["running.serial"]
    shape = (matches, int(clock.max(initial=0)), spec.seats, len(spec.heads))
    whole = inputs.shape == shape and len(rows) == len(running) and rows.dtype.kind == clock.dtype.kind == "i"
    if not whole or (clock < 0).any() or not set(rows.tolist()) <= set(range(matches)):
        raise UserError(f"snapshot of game '{spec.name}' is damaged: its arrays do not fit together")
    limits = np.array(spec.head_sizes)
    if ((inputs < IDLE) | (inputs >= limits)).any():
        raise UserError(f"snapshot of game '{spec.name}' is damaged: an input is outside its head")
