"""Jobs: detached runs that outlive their starter, listed truthfully, stopped for good."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from pvp_ml.cli import run
from pvp_ml.run.jobs import find_job, list_jobs, read_job, stop_job
from pvp_ml.run.processes import Identity, descendants, start_time
from pvp_ml.run.store.run_store import RunStore

TINY = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "16", "--ppo.batch-size", "64", "--run.shards",
        "2", "--network.trunk", "[8]", "--eval.matches", "4", "--tracking.tensorboard", "false", "--name", "far",
        "--total-timesteps", "1000000000"]  # fmt: skip


def wait_for(condition, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.2)


def test_an_identity_is_not_fooled_by_a_recycled_pid():
    me = Identity.of(os.getpid())
    assert me.is_alive
    assert not Identity(me.pid, "1", me.host).is_alive
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    gone = Identity.of(child.pid)
    time.sleep(0.5)
    assert not gone.is_alive, "a zombie does not run"
    child.wait()
    assert not gone.is_alive


def test_a_detached_run_is_listed_stopped_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    experiments = tmp_path / "experiments"
    assert run(["train", *TINY, "--detach"]) == 0
    try:
        wait_for(lambda: read_job(experiments / "far").steps > 0)
        job = find_job(experiments, "far")
        assert job.state == "running"
        assert run(["train", *TINY, "--detach"]) == 2, "a second one is refused"
        capsys.readouterr()
        assert run(["train", "show", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "running"
        assert run(["train", "cleanup", "--name", "far"]) == 0
        assert "stopped far" in capsys.readouterr().out
    finally:
        for leftover in list_jobs(experiments):
            stop_job(leftover, 1.0)
    job = find_job(experiments, "far")
    assert job.state == "stopped"
    saved = RunStore(experiments, "far").latest()
    assert saved is not None
    assert saved.step > 0, "SIGTERM saved"
    assert run(["jobs", "logs", "far"]) == 0
    assert run(["jobs", "stop", "far"]) == 0
    assert "not running" in capsys.readouterr().out
    assert run(["jobs", "stop", "nobody"]) == 2
    assert run(["jobs", "stop", "../x"]) == 2


def in_a_terminal(command: list[str]) -> None:
    """Run a command in a terminal of its own, and close that terminal when the command has ended."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    while True:
        try:
            if not os.read(terminal, 4096):
                break
        except OSError:  # Linux reports the other end's leaving as an error
            break
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal and /proc")
def test_terminal_closed_then_killed_then_rebooted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    experiments = tmp_path / "experiments"
    in_a_terminal([sys.executable, "-m", "pvp_ml", "train", *TINY, "--checkpoint-every", "128", "--detach"])
    try:
        wait_for(lambda: read_job(experiments / "far").steps > 0)
        job = find_job(experiments, "far")
        assert job.state == "running", "closing the terminal does not end it"
        assert job.process is not None
        family = [Identity.of(pid) for pid in descendants(job.process.pid)]
        assert family, "a second shard"
        wait_for(lambda: RunStore(experiments, "far").latest() is not None)
        os.kill(job.process.pid, signal.SIGKILL)
        wait_for(lambda: not job.process.is_alive and not any(member.is_alive for member in family), 30.0)
    finally:
        for leftover in list_jobs(experiments):
            stop_job(leftover, 1.0)
    assert run(["jobs", "list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["runs"][0]
    assert (shown["state"], shown["pid"]) == ("stopped", None)

    # After a restart of the machine the recorded number may belong to a stranger, even one as old in ticks.
    record = json.loads((experiments / "far/job.json").read_text())
    record["process"] |= {"pid": os.getpid(), "start": start_time(os.getpid()).split("@")[0] + "@00000000"}
    (experiments / "far/job.json").write_text(json.dumps(record))
    (experiments / "far/lock").write_text(json.dumps(record["process"] | {"since": 0.0}))
    assert find_job(experiments, "far").state == "stopped"
    assert not stop_job(find_job(experiments, "far")), "nobody is harmed"

    saved = RunStore(experiments, "far").latest()
    assert saved is not None
    more = ["--total-timesteps", str(saved.step + 128), "--run.shards", "1", "--view", "off"]
    assert run(["train", *TINY, *more]) == 0, "it goes on"
    assert read_job(experiments / "far").steps == saved.step + 128
    assert find_job(experiments, "far").state == "finished"


@pytest.mark.parametrize("name", ["all", "../x", "a/b", ""])
def test_bad_names_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert run(["train", *TINY[:-4], "--name", name, "--total-timesteps", "10"]) == 2
    assert not (tmp_path / "experiments").exists()
