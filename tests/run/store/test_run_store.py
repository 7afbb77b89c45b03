"""Checkpoints: what comes back is what went in, or the previous one, named in the log."""

import errno
import json
import logging
import os
import random
from pathlib import Path

import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.store.disk import Disk
from pvp_ml.run.store.run_store import DamagedCheckpointError, RunStore, SaveError, check_run_name, load


def content(step):
    rng = random.Random(step)
    return {"policy.safetensors": rng.randbytes(3000), "league.json": json.dumps({"step": step}).encode(), "empty": b""}


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "with space ü", "run-1")


def test_nothing_saved_is_nothing_found(store):
    assert store.latest() is None


def test_round_trip_keeps_every_byte(store):
    path = store.save(1200, content(1200), "spec-1")
    found = store.latest()
    assert (found.step, found.spec_digest, found.path) == (1200, "spec-1", path)
    assert found.files == content(1200)
    assert path.name == "ckpt-000001-1200"
    assert (store.checkpoints / "HEAD").read_text() == path.name


def test_only_the_newest_stay_and_the_newest_wins(store):
    for step in (10, 20, 30, 40, 50):
        store.save(step, content(step))
    assert store.latest().step == 50
    assert sorted(p.name for p in store.checkpoints.glob("ckpt-*")) == [
        "ckpt-000003-30",
        "ckpt-000004-40",
        "ckpt-000005-50",
    ]


def test_going_back_in_time_wins_over_a_higher_step(store):
    store.save(100, content(100))
    store.save(40, content(40))  # a run that was restarted from an older state
    store.save(40, content(40))  # and saved the same step twice
    assert store.latest().path.name == "ckpt-000003-40"


def test_500_corruptions_are_found_and_the_previous_one_is_used(store, caplog):
    """R2: a torn or corrupted checkpoint is noticed, and the newest whole one is used."""
    store.save(10, content(10))
    newest = store.save(20, content(20))
    rng = random.Random(3)
    files = sorted(p for p in newest.iterdir() if p.stat().st_size)
    caplog.set_level(logging.WARNING)
    for trial in range(500):
        victim = rng.choice(files)
        original = victim.read_bytes()
        at = rng.randrange(len(original))
        if trial % 3 == 0:
            victim.write_bytes(original[:at])
        elif trial % 3 == 1:
            victim.write_bytes(original[:at] + bytes([original[at] ^ (1 << rng.randrange(8))]) + original[at + 1 :])
        else:
            victim.write_bytes(original + b"x")
        caplog.clear()
        found = store.latest()
        assert found.step == 10 and found.files == content(10), (trial, victim.name, at)
        assert f"skipping {newest.name}" in caplog.text and victim.name in caplog.text
        victim.write_bytes(original)
    assert store.latest().step == 20
    print("figures: 500 of 500 corruptions found, the previous checkpoint used each time")


def test_missing_files_and_foreign_manifests_are_damage(store):
    path = store.save(10, content(10))
    (path / "league.json").unlink()
    with pytest.raises(DamagedCheckpointError, match=r"league\.json cannot be read"):
        load(path)
    (path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(DamagedCheckpointError, match=r"manifest\.json cannot be read"):
        load(path)
    (path / "manifest.json").unlink()
    assert store.latest() is None


class FailingDisk(Disk):
    """The n-th call that changes the disk fails, and with `for_good` every later one too."""

    def __init__(self, at, error, for_good=False):
        self.left, self.error, self.for_good = at, error, for_good

    def count(self):
        self.left -= 1
        if self.left == 0 or (self.for_good and self.left < 0):
            raise OSError(self.error, os.strerror(self.error))

    def put(self, file, data):
        self.count()
        return super().put(file, data[: max(1, len(data) // 3)])  # short writes are normal on a filling disk

    def sync(self, file):
        self.count()
        super().sync(file)

    def make_folder(self, path):
        self.count()
        super().make_folder(path)

    def rename(self, old, new):
        self.count()
        super().rename(old, new)

    def replace(self, old, new):
        self.count()
        super().replace(old, new)


@pytest.mark.parametrize(
    ("error", "for_good"), [(errno.ENOSPC, False), (errno.ENOSPC, True), (errno.EROFS, True), (errno.EIO, False)]
)
def test_disk_full_at_every_call_leaves_the_previous_checkpoint(tmp_path, error, for_good):
    """R3: a full or read-only disk costs the newest checkpoint and nothing else."""
    failures = 0
    for call in range(1, 200):
        folder = tmp_path / str(call)
        RunStore(folder, "run").save(10, content(10))
        store = RunStore(folder, "run", disk=FailingDisk(call, error, for_good))
        try:
            store.save(20, content(20))
        except SaveError as failed:
            failures += 1
            assert os.strerror(error) in failed.message and "step 20" in failed.message
            found = RunStore(folder, "run").latest()
            assert found.step in (10, 20) and found.files == content(found.step)
            assert not list(store.checkpoints.glob("*.tmp-*"))
            if call % 4 == 0:  # once there is room again
                RunStore(folder, "run").save(30, content(30))
                assert RunStore(folder, "run").latest().step == 30
        else:
            break
    assert failures > 25
    print(f"figures: {os.strerror(error)} at each of {failures} calls of a save: previous checkpoint whole each time")


def test_training_goes_on_for_two_failed_saves_and_stops_at_the_third(tmp_path, caplog):
    RunStore(tmp_path, "run").save(1, content(1))
    store = RunStore(tmp_path, "run", disk=FailingDisk(1, errno.ENOSPC, for_good=True))
    assert store.try_save(2, content(2)) is None
    assert store.try_save(3, content(3)) is None
    assert "failure 2 of 3" in caplog.text
    with pytest.raises(SaveError, match="No space left"):
        store.try_save(4, content(4))
    assert store.latest().step == 1
    flaky = RunStore(tmp_path, "run", disk=FailingDisk(1, errno.ENOSPC))
    results = [flaky.try_save(step, content(step)) for step in (5, 6, 7)]
    assert [result is not None for result in results] == [False, True, True]


def test_milestones_are_kept_although_their_checkpoint_is_pruned(store):
    store.save(10, content(10))
    store.mark("first")
    for step in range(20, 70, 10):
        store.save(step, content(step))
    assert store.milestone("first").files == content(10)
    assert not (store.checkpoints / "ckpt-000001-10").exists()
    store.mark("second", store.checkpoints / "ckpt-000005-50")
    assert store.milestone_names() == ["first", "second"]
    assert store.milestone("second").step == 50
    with pytest.raises(UserError, match="already has a milestone 'first'"):
        store.mark("first")


def test_a_milestone_needs_a_checkpoint(store):
    with pytest.raises(UserError, match="no checkpoint to keep"):
        store.mark("first")


def test_milestones_are_copied_where_links_are_impossible(store, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    path = store.save(10, content(10))
    store.mark("first")
    (path / "league.json").write_bytes(b"rotten")
    assert store.milestone("first").files == content(10)


def test_export_replaces_at_once_and_cleans_up(store, monkeypatch):
    store.export("model.zip", b"old")
    full = RunStore(store.path.parent, "run-1", disk=FailingDisk(2, errno.ENOSPC))
    with pytest.raises(SaveError, match=r"model\.zip.*No space"):
        full.export("model.zip", b"new" * 100)
    assert (store.path / "model.zip").read_bytes() == b"old"
    full = RunStore(store.path.parent, "run-1", disk=FailingDisk(2, errno.ENOSPC))
    assert full.try_export("model.zip", b"new" * 100) is False
    assert full.try_export("config.yml", b"a: 1") is True
    assert (store.path / "model.zip").read_bytes() == b"old"
    store.export("model.zip", b"new")
    assert (store.path / "model.zip").read_bytes() == b"new"
    assert not list(store.path.glob("*.tmp-*"))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "all",
        "ALL",
        ".hidden",
        "-x",
        "con",
        "NUL.txt",
        "a" * 101,
        "a.",
        "ü",
        "a b",
        "a\0",
    ],
)
def test_unusable_names_are_refused_before_anything_is_written(name, tmp_path):
    with pytest.raises(UserError, match="is not usable"):
        RunStore(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["nh-core", "x", "2026-11-15", "a.b_c", "all-in", "console"])
def test_usable_names(name):
    assert check_run_name(name) == name


@pytest.mark.parametrize("name", ["../policy", "manifest.json", ""])
def test_file_names_cannot_leave_the_folder(store, name):
    with pytest.raises(UserError):
        store.save(1, {name: b"x"})
    assert store.latest() is None


def test_an_unwritable_place_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot create run folder .* — choose another --experiments-dir"):
        RunStore(tmp_path / "file", "run").save(1, content(1))


def test_keeping_one_is_too_few():
    with pytest.raises(UserError, match="keep at least 2"):
        RunStore(Path("."), "run", keep=1)
