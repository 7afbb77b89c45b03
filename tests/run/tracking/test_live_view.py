import io
import re

import pytest
from rich.console import Console

from pvp_ml.run.tracking.live_view import (
    CURVES,
    Curve,
    History,
    LineView,
    LiveView,
    count,
    duration,
    make_view,
    panel,
    sparkline,
)
from pvp_ml.run.tracking.tracker import Point


def points(n: int, per_second: int = 1000):
    for i in range(1, n + 1):
        yield Point(
            i * 1000, i, i * 1000 / per_second, {"eval/win_rate": i / (2 * n), "match/reward": -1.5, "odd": 1.0}
        )


def test_speed_and_time_left():
    history = History(10_000)
    for point in points(4, per_second=500):
        history.add(point)
    assert history.steps_per_s == 500
    assert history.seconds_left == 12.0
    assert history.share_done == 0.4
    assert (History(0).seconds_left, History(0).share_done) == (None, None)


def test_a_run_limited_by_time():
    history = History(0, max_seconds=20)
    for point in points(4, per_second=500):
        history.add(point)
    assert (history.seconds_left, history.share_done) == (12.0, 0.4)
    both = History(5_000, max_seconds=20)
    for point in points(4, per_second=500):
        both.add(point)
    assert (both.seconds_left, both.share_done) == (2.0, 0.8)


def test_speed_follows_a_change():
    history = History(10**6)
    for point in points(30, per_second=1000):
        history.add(point)
    for i in range(30):
        history.add(Point(30_000 + 100 * (i + 1), 30 + i, 30.0 + i + 1, {}))
    assert history.steps_per_s == 100


def test_the_panel_shows_what_matters():
    history = History(8000)
    for point in points(4):
        history.add(point)
    console = Console(file=io.StringIO(), width=100)
    console.print(panel("connect4", history))
    text = console.file.getvalue()
    assert "4000 of 8000 steps · 1000 steps/s · 4 s so far · 4 s left" in text
    assert re.search(r"win rate \(evaluation\) +50\.0 % +▁▃▆█ ", text)
    assert "reward per match" in text
    assert "odd" not in text


def test_sparkline():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 0, 7, 7], 2) == "▁█"
    assert sparkline([3, 3, 3], 10) == "▁▁▁"
    assert sparkline([], 10) == ""
    assert len(sparkline(list(range(1000)), 48)) == 48


def test_a_curve_stays_small_and_keeps_its_shape():
    curve = Curve()
    for i in range(100_000):
        curve.add(float(i))
    assert CURVES <= len(curve.means) < 2 * CURVES
    steps = [b - a for a, b in zip(curve.means, curve.means[1:], strict=False)]
    assert min(steps) == max(steps) > 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (42.4, "42 s"), (185, "3 min 5 s"), (7620, "2 h 7 min"), (360000, "4 d 4 h"), (3600, "1 h")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(950, "950"), (12500, "12.5k"), (3.2e6, "3.20M"), (1.05e9, "1.05G")])
def test_count(number, text):
    assert count(number) == text


def test_lines_every_few_seconds():
    lines: list[str] = []
    view = LineView(History(100_000), lines.append, every_s=5)
    for point in points(12):
        view.write(point)
    view.close()
    view.close()
    assert [line.split(" of ")[0] for line in lines] == ["1000", "6000", "11.0k", "12.0k"]
    assert lines[-1].endswith("win rate (evaluation) 50.0 % · reward per match -1.5")


def test_the_view_fits_the_place():
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, _environ={"TERM": "xterm"})
    log = Console(file=io.StringIO(), force_terminal=False)
    assert isinstance(make_view("auto", "x", History(10), terminal, lambda: 0.0), LiveView)
    assert isinstance(make_view("auto", "x", History(10), log, lambda: 0.0), LineView)
    assert make_view("off", "x", History(10), terminal, lambda: 0.0) is None


def test_the_live_view_draws_at_most_four_times_a_second():
    console, now = Console(file=io.StringIO(), force_terminal=True, width=80, _environ={"TERM": "xterm"}), [0.0]
    view = LiveView("connect4", History(10_000), console, lambda: now[0])
    for point in points(10):
        view.write(point)
        now[0] += 0.1
    drawn = console.file.getvalue().count("steps/s")
    view.close()
    assert drawn == 3
    assert "starting" in console.file.getvalue()
    assert "10.0k of 10.0k steps" in console.file.getvalue()
