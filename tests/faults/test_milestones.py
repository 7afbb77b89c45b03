"""Milestones, exports and league files on disks that fill up, and in sessions that end between two writes (R3)."""

import contextlib
import errno
import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "run" / "store"))

from test_run_store import FailingDisk

from pvp_ml.errors import SaveError, UserError
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.resume import Start
from pvp_ml.run.store.disk import Disk
from pvp_ml.run.store.milestones import free_label
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 64


def opened(folder, rollouts, *flags, disk=None):
    words = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "8", "--ppo.batch-size", "32",
             "--run.shards", "1", "--network.trunk", "[8]", "--eval.every", "0", "--run.directory", str(folder),
             "--run.name", "r", "--run.total-steps", str(rollouts * STEPS), "--run.checkpoint-every", str(STEPS),
             *flags]  # fmt: skip
    store = RunStore(folder, "r", disk=disk)
    return contextlib.closing(Run(load_config("", words, folder), store, Tracker()))


class Forbidding(Disk):
    """Folders whose path holds a word cannot be made while it is set."""

    word = "\0"

    def make_folder(self, path):
        if self.word in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().make_folder(path)


def test_a_milestone_holds_what_was_saved_under_its_label(tmp_path, caplog):
    """The save of step 128 fails: no milestone 128 with the state of step 64; the next one that is saved is kept."""
    disk = Forbidding()
    with opened(tmp_path, 4, "--run.milestone-every", str(2 * STEPS), disk=disk) as run:
        original = run.mark

        def mark():
            disk.word = "ckpt-" if run.progress.steps == 2 * STEPS else "\0"
            original()
            disk.word = "\0"

        run.mark = mark
        run.every(1, lambda: None)
        train(run)
    store = RunStore(tmp_path, "r")
    for label in store.milestone_names():
        meta = json.loads((store.milestones / label / "meta.json").read_text())
        assert meta["steps"] == store.milestone(label).step == int(label)
    assert store.milestone_names() == ["192", "256"], "the one that was owed at 128 is the next state that was saved"


def test_a_milestone_that_cannot_be_written_does_not_end_the_run(tmp_path, caplog):
    disk = Forbidding()
    with opened(tmp_path, 4, "--run.milestone-every", str(4 * STEPS), disk=disk) as run:
        disk.word = "/milestones/"
        train(run)
        assert "cannot write milestone '256'" in caplog.text
        assert run.progress.steps == 4 * STEPS
        disk.word = "\0"
        run.save()
    assert RunStore(tmp_path, "r").milestone_names() == ["256"], "the next save tries again"


def test_three_milestones_in_a_row_that_cannot_be_written_stop_the_run(tmp_path):
    disk = Forbidding()
    with opened(tmp_path, 9, "--run.milestone-every", str(STEPS), disk=disk) as run:
        disk.word = "/milestones/"
        with pytest.raises(SaveError, match="cannot write milestone"):
            train(run)
        assert run.progress.steps == 2 * STEPS  # each milestone is tried at its own save and at the next one


def test_a_session_that_ends_between_save_and_milestone_owes_it(tmp_path):
    class Killed(BaseException):
        pass

    with opened(tmp_path, 4, "--run.milestone-every", str(2 * STEPS)) as run:

        def die(*_):
            raise Killed

        run.store.mark = die
        with pytest.raises(Killed):
            train(run)
    assert RunStore(tmp_path, "r").milestone_names() == []
    with opened(tmp_path, 4, "--run.milestone-every", str(2 * STEPS)) as run:
        assert run.resume()
        assert run.store.milestone_names() == ["128"]
        assert run.store.milestone("128").files == run.store.latest().files
        train(run)
    assert RunStore(tmp_path, "r").milestone_names() == ["128", "256"]
    with opened(tmp_path, 4, "--run.milestone-every", str(2 * STEPS)) as run:
        assert run.resume(), "what is kept already is not kept twice"
        assert run.store.milestone_names() == ["128", "256"]


def test_going_on_from_a_milestone_meets_labels_that_exist(tmp_path):
    flags = ("--run.milestone-every", str(STEPS))
    with opened(tmp_path, 3, *flags) as run:
        train(run)
    with opened(tmp_path, 3, *flags) as run:
        assert run.resume(Start(milestone="64"))
        run.progress = run._before  # from there it plays its matches anew
        run.learning.trainees["main"].policy.flat.mul_(1.01)  # so that its states are others
        train(run)
    names = RunStore(tmp_path, "r").milestone_names()
    assert sorted(names) == ["128", "128-2", "192", "192-2", "64"]


def test_labels_never_collide_and_fit_every_file_system(tmp_path):
    store = RunStore(tmp_path, "r")
    store.save(1_000_000, {"a": b"1"})
    found = []
    for _ in range(4):
        found.append(free_label(store, ["Ball: touch/ü"], 0, 1_000_000))
        store.mark(found[-1])
    assert found == [f"Phase1-Ball--touch--/{end}" for end in ("001M", "1000000", "1000000-2", "1000000-3")]


def test_a_full_disk_at_every_call_of_a_milestone_or_an_export(tmp_path):
    """R3 for milestones and exports: whole or not there, the old one untouched."""
    failures = 0
    for call in range(1, 60):
        folder = tmp_path / str(call)
        store = RunStore(folder, "run")
        store.save(10, {"a": b"x" * 3000})
        store.export("model.zip", b"old")
        store.mark("old")
        failing = RunStore(folder, "run", disk=FailingDisk(call, errno.ENOSPC))
        for act in (
            lambda s: s.mark("new", notes={"n": 1}, model=b"m" * 3000),
            lambda s: s.export("model.zip", b"new"),
        ):
            try:
                act(failing)
            except SaveError:
                failures += 1
        assert store.milestone("old").step == 10
        if "new" in store.milestone_names():
            assert store.milestone("new").files == store.milestone("old").files
            assert (store.milestones / "new/model.zip").read_bytes() == b"m" * 3000
        assert (store.path / "model.zip").read_bytes() in (b"old", b"new")
        assert not list(store.path.glob("**/*.tmp-*"))
    assert failures >= 15


def test_a_league_member_that_cannot_be_written_does_not_end_the_run(tmp_path, caplog):
    """R3 for league files: the folder is a file for a while."""
    flags = ("--self-play.strategy", "past", "--self-play.snapshot-every", str(STEPS))
    with opened(tmp_path, 2, *flags) as run:
        folder = run.competition.members.path
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("in the way")
        train(run)
        assert "cannot keep league member" in caplog.text
        folder.unlink()
        run.add_to_league()
        assert len(run.competition.league.of_kind("past")) == 1
        assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("progress.json", lambda data: b"[]"),
        ("progress.json", lambda data: b"{"),
        ("progress.json", lambda data: data.replace(b'"competition"', b'"other"')),
        ("progress.json", lambda data: data.replace(b'"ratings": {', b'"ratings": {"x": ["y", 1],')),
        ("clock.json", lambda data: b'{"seconds": "x"}'),
        ("policy.safetensors", lambda data: b"x" * 40),
        ("shard-0.bin", lambda data: b"\xff\xff"),
        ("shard-0.bin", lambda data: b"\x81\xa2@d\x92\xa4Plan\x90"),
    ],
)
def test_a_resealed_checkpoint_is_refused_by_name(tmp_path, file, change):
    """Hashes that are right and content that is not: one line, no traceback."""
    with opened(tmp_path, 1) as run:
        train(run)
    store = RunStore(tmp_path, "r")
    files = dict(store.latest().files)
    assert change(files[file]) != files[file]
    store.save(64, {**files, file: change(files[file])}, store.latest().spec_digest)
    with (
        opened(tmp_path, 2) as run,
        pytest.raises(UserError, match=r"checkpoint 'ckpt-000002-64'|this is not a league"),
    ):
        run.resume()
