"""Runs opened as the commands open them."""

import io
from pathlib import Path

from rich.console import Console

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.session import final_evaluation, open_run
from pvp_ml.run.tracking.tracker import read_metrics
from pvp_ml.run.trainer import train

SMALL = [
    "--game", "connect4", "--num-envs", "8", "--n-steps", "8", "--batch-size", "64", "--trunk", "[16]", "--shards", "1",
    "--eval.matches", "8", "--total-steps", "256",
]  # fmt: skip


class Broken:
    def write(self, point):
        raise ConnectionError("unreachable")

    def close(self):
        raise ConnectionError("unreachable")


def trained(name: str, folder: Path, *flags: str, sink: object = None) -> str:
    config = load_config("", [*SMALL, "--name", name, "--view", "lines", *flags], folder)
    with open_run(config, Console(file=io.StringIO())) as run:
        if sink is not None:
            run.tracker.add("broken", sink)
        train(run)
        return run.bundle().content_hash


def test_sinks_do_not_change_what_is_learned(tmp_path, monkeypatch):
    """The same weights with TensorBoard and a sink that raises at every call, as with neither (R19)."""
    monkeypatch.chdir(tmp_path)
    plain = trained("plain", tmp_path, "--no-tensorboard", "--view", "off")
    tracked = trained("tracked", tmp_path, "--tensorboard", sink=Broken())
    assert tracked == plain
    assert trained("other", tmp_path, "--no-tensorboard", "--seed", "1") != plain
    assert list((tmp_path / "tensorboard/tracked").iterdir())
    assert len(read_metrics(tmp_path / "experiments/tracked/metrics.jsonl")) == 4


def test_a_tensorboard_folder_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tensorboard").write_text("in the way")
    trained("a", tmp_path, "--tensorboard", "--total-steps", "64")
    assert "no TensorBoard: " in caplog.text
    assert len(read_metrics(tmp_path / "experiments/a/metrics.jsonl")) == 1


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = trained("whole", tmp_path, "--no-tensorboard")
    trained("parts", tmp_path, "--no-tensorboard", "--total-steps", "128")
    assert trained("parts", tmp_path, "--no-tensorboard") == whole
    points = [read_metrics(tmp_path / f"experiments/{name}/metrics.jsonl") for name in ("whole", "parts")]
    for a, b in zip(*points, strict=True):
        same = {k for k in a if k.startswith(("ppo/", "entropy/", "reward/", "match/", "signal/"))}
        same |= {"steps", "rollouts"}
        assert {k: a[k] for k in same} == {k: b[k] for k in same}
    assert points[1][-1]["match/length"] > 7


def test_an_evaluation_at_the_last_step_is_written_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config("", [*SMALL, "--name", "a", "--view", "off", "--eval.every", "128"], tmp_path)
    with open_run(config, Console(file=io.StringIO())) as run:
        train(run)
        assert [report.total.matches for report in final_evaluation(run)] == [8]
    points = read_metrics(tmp_path / "experiments/a/metrics.jsonl")
    assert [p["steps"] for p in points if "eval/win_rate" in p] == [128, 256]


def test_a_resumed_run_knows_the_last_evaluation(tmp_path, monkeypatch):
    """Early stopping reads it before anything new is measured: a run that was to stop there does not go on."""
    monkeypatch.chdir(tmp_path)
    trained("a", tmp_path, "--no-tensorboard", "--total-steps", "128", "--eval.every", "128")
    trained("a", tmp_path, "--no-tensorboard", "--early-stopping", "eval_win_rate >= 0")
    assert read_metrics(tmp_path / "experiments/a/metrics.jsonl")[-1]["steps"] == 128
