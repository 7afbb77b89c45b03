"""Metrics of a run as curves: `metrics.jsonl` followed while it grows, thinned so that a page stays small.

The file may hold anything. It is read in pieces, never as a whole; lines that are too long or no points are left out.
"""

from __future__ import annotations

import json
import math
import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pvp_ml.documents.plain_file import open_plain

MAX_LINE_BYTES = 1 << 16
MAX_READ_BYTES = 32 << 20
"""At most so much at a time; a longer file is read on with the next request."""
MAX_METRICS = 300
MAX_POINTS = 512
MAX_NAME = 80
RATE_POINTS = 20
"""Points over which the speed is averaged, as in the live view."""


@dataclass(slots=True)
class Curve:
    """Means over steps; beyond MAX_POINTS, neighbours are joined."""

    steps: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    stride: int = 1
    _sum: tuple[float, float, int] = (0.0, 0.0, 0)

    def add(self, step: float, value: float) -> None:
        """Take one point in."""
        total_step, total, count = self._sum
        total_step, total, count = total_step + step, total + value, count + 1
        if count >= self.stride:
            self.steps.append(total_step / count)
            self.values.append(total / count)
            total_step, total, count = 0.0, 0.0, 0
        self._sum = total_step, total, count
        if len(self.steps) >= 2 * MAX_POINTS:
            self.steps, self.values = (
                [(a + b) / 2.0 for a, b in zip(line[::2], line[1::2], strict=True)]
                for line in (self.steps, self.values)
            )
            self.stride *= 2

    def facts(self) -> list[list[float]]:
        """[steps, values], short enough to send; the last point is always whole."""
        return [[float(f"{n:.6g}") for n in line] for line in (self.steps, self.values)]


class Curves:
    """The curves of one file; `refresh` reads what was appended, or starts over when the file was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._restart()

    def _restart(self) -> None:
        self.curves: dict[str, Curve] = {}
        self.last: dict[str, float] = {}
        self.points = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=RATE_POINTS)
        self._place = 0
        self._file = (0, 0)
        self._rest = b""

    def refresh(self) -> None:
        """Read what was appended. A missing or unreadable file gives nothing."""
        try:
            with open_plain(self._path) as file:
                facts = os.fstat(file.fileno())
                if (facts.st_dev, facts.st_ino) != self._file or facts.st_size < self._place:
                    self._restart()
                    self._file = (facts.st_dev, facts.st_ino)
                file.seek(self._place)
                data = file.read(MAX_READ_BYTES)
        except OSError:
            return
        self._place += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest = self._rest[: MAX_LINE_BYTES + 1]  # stays too long, so that its end is left out as well
        for line in lines:
            self._add(line)

    @property
    def steps_per_s(self) -> float:
        """Speed over the last points; 0 before there are two."""
        if len(self._recent) < 2:
            return 0.0
        (start, first), (end, last) = self._recent[0], self._recent[-1]
        return (last - first) / (end - start) if end > start else 0.0

    def curve(self, name: str) -> list[float]:
        """The values of one metric, for a small picture."""
        found = self.curves.get(name)
        return found.facts()[1] if found else []

    def facts(self) -> dict[str, Any]:
        """Name → [steps, values] of every metric."""
        return {name: curve.facts() for name, curve in self.curves.items()}

    def _add(self, line: bytes) -> None:
        if not line.strip() or len(line) > MAX_LINE_BYTES:
            return
        try:
            point = json.loads(line)
            steps, seconds = float(point["steps"]), float(point.get("seconds") or 0.0)
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return
        if not (math.isfinite(steps) and 0.0 <= steps < 1e18 and math.isfinite(seconds)):
            return
        self.points += 1
        self._recent.append((seconds, steps))
        self.last |= {"steps": steps, "seconds": seconds}
        for name, value in point.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in ("steps", "seconds"):
                self._take(name[:MAX_NAME], steps, value)

    def _take(self, name: str, steps: float, value: float) -> None:
        if not -1e18 < value < 1e18:  # NaN is refused, too
            return
        if name not in self.curves:
            if len(self.curves) >= MAX_METRICS:
                return
            self.curves[name] = Curve()
        self.curves[name].add(steps, float(value))
        self.last[name] = float(value)
