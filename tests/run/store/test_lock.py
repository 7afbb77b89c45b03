"""R16: two trainers, one run."""

import json
import os
import socket
import subprocess
import sys

import pytest

from pvp_ml.run.store import lock as lock_module
from pvp_ml.run.store.lock import RunLock, RunLockedError, start_time
from pvp_ml.run.store.run_store import RunStore

HOLD = """
import sys
from pathlib import Path
from pvp_ml.run.store.run_store import RunStore
with RunStore(Path(sys.argv[1]), "run").lock(5.0):
    print("held", flush=True)
    sys.stdin.read()
"""


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


def test_the_second_trainer_learns_who_is_first(tmp_path, holder):
    with pytest.raises(RunLockedError) as refused, RunStore(tmp_path, "run").lock(6.0):
        pass
    assert f"process {holder.pid} on host {socket.gethostname()}" in refused.value.message
    assert json.loads((tmp_path / "run" / "lock").read_text())["since"] == 5.0


def test_a_killed_trainers_lock_is_recovered(tmp_path, holder, caplog):
    holder.kill()
    holder.wait()
    with RunStore(tmp_path, "run").lock(6.0):
        assert f"took over the lock of process {holder.pid}" in caplog.text
        assert json.loads((tmp_path / "run" / "lock").read_text())["pid"] == os.getpid()


def test_an_orderly_end_leaves_nothing_to_recover(tmp_path, holder, caplog):
    holder.stdin.close()
    holder.wait()
    with RunStore(tmp_path, "run").lock(6.0):
        assert caplog.text == ""


def test_locked_twice_in_one_process_is_refused_too(tmp_path):
    with RunStore(tmp_path, "run").lock(1.0), pytest.raises(RunLockedError), RunStore(tmp_path, "run").lock(2.0):
        pass
    with RunStore(tmp_path, "run").lock(3.0):
        pass


@pytest.mark.skipif(not start_time(os.getpid()), reason="the kernel does not tell start times")
@pytest.mark.parametrize(
    ("record", "is_free"),
    [
        ({"pid": os.getpid(), "host": socket.gethostname(), "start": start_time(os.getpid())}, False),
        ({"pid": os.getpid(), "host": socket.gethostname(), "start": "7"}, True),  # the number was given to another
        ({"pid": 2**22 - 3, "host": socket.gethostname(), "start": "7"}, True),
        ({"pid": 1, "host": "elsewhere", "start": "7"}, False),
        ("rubbish", True),
    ],
)
def test_without_file_locks_the_recorded_process_decides(tmp_path, monkeypatch, record, is_free):
    import fcntl

    def unsupported(*_):
        raise OSError(lock_module.errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    path = tmp_path / "lock"
    path.write_text(json.dumps(record))
    if is_free:
        with RunLock(path, 1.0):
            assert json.loads(path.read_text())["pid"] == os.getpid()
    else:
        with pytest.raises(RunLockedError), RunLock(path, 1.0):
            pass
