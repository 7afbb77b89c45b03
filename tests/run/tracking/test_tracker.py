import json
import logging
import math

import pytest

from pvp_ml.run.tracking.tracker import JsonLines, Point, Tracker, read_metrics


def point(steps: int, **values: float) -> Point:
    return Point(steps, steps // 10, steps / 100, values)


def test_one_object_per_line(tmp_path):
    sink = JsonLines(tmp_path / "a" / "metrics.jsonl", 0)
    sink.write(point(10, reward=0.123456789, matches=4.0))
    sink.write(point(20, reward=math.nan, other=math.inf))
    sink.close()
    lines = (tmp_path / "a" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"steps": 10, "rollouts": 1, "seconds": 0.1, "reward": 0.1234568, "matches": 4}
    assert json.loads(lines[1]) == {"steps": 20, "rollouts": 2, "seconds": 0.2, "reward": None, "other": None}


def test_a_resumed_run_writes_no_point_twice(tmp_path):
    path = tmp_path / "metrics.jsonl"
    first = JsonLines(path, 0)
    for steps in (10, 20, 30, 40):
        first.write(point(steps, x=1.0))
    first.close()
    with path.open("ab") as file:
        file.write(b'{"steps": 50, "x"')  # the machine died here
    second = JsonLines(path, 20)
    for steps in (30, 40):
        second.write(point(steps, x=2.0))
    second.close()
    assert [(p["steps"], p["x"]) for p in read_metrics(path)] == [(10, 1), (20, 1), (30, 2), (40, 2)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_torn_last_line_is_dropped_even_when_it_is_valid_json(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"steps": 10}\n{"steps": 20}')
    JsonLines(path, 100).close()
    assert path.read_bytes() == b'{"steps": 10}\n'


class Broken:
    def __init__(self, after: int = 0):
        self.calls, self.after = 0, after

    def write(self, point):
        self.calls += 1
        if self.calls > self.after:
            raise ConnectionError("nobody there")

    def close(self):
        raise OSError("still nobody there")


def test_a_broken_sink_never_stops_training(tmp_path, caplog):
    broken, good = Broken(), JsonLines(tmp_path / "m.jsonl", 0)
    tracker = Tracker({"broken": broken, "good": good})
    with caplog.at_level(logging.WARNING):
        for steps in range(10, 100, 10):
            tracker.write(point(steps, x=float(steps)))
        tracker.close()
    assert broken.calls == 3
    assert len(read_metrics(tmp_path / "m.jsonl")) == 9
    assert tracker.last == {"x": 90.0}
    assert [r.getMessage() for r in caplog.records] == [
        "metrics sink 'broken' failed, training continues: ConnectionError: nobody there",
        "metrics sink 'broken' is disabled after 3 failures in a row",
    ]


def test_a_sink_that_fails_to_close_is_reported(caplog):
    tracker = Tracker({"late": Broken(after=99)})
    tracker.write(point(1, x=1.0))
    tracker.close()
    assert "could not be closed" in caplog.text


def test_tensorboard_points_and_resume(tmp_path):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from pvp_ml.run.tracking.tensorboard import TensorBoard

    first = TensorBoard(tmp_path)
    for steps in (10, 20, 30):
        first.write(point(steps, loss=float(steps)))
    first.close()
    second = TensorBoard(tmp_path, resumed_steps=20)
    second.write(point(30, loss=-1.0))
    second.close()
    events = event_accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(10, 10.0), (20, 20.0), (30, -1.0)]
