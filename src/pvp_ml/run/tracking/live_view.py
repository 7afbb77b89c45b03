"""What a person sees while a run trains: a live view on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pvp_ml.run.tracking.tracker import Point, Sink

View = Literal["auto", "live", "lines", "off"]

BLOCKS = "▁▂▃▄▅▆▇█"
RATE_POINTS = 20
"""Points over which the speed is averaged: long enough to be calm, short enough to notice a change."""

CURVES = 48
"""Width of a sparkline in characters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of the view; `is_share`: 0…1, shown in percent."""

    metric: str
    label: str
    is_share: bool = False


ROWS = (
    Row("eval/win_rate", "win rate (evaluation)", True),
    Row("match/win_rate", "win rate (training)", True),
    Row("match/length", "steps per match"),
    Row("ppo/entropy", "entropy"),
    Row("match/reward", "reward per match"),
    Row("ppo/approx_kl", "change per update (KL)"),
    Row("ppo/explained_variance", "value explained", True),
)


class Curve:
    """A metric over the whole run in at most 2 × CURVES means, each over the same number of points."""

    def __init__(self) -> None:
        self.means: list[float] = []
        self._stride, self._sum, self._count = 1, 0.0, 0

    def add(self, value: float) -> None:
        """Take one value in; when the room is full, neighbours are joined."""
        self._sum += value
        self._count += 1
        if self._count == self._stride:
            self.means.append(self._sum / self._count)
            self._sum, self._count = 0.0, 0
        if len(self.means) == 2 * CURVES:
            self.means = [(a + b) / 2 for a, b in zip(self.means[::2], self.means[1::2], strict=True)]
            self._stride *= 2


class History:
    """What the view needs to know of the points so far; stays small however long the run."""

    def __init__(self, total_steps: int, max_seconds: float = 0.0) -> None:
        self.total_steps = total_steps
        self.max_seconds = max_seconds
        self.last: Point | None = None
        self.values: dict[str, float] = {}
        self.curves = {row.metric: Curve() for row in ROWS}
        self._recent: deque[tuple[float, int]] = deque(maxlen=RATE_POINTS)

    def add(self, point: Point) -> None:
        """Take one point in."""
        self.last = point
        self._recent.append((point.seconds, point.steps))
        for name, value in point.values.items():
            if math.isfinite(value):
                self.values[name] = value
                if name in self.curves:
                    self.curves[name].add(value)

    @property
    def steps_per_s(self) -> float:
        """Speed over the last points; 0 before there are two."""
        if len(self._recent) < 2:
            return 0.0
        (start, first), (end, last) = self._recent[0], self._recent[-1]
        return (last - first) / (end - start) if end > start else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Until the first limit, steps at this speed or time; None when nobody knows."""
        if self.last is None:
            return None
        left = [max(0.0, self.max_seconds - self.last.seconds)] if self.max_seconds else []
        if self.total_steps and self.steps_per_s > 0:
            left.append(max(0, self.total_steps - self.last.steps) / self.steps_per_s)
        return min(left, default=None)

    @property
    def share_done(self) -> float | None:
        """0…1 of the limit that is nearer; None without a limit."""
        steps, seconds = (self.last.steps, self.last.seconds) if self.last else (0, 0.0)
        shares = [steps / self.total_steps] if self.total_steps else []
        shares += [seconds / self.max_seconds] if self.max_seconds else []
        return min(1.0, max(shares)) if shares else None


class LiveView:
    """A panel that is drawn again at most four times a second."""

    def __init__(self, title: str, history: History, console: Console, now: Callable[[], float]) -> None:
        self.history = history
        self._title, self._now = title, now
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._live.start()
        self._draw()

    def write(self, point: Point) -> None:
        """Take the point in, and draw when the last drawing is old enough."""
        self.history.add(point)
        if self._now() - self._drawn >= 0.25:
            self._draw()

    def close(self) -> None:
        """Draw once more and leave the panel on the screen."""
        if self.history.last is not None:
            self._draw()
        self._live.stop()

    def _draw(self) -> None:
        self._drawn = self._now()
        self._live.update(panel(self._title, self.history), refresh=True)


class LineView:
    """For logs and CI: one line every few seconds."""

    def __init__(self, history: History, print_line: Callable[[str], None], every_s: float = 5.0) -> None:
        self.history = history
        self._print, self._every_s, self._printed = print_line, every_s, -math.inf

    def write(self, point: Point) -> None:
        """Print the point when the last line is old enough, by the run's own clock."""
        self.history.add(point)
        if point.seconds - self._printed >= self._every_s:
            self._line()

    def close(self) -> None:
        """Print the last point."""
        if self.history.last is not None and self.history.last.seconds != self._printed:
            self._line()

    def _line(self) -> None:
        assert self.history.last is not None
        self._printed = self.history.last.seconds
        parts = [f"{row.label} {_shown(row, self.history.values[row.metric])}" for row in _known(self.history)[:3]]
        self._print(" · ".join([_progress_text(self.history), *parts]))


def make_view(view: View, title: str, history: History, console: Console, now: Callable[[], float]) -> Sink | None:
    """The view that fits: `auto` is live on a terminal and lines elsewhere."""
    if view == "off":
        return None
    if view == "live" or (view == "auto" and console.is_terminal and not console.is_dumb_terminal):
        return LiveView(title, history, console, now)
    return LineView(history, lambda line: console.print(line, highlight=False, soft_wrap=True))


def panel(title: str, history: History) -> RenderableType:
    """The view as one picture: progress, speed, time left, and a row with a curve per metric."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(ratio=1, no_wrap=True, style="cyan")
    for row in _known(history):
        curve = sparkline(history.curves[row.metric].means, CURVES)
        table.add_row(row.label, _shown(row, history.values[row.metric]), curve)
    done = history.share_done
    bar: list[RenderableType] = [ProgressBar(1.0, done)] if done is not None else []
    body = Group(Text(_progress_text(history)), *bar, Text(""), table)
    return Panel(body, title=title, title_align="left", border_style="blue", padding=(1, 2))


def sparkline(values: Sequence[float], width: int) -> str:
    """A curve of block characters, lowest value ▁, highest █; averages when there are more values than room."""
    if not values:
        return ""
    buckets = min(width, len(values))
    edges = [round(i * len(values) / buckets) for i in range(buckets + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((mean - low) * scale)] for mean in means)


def duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 7 min`, `4 d 3 h`."""
    whole = round(seconds)
    for unit, size, next_unit, next_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // next_size
            return f"{whole // size} {unit} {rest} {next_unit}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def count(number: float) -> str:
    """`950`, `12.5k`, `3.20M`, `1.05G`."""
    for limit, digits, suffix in ((1e9, 2, "G"), (1e6, 2, "M"), (1e4, 1, "k")):
        if number >= limit:
            return f"{number / (1e3 if suffix == 'k' else limit):.{digits}f}{suffix}"
    return f"{number:.0f}"


def _progress_text(history: History) -> str:
    point = history.last
    if point is None:
        return "starting; the first time, fast code is compiled"
    goal = f" of {count(history.total_steps)}" if history.total_steps else ""
    left = history.seconds_left
    parts = [
        f"{count(point.steps)}{goal} steps",
        f"{count(history.steps_per_s)} steps/s",
        f"{duration(point.seconds)} so far",
    ]
    return " · ".join([*parts, *([f"{duration(left)} left"] if left is not None else [])])


def _known(history: History) -> list[Row]:
    return [row for row in ROWS if row.metric in history.values]


def _shown(row: Row, value: float) -> str:
    return f"{100 * value:.1f} %" if row.is_share else f"{value:.3g}"
