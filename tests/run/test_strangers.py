"""A run folder names processes; its word alone never ends one."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.run import processes
from pvp_ml.run.jobs import find_job, list_jobs, stop_job
from pvp_ml.run.processes import Identity, command_line, descendants, holds_lock
from pvp_ml.run.store.lock import RunLock, start_time

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

HOLD = """
import sys
from pathlib import Path
from pvp_ml.run.store.run_store import RunStore
store = RunStore(Path(sys.argv[1]), "far")
store.create()
with store.lock(5.0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def shots(monkeypatch):
    """Signals that would have been sent; none of them is."""
    sent = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda fd, number, *_: sent.append((fd, number)))
    return sent


@pytest.fixture
def stranger():
    waits = "print(flush=True); __import__('sys').stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()  # before it has begun, nobody can tell its command line
    yield child
    child.stdout.close()
    child.stdin.close()  # it ends when nobody can type any more; `shots` catches signals
    child.wait()


@pytest.fixture
def holder(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()


def tampered(tmp_path, file, pid, start, command):
    folder = tmp_path / "far"
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    process = {"pid": pid, "start": start, "host": socket.gethostname()}
    record = {"process": process, "command": command} if file == "job.json" else {**process, "command": command}
    (folder / file).write_text(json.dumps(record))


@pytest.mark.parametrize("file", ["job.json", "lock"])
@pytest.mark.parametrize("pid", [0, -1, 1, True, 2.5, "1", None, 1 << 40])
def test_a_pid_that_means_many_or_nobody_is_never_signalled(tmp_path, shots, file, pid):
    start = start_time(1) if pid == 1 else ""
    tampered(tmp_path, file, pid, start, list(command_line(1)) if pid == 1 else [])
    assert run(["jobs", "stop", "far", "--directory", str(tmp_path)]) == 0
    assert run(["train", "cleanup", "--name", "all", "--directory", str(tmp_path)]) == 0
    assert [job.state for job in list_jobs(tmp_path)] == ["stopped"]
    assert shots == []


@pytest.mark.parametrize("file", ["job.json", "lock"])
def test_no_start_time_is_no_match(tmp_path, shots, stranger, file):
    tampered(tmp_path, file, stranger.pid, "", list(command_line(stranger.pid)))
    assert run(["jobs", "stop", "far", "--directory", str(tmp_path)]) == 0
    assert shots == []


@pytest.mark.parametrize("file", ["job.json", "lock"])
def test_another_command_line_is_no_match(tmp_path, shots, stranger, file):
    tampered(tmp_path, file, stranger.pid, start_time(stranger.pid), [sys.executable, "-m", "pvp_ml.train"])
    assert run(["train", "cleanup", "--name", "all", "--directory", str(tmp_path)]) == 0
    assert shots == []


@pytest.mark.parametrize("file", ["job.json", "lock"])
def test_who_does_not_hold_the_lock_is_left_alone(tmp_path, shots, stranger, file, capsys):
    command = list(command_line(stranger.pid))
    tampered(tmp_path, file, stranger.pid, start_time(stranger.pid), command)
    job = find_job(tmp_path, "far")
    assert job.process == Identity.of(stranger.pid), "everything that a file can say is right"
    with pytest.raises(UserError, match=f"process {stranger.pid} does not hold the lock of run 'far'"):
        stop_job(job, gently_s=0.3)
    assert shots == []


def test_one_that_is_refused_does_not_shield_the_others(tmp_path, stranger, holder, monkeypatch, capsys):
    monkeypatch.setattr("pvp_ml.run.jobs.STOP_GENTLY_S", 0.5)
    tampered(tmp_path, "job.json", stranger.pid, start_time(stranger.pid), list(command_line(stranger.pid)))
    (tmp_path / "far").rename(tmp_path / "aaa")  # listed first; the holder's open lock moves with it
    (tmp_path / "far" / "checkpoints").mkdir(parents=True)
    (tmp_path / "aaa" / "lock").rename(tmp_path / "far" / "lock")
    assert run(["train", "cleanup", "--name", "all", "--directory", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "stopped far" in printed.out
    assert "run 'aaa'" in printed.err
    assert holder.wait(120) == -signal.SIGTERM
    assert stranger.poll() is None


def test_the_holder_of_the_lock_is_stopped(tmp_path, holder):
    assert holds_lock(holder.pid, tmp_path / "far" / "lock")
    assert not holds_lock(os.getpid(), tmp_path / "far" / "lock")
    job = find_job(tmp_path, "far")
    assert job.state == "running"
    assert stop_job(job, gently_s=5.0)
    assert holder.wait(120) == -signal.SIGTERM


def test_several_seeds_hold_the_locks_of_their_own_folders(tmp_path, holder):
    (tmp_path / "far").rename(tmp_path / "far-seed0")
    tampered(tmp_path, "job.json", holder.pid, start_time(holder.pid), list(command_line(holder.pid)))
    assert stop_job(find_job(tmp_path, "far"), gently_s=5.0)
    assert holder.wait(120) == -signal.SIGTERM


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_lock_that_is_a_link_is_neither_followed_nor_written(tmp_path, make):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    make(victim, tmp_path / "lock")
    with pytest.raises(UserError, match="is a link"), RunLock(tmp_path / "lock", 1.0):
        pass
    assert victim.read_text() == "precious"


def test_a_lock_that_is_a_pipe_or_a_folder_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UserError, match=r"lock '.*' is not a plain file"), RunLock(tmp_path / name, 1.0):
            pass
    (tmp_path / "far" / "checkpoints").mkdir(parents=True)
    os.mkfifo(tmp_path / "far" / "lock")
    assert find_job(tmp_path, "far").state == "stopped", "reading a pipe does not wait for a writer"


def test_where_there_is_no_proc_ps_is_asked(tmp_path, monkeypatch, holder, stranger):
    monkeypatch.setattr(processes, "PROC", tmp_path / "nowhere")
    who = Identity.of(holder.pid)
    assert who.start
    assert who.is_alive
    assert not Identity(holder.pid, "Mon Jan  1 00:00:00 2001", who.host).is_alive
    assert command_line(holder.pid)[0].startswith(sys.executable)
    assert holds_lock(holder.pid, tmp_path / "far" / "lock"), "nobody tells who holds it, only that it is held"
    assert not holds_lock(holder.pid, tmp_path / "none")
    assert holder.pid in descendants(os.getpid())
    holder.kill()
    holder.wait()
    assert not who.is_alive
    assert start_time(holder.pid) == ""
    assert not holds_lock(holder.pid, tmp_path / "far" / "lock")


@pytest.mark.parametrize("link", ["metrics.jsonl.tmp", "milestones", "members/x.tmp", "logs/train.log"])
@pytest.mark.parametrize("detach", [[], ["--detach"]])
def test_a_run_folder_with_a_link_is_not_written_into(tmp_path, monkeypatch, capsys, link, detach):
    """Writing follows links: a crafted folder would have a resumed run overwrite any file of its user."""
    monkeypatch.chdir(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    place = tmp_path / "experiments/r" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(victim)
    words = ["train", "--game", "connect4", "--name", "r", "--run.total-steps", "64", "--view", "off", *detach]
    assert run(words) == 2
    assert f"'{link}' is a link" in capsys.readouterr().err
    assert victim.read_text() == "mine"
    assert not (tmp_path / "experiments/r/checkpoints").exists()
