"""Metrics: one point per rollout, written to every sink. A sink that fails is left out; training never notices."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pvp_ml.documents.plain_file import open_plain, read_end
from pvp_ml.errors import UserError

log = logging.getLogger(__name__)

MAX_FAILURES = 3
"""Failures in a row after which a sink is given up."""

MAX_LINE_BYTES = 1 << 18
MAX_FILE_BYTES = 4 << 30
MAX_COUNT = 1e18
"""Steps and seconds beyond it are no counts."""


@dataclass(frozen=True, slots=True)
class Point:
    """What is known after one rollout. `seconds` counts training time, resumed runs included."""

    steps: int
    rollouts: int
    seconds: float
    values: Mapping[str, float]


CLASSIC = {
    "episode_reward": ("match/reward", 1.0),
    "episode_length": ("match/length", 1.0),
    "policy_loss": ("ppo/policy_loss", 1.0),
    "value_loss": ("ppo/value_loss", 1.0),
    "entropy": ("ppo/entropy", 1.0),
    "eval/win_percentage": ("eval/win_rate", 100.0),
}
"""Names that people know from elsewhere → (metric, factor); both are written."""


def with_classic(values: Mapping[str, float]) -> dict[str, float]:
    """The same values, also under the names that people know."""
    known = {old: values[name] * factor for old, (name, factor) in CLASSIC.items() if name in values}
    return {**values, **known}


class Sink(Protocol):
    """Somewhere that metrics go."""

    def write(self, point: Point) -> None:
        """Take one point."""

    def close(self) -> None:
        """Flush and let go."""


class Tracker:
    """Hands each point to every sink and keeps the last value of each metric."""

    def __init__(self, sinks: Mapping[str, Sink] | None = None) -> None:
        self._sinks: dict[str, Sink] = {}
        self._failures: dict[str, int] = {}
        self.last: dict[str, float] = {}
        for name, sink in (sinks or {}).items():
            self.add(name, sink)

    def add(self, name: str, sink: Sink) -> None:
        """Hand points to this sink, too, from now on."""
        self._sinks[name] = sink
        self._failures[name] = 0

    def write(self, point: Point) -> None:
        """Record one point; never raises."""
        point = replace(point, values=with_classic(point.values))
        self.last.update(point.values)
        for name, sink in list(self._sinks.items()):
            try:
                sink.write(point)
                self._failures[name] = 0
            except Exception as error:
                self._failed(name, error)

    def close(self) -> None:
        """Close every sink; never raises."""
        for name, sink in self._sinks.items():
            try:
                sink.close()
            except Exception as error:
                log.warning("metrics sink '%s' could not be closed: %s", name, error)
        self._sinks = {}

    def _failed(self, name: str, error: Exception) -> None:
        self._failures[name] += 1
        if self._failures[name] == 1:
            log.warning("metrics sink '%s' failed, training continues: %s: %s", name, type(error).__name__, error)
        if self._failures[name] >= MAX_FAILURES:
            log.warning("metrics sink '%s' is disabled after %d failures in a row", name, MAX_FAILURES)
            del self._sinks[name]


class JsonLines:
    """`metrics.jsonl`: one object per line, in order of steps, without a point that a resumed run will write again."""

    def __init__(self, path: Path, resumed_steps: int) -> None:
        kept = [line for line, point in _points(path) if point["steps"] <= resumed_steps]
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".tmp")
        beside.write_bytes(b"".join(kept))
        os.replace(beside, path)
        self._file = path.open("ab")

    def write(self, point: Point) -> None:
        """Append one line and hand it to the system."""
        values = {name: _number(value) for name, value in point.values.items()}
        head = {"steps": point.steps, "rollouts": point.rollouts, "seconds": round(point.seconds, 3)}
        self._file.write(json.dumps({**head, **values}, allow_nan=False).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The points of a run, oldest first; a line that was cut off by a crash, or is no point, is left out."""
    return [point for _, point in _points(path)]


def last_point(path: Path) -> dict[str, Any]:
    """The newest point of a run, read from the end of the file; empty when there is none."""
    try:
        lines = read_end(path, MAX_LINE_BYTES).splitlines(keepends=True)
    except OSError:
        return {}
    return next((point for line in reversed(lines) if (point := _point(line)) is not None), {})


def _points(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Each whole line of a plain file, and the point in it."""
    try:
        file = open_plain(path)
    except OSError:
        return
    with file:
        if (size := os.fstat(file.fileno()).st_size) > MAX_FILE_BYTES:
            raise UserError(f"'{path}' has {size} bytes, the limit is {MAX_FILE_BYTES}", "delete its older half")
        while line := file.readline(MAX_LINE_BYTES):
            if (point := _point(line)) is not None:
                yield line, point


def _point(line: bytes) -> dict[str, Any] | None:
    """The file may have been written by anybody: `steps` and `seconds` are numbers that fit, or it is no point."""
    try:
        point = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(point, dict):
        return None
    is_point = all(_is_count(value) for value in (point.get("steps"), point.get("seconds", 0)))
    return point if is_point else None


def _is_count(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < MAX_COUNT  # type: ignore[operator]


def _number(value: float) -> float | int | None:
    """JSON has no NaN and no infinity: a value that is no number becomes null."""
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else float(f"{number:.7g}")
