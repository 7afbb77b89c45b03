"""The run desk against folders that anybody may have written: limits, no exception, and numbers that are right."""

import json
import os

import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.desk import curves as module
from pvp_ml.run.desk.curves import Curves
from pvp_ml.run.desk.desk import Desk
from pvp_ml.selfplay.tally import wilson

HOSTILE = [b"", b"\x00" * 100, b"{", b"[]", b"null", b'{"steps": "x"}', b'{"steps": 1e999}', b'{"steps": NaN}',
           b"[" * 5000, b'{"steps": 5, "a": {"b": 1}, "c": "<img src=x>"}',
           "\ud800".encode("utf-8", "surrogatepass")]  # fmt: skip


def run_folder(tmp_path, name="first", **files):
    folder = tmp_path / name
    (folder / "checkpoints" / "ckpt-000001-5").mkdir(parents=True)
    for path, data in files.items():
        (folder / path.replace("__", ".")).write_bytes(data)
    return folder


def points(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_curves_follow_a_file_that_grows_and_start_anew_when_it_is_replaced(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(points({"steps": 10, "seconds": 1, "a": 1.0}, {"steps": 20, "seconds": 2, "a": 3.0}))
    found = Curves(path)
    found.refresh()
    assert found.facts() == {"a": [[10, 20], [1, 3]]} and found.steps_per_s == 10
    with path.open("ab") as file:
        file.write(b'{"steps": 30, "seconds": 3, "a"')
    found.refresh()
    assert found.facts()["a"][0] == [10, 20], "half a line waits for its end"
    with path.open("ab") as file:
        file.write(b": 5.0}\n")
    found.refresh()
    assert found.facts() == {"a": [[10, 20, 30], [1, 3, 5]]}
    beside = tmp_path / "new"
    beside.write_bytes(points({"steps": 10, "seconds": 1, "a": 2.0}))
    os.replace(beside, path)
    found.refresh()
    assert found.facts() == {"a": [[10], [2]]}


def test_long_curves_are_thinned_to_means(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_POINTS", 8)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(points(*({"steps": n, "a": float(n)} for n in range(1000))))
    found = Curves(path)
    found.refresh()
    steps, values = found.facts()["a"]
    assert len(steps) < 16 and steps == values and values[0] == pytest.approx(sum(range(64)) / 64)


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_lies_in_a_folder_is_no_exception(tmp_path, line):
    good = points({"steps": 7, "seconds": 1, "eval/win_rate": 0.5})
    folder = run_folder(tmp_path, metrics__jsonl=line + b"\n" + good, config__yml=line, lock=line, job__json=line)
    (folder / "checkpoints" / "ckpt-000001-5" / "progress.json").write_bytes(line)
    desk = Desk(tmp_path, tmp_path)
    (summary,) = desk.summaries()
    assert summary["steps"] == 7 and summary["win_rate"] == 0.5 and summary["state"] == "stopped"
    report = desk.report("first")
    assert report["league"] == {} and report["milestones"] == []
    json.dumps([summary, report, desk.curves("first")], allow_nan=False)


def test_long_lines_links_and_pipes_are_left_alone(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(points({"steps": 1, "secret": 1}))
    folder = run_folder(tmp_path / "runs", config__yml=b"x" * 10_000_000)
    (folder / "metrics.jsonl").symlink_to(secret)
    os.mkfifo(folder / "lock")
    pipe = run_folder(tmp_path / "runs", "second")
    os.mkfifo(pipe / "metrics.jsonl")
    long = run_folder(tmp_path / "runs", "third", metrics__jsonl=b'{"steps": 1, "a": "' + b"x" * 10_000_000 + b'"}\n')
    desk = Desk(tmp_path / "runs", tmp_path)
    assert [run["steps"] for run in desk.summaries()] == [0, 0, 0]
    assert long.is_dir() and all(desk.curves(name)["curves"] == {} for name in ("first", "second", "third"))


@pytest.mark.parametrize("name", ["../secret", "all", "", "a/b", "x" * 200, "..", "none"])
def test_a_name_cannot_leave_the_folder(tmp_path, name):
    run_folder(tmp_path)
    with pytest.raises(UserError):
        Desk(tmp_path, tmp_path).report(name)


def test_scores_come_with_their_interval(tmp_path):
    metrics = points({"steps": 7, "eval/bot/score": 0.9})
    run_folder(tmp_path, config__yml=b"eval:\n  matches: 200\n", metrics__jsonl=metrics)
    low, high = wilson(180, 200)
    band = Desk(tmp_path, tmp_path).curves("first")["bands"]["eval/bot/score"]
    assert band == [[7], [round(low, 4)], [round(high, 4)]]


def test_nothing_is_stopped_that_does_not_run_and_nothing_resumed_without_settings(tmp_path):
    run_folder(tmp_path)
    desk = Desk(tmp_path, tmp_path)
    assert desk.stop("first") == "first is not running"
    with pytest.raises(UserError, match=r"no config\.yml"):
        desk.resume("first")
