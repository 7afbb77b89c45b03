"""Runs as jobs: started so that they outlive the terminal, listed truthfully, stopped gently and then firmly.

A process is known by its pid and its start time, so that a stranger who got the same pid later is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pvp_ml.errors import UserError
from pvp_ml.run.store.lock import start_time
from pvp_ml.run.store.run_store import RunStore, check_run_name
from pvp_ml.run.tracking.tracker import read_metrics

JOB_FILE = "job.json"
LOG_FILE = "train.log"
STOP_GENTLY_S = 20.0

State = Literal["running", "finished", "stopped"]


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for another."""

    pid: int
    start: str
    host: str

    @classmethod
    def of(cls, pid: int) -> Identity:
        """The process with this pid, as it is now."""
        return cls(pid, start_time(pid), socket.gethostname())

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs; one on another host is taken to be gone, nobody here can ask."""
        if self.host != socket.gethostname():
            return False
        if self.start:
            return start_time(self.pid) == self.start and not _is_zombie(self.pid)
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Job:
    """A run and whoever trains it."""

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
    process, command = None, ()
    for name in (JOB_FILE, "lock"):  # a run in the foreground has a lock and no job file
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads((folder / name).read_bytes())
            fields = record["process"] if name == JOB_FILE else record
            found = Identity(int(fields["pid"]), str(fields["start"]), str(fields["host"]))
            command = tuple(record.get("command", command))
            if found.is_alive:
                process = found
    rows = read_metrics(folder / "metrics.jsonl") if (folder / "metrics.jsonl").is_file() else []
    last = rows[-1] if rows else {}
    steps = int(last.get("steps", 0))
    state: State = "running" if process else "finished" if _is_finished(folder, steps) else "stopped"
    return Job(folder.name, folder, state, process, command, steps, float(last.get("seconds", 0.0)))


def list_jobs(experiments: Path) -> list[Job]:
    """Every run under `experiments`, by name."""
    if not experiments.is_dir():
        return []
    return [read_job(p) for p in sorted(experiments.iterdir()) if (p / "checkpoints").is_dir()]


def find_job(experiments: Path, name: str) -> Job:
    """The run of that name."""
    check_run_name(name)
    if not (experiments / name / "checkpoints").is_dir():
        known = ", ".join(job.name for job in list_jobs(experiments)) or "none"
        raise UserError(f"there is no run '{name}' in '{experiments}'", f"there are: {known}")
    return read_job(experiments / name)


def stop_job(job: Job, gently_s: float = STOP_GENTLY_S) -> bool:
    """Ask the job to save and leave; kill its whole tree if it does not. False when nothing was running."""
    process = job.process
    if process is None or not process.is_alive:
        return False
    tree = [process, *(Identity.of(pid) for pid in _descendants(process.pid))]
    _send(process, signal.SIGTERM)
    deadline = time.monotonic() + gently_s
    while process.is_alive and time.monotonic() < deadline:
        time.sleep(0.1)
    for member in tree:
        if member.is_alive:
            _send(member, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    return True


def _send(process: Identity, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)


def _descendants(pid: int) -> list[int]:
    """Children, their children, and so on; empty where the system cannot be asked."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _is_finished(folder: Path, steps: int) -> bool:
    """Whether the run has all the steps that its configuration asks for."""
    with contextlib.suppress(OSError, ValueError):
        for line in (folder / "config.yml").read_text(encoding="utf-8").splitlines():
            if line.strip().startswith("total_steps:"):
                total = int(line.partition(":")[2])
                return 0 < total <= steps
    return False
