"""Runs as jobs: started so that they outlive the terminal, listed truthfully, stopped gently and then firmly.

A run folder can be tampered with, so what it says about a process is only a hint. A process is ended when its start
time and command line are those on record and it holds the lock of the run: no file can fake the last.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_yaml import MAX_BYTES
from pvp_ml.errors import UserError
from pvp_ml.run.processes import Identity, descendants, has_command, holds_lock, send
from pvp_ml.run.store.links import refuse_links
from pvp_ml.run.store.lock import LOCK_FILE, read_record
from pvp_ml.run.store.run_store import RunStore, check_run_name, is_run_name
from pvp_ml.run.tracking.tracker import last_point

JOB_FILE = "job.json"
LOG_FILE = "train.log"
STOP_GENTLY_S = 20.0

State = Literal["running", "finished", "stopped"]


@dataclass(frozen=True, slots=True)
class Job:
    """A run and the process that trains it."""

    name: str
    folder: Path
    state: State
    process: Identity | None
    command: tuple[str, ...]
    steps: int
    seconds: float

    @property
    def log(self) -> Path:
        """What the job printed."""
        return self.folder / "logs" / LOG_FILE


def start_detached(store: RunStore, arguments: Sequence[str], environment: dict[str, str] | None = None) -> Job:
    """Start `python -m pvp_ml.train ARGUMENTS` in a session of its own, with its output in the run's log."""
    refuse_links(store.path)
    store.create()
    log = store.logs / LOG_FILE
    command = [sys.executable, "-m", "pvp_ml.train", *arguments]
    with log.open("ab") as output:
        flags: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            flags = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, **flags
        )
    process.returncode = 0  # it is meant to outlive us: Popen must neither wait for it nor warn about it
    identity = Identity.of(process.pid)
    record = {"process": asdict(identity), "command": list(command), "since": time.time()}
    store.export(JOB_FILE, json.dumps(record, indent=1).encode())
    return read_job(store.path)


def read_job(folder: Path) -> Job:
    """The truth about one run: what is recorded, checked against the processes that live."""
    process, command = read_trainer(folder)
    last = last_point(folder / "metrics.jsonl")
    steps = int(last.get("steps", 0))
    state = _state(folder, process, steps)
    return Job(folder.name, folder, state, process, command, steps, float(last.get("seconds", 0.0)))


def read_state(folder: Path, steps: int) -> State:
    """The state alone, for callers that already have the progress."""
    return _state(folder, read_trainer(folder)[0], steps)


def _state(folder: Path, process: Identity | None, steps: int) -> State:
    return "running" if process else "finished" if _is_finished(folder, steps) else "stopped"


def read_trainer(folder: Path) -> tuple[Identity | None, tuple[str, ...]]:
    """The process that trains the run, if it lives, and the command on record."""
    process, command = None, ()
    for name in (JOB_FILE, LOCK_FILE):  # a run in the foreground has a lock and no job file
        record = read_record(folder / name)
        fields = record.get("process") if name == JOB_FILE else record
        found = _recorded(fields)
        words = record.get("command")
        if found is None or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            continue
        command = tuple(words)
        if found.is_alive and has_command(found.pid, command):
            process = found
    return process, command


def _recorded(fields: Any) -> Identity | None:
    """The process that a record names, if it names one: a whole number above 1, a start time and a host."""
    if not isinstance(fields, dict):
        return None
    pid, start, host = (fields.get(name) for name in ("pid", "start", "host"))
    if type(pid) is not int or not 1 < pid < 1 << 31 or not start or type(start) is not str or type(host) is not str:
        return None
    return Identity(pid, start, host)


def list_jobs(experiments: Path) -> list[Job]:
    """Every run under `experiments`, by name."""
    if not experiments.is_dir():
        return []
    return [read_job(path) for path in sorted(experiments.iterdir()) if _is_run(path)]


def _is_run(path: Path) -> bool:
    """Whether it is named and filled like a run; a link leads to a folder that is somebody else's."""
    return is_run_name(path.name) and not path.is_symlink() and (path / "checkpoints").is_dir()


def find_job(experiments: Path, name: str) -> Job:
    """The run of that name."""
    check_run_name(name)
    if not _is_run(experiments / name):
        known = ", ".join(job.name for job in list_jobs(experiments))
        hint = f"runs: {known}" if known else "there are no runs yet; `pvp-ml train` starts one"
        raise UserError(f"there is no run '{name}' in '{experiments}'", hint)
    return read_job(experiments / name)


def stop_job(job: Job, gently_s: float | None = None) -> bool:
    """Ask the job to save and leave; kill its whole tree if it does not. False when nothing was running.

    Raises UserError, and touches nothing, when the process on record does not hold the run's lock. One that has just
    started is given `gently_s` seconds to take it.
    """
    process, patience_s = job.process, STOP_GENTLY_S if gently_s is None else gently_s
    if process is None or not _wait_for_lock(job, process, patience_s):
        return False
    tree = [process, *(Identity.of(pid) for pid in descendants(process.pid))]
    send(process, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while process.is_alive and time.monotonic() < deadline:
        time.sleep(0.1)
    for member in tree:
        if member.is_alive:
            send(member, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    return True


def _wait_for_lock(job: Job, process: Identity, seconds: float) -> bool:
    """Whether the process lives and holds the lock of the run, or of one of its seeds (`train --seeds`)."""
    deadline = time.monotonic() + seconds
    while process.is_alive:
        folders = [job.folder, *job.folder.parent.glob(f"{job.name}-seed*")]
        if any(holds_lock(process.pid, folder / LOCK_FILE) for folder in folders):
            return True
        if time.monotonic() >= deadline:
            raise UserError(
                f"process {process.pid} does not hold the lock of run '{job.name}', whatever the run's files say",
                f"it may belong to someone else; if it is yours, stop it with: kill {process.pid}",
            )
        time.sleep(0.1)
    return False


def _is_finished(folder: Path, steps: int) -> bool:
    """Whether the run has all the steps that its configuration asks for."""
    with contextlib.suppress(OSError, ValueError):
        for line in read_plain(folder / "config.yml", MAX_BYTES).decode("utf-8").splitlines():
            if line.strip().startswith("total_steps:"):
                total = int(line.partition(":")[2])
                return 0 < total <= steps
    return False
