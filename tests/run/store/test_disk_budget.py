"""Room on the disk: estimated before, kept while it runs."""

import logging
import os

import pytest

from pvp_ml.errors import UserError
from pvp_ml.model.network_config import tensor_shapes
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.disk_budget import check_room, estimate, is_within, used_bytes
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

FLAGS = [
    "--game", "connect4", "--num-envs", "8", "--n-steps", "8", "--batch-size", "32", "--trunk", "[8]", "--shards", "1",
    "--total-timesteps", "640", "--name", "a",
]  # fmt: skip


def test_the_estimate_follows_the_settings(tmp_path):
    def need(*flags: str):
        config = load_config("", [*FLAGS, *flags], tmp_path)
        return estimate(config, config.env.spec)

    config = load_config("", FLAGS, tmp_path)
    weights = 4 * sum(
        a * (b[0] if b else 1) for a, *b in tensor_shapes(config.network, config.env.spec.interface).values()
    )
    checkpoint = 4 * weights + 8 * 4096
    plain = need()
    assert plain.checkpoints == 4 * checkpoint
    assert (plain.milestones, plain.members, plain.metrics) == (0, 0, 10 * 3000)
    assert need("--milestone-every", "64").milestones == 10 * checkpoint
    assert need("--self-play.strategy", "past", "--snapshot-every", "320").members == 2 * weights
    assert need("--keep-checkpoints", "9").checkpoints == 10 * checkpoint


def test_a_run_that_passes_its_limit_is_refused(tmp_path):
    config = load_config("", [*FLAGS, "--max-disk-gb", "0.0001", "--milestone-every", "64"], tmp_path)
    with pytest.raises(UserError, match=r"will need about .* milestones .* run.max_disk_gb allows 0 MB"):
        check_room(config, config.env.spec, tmp_path / "experiments/a")


def test_a_full_disk_is_reported(tmp_path, monkeypatch, caplog):
    config = load_config("", FLAGS, tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    check_room(config, config.env.spec, tmp_path / "experiments/a")
    assert "of disk, but only 0 MB are free" in caplog.text


def test_linked_files_count_once(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1000))
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/d").write_bytes(bytes(10))
    assert used_bytes(tmp_path) == 1010
    assert is_within(tmp_path, 0.0, 10**12)
    assert is_within(tmp_path, 2e-6, 990)
    assert not is_within(tmp_path, 2e-6, 991)


def test_milestones_stop_at_the_limit_and_say_so(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    flags = [*FLAGS, "--milestone-every", "128", "--eval.every", "0", "--max-disk-gb", "1e-5"]
    run = Run(load_config("", flags, tmp_path), RunStore(tmp_path, "a"), Tracker())
    try:
        train(run)
    finally:
        run.close()
    assert RunStore(tmp_path, "a").milestone_names() == []
    assert "milestone '128' was not saved" in caplog.text
    assert run.progress.steps == 640
