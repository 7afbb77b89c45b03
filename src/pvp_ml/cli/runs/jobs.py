"""`pvp-ml jobs`: what runs, what it prints, and how to stop it."""

from __future__ import annotations

import io
import json
import shutil
import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from pvp_ml.data_files import RUNS
from pvp_ml.documents.plain_file import open_plain, read_end
from pvp_ml.errors import UserError, visible
from pvp_ml.run.jobs import Job, find_job, list_jobs, stop_job
from pvp_ml.run.tracking.live_view import count, duration

app = App(name="jobs", help="List, follow, stop and remove runs.")
MAX_LOG_BYTES = 1 << 20
Directory = Annotated[str, Parameter(name=("--directory", "--experiments-dir"))]


@app.command(name="list")
def show(
    *, directory: Directory = RUNS, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
) -> None:
    """List all runs: whether each is training, and how far it is.

    Args:
        directory: where runs are kept
        as_json: print one JSON object: `runs` has an entry per run
    """
    jobs = list_jobs(Path(directory))
    if as_json:
        rows = [
            {
                "name": j.name,
                "state": j.state,
                "pid": j.process.pid if j.process else None,
                "steps": j.steps,
                "seconds": j.seconds,
            }
            for j in jobs
        ]
        print(json.dumps({"runs": rows}))
        return
    if not jobs:
        print(f"no runs in '{directory}' yet; start one with: pvp-ml train --preset nh/quick")
        return
    table = Table("run", "state", "pid", "steps", "trained for", box=box.SIMPLE_HEAD)
    for job in jobs:
        pid = str(job.process.pid) if job.process else ""
        table.add_row(job.name, job.state, pid, count(job.steps), duration(job.seconds))
    Console().print(table)


@app.command
def logs(name: str, *, directory: Directory = RUNS, follow: bool = False, lines: int = 50) -> None:
    """Print the log of a detached run.

    Args:
        name: the run
        directory: where runs are kept
        follow: keep printing until the run ends or Ctrl-C
        lines: how many of the last lines to print first
    """
    job = find_job(Path(directory), name)
    try:
        text = read_end(job.log, MAX_LOG_BYTES).decode("utf-8", "replace").splitlines(keepends=True)
    except OSError as error:
        raise UserError(f"run '{name}' has no log", "only runs started with --detach write one") from error
    print(visible("".join(text[-lines:])), end="", flush=True)
    if follow:
        _follow(job)


@app.command
def attach(name: str, *, directory: Directory = RUNS) -> None:
    """Follow the log of a run; Ctrl-C stops following, not the run.

    Args:
        name: the run
        directory: where runs are kept
    """
    logs(name, directory=directory, follow=True)


@app.command
def stop(name: str, *, directory: Directory = RUNS) -> None:
    """Stop a run after it has saved; whatever is still running after 20 seconds is killed.

    Args:
        name: the run, or `all`
        directory: where runs are kept
    """
    stop_named(name, Path(directory))


def stop_named(name: str, directory: Path) -> None:
    """Stop one run, or all of them."""
    jobs = list_jobs(directory) if name == "all" else [find_job(directory, name)]
    refused = []
    for job in jobs:
        try:
            if stop_job(job):
                print(f"stopped {job.name}")
            elif name != "all":
                print(f"{job.name} is not running ({job.state})")
        except UserError as error:
            refused.append(str(error))
    if refused:
        raise UserError("; ".join(refused))


@app.command
def remove(name: str, *, directory: Directory = RUNS, yes: bool = False) -> None:
    """Delete a run with all its checkpoints and milestones.

    Args:
        name: the run
        directory: where runs are kept
        yes: do not ask
    """
    job = find_job(Path(directory), name)
    if job.process:
        raise UserError(f"run '{name}' is training (process {job.process.pid})", f"pvp-ml jobs stop {name}")
    if not yes and input(f"delete {job.folder} and everything in it? [y/N] ").strip().lower() != "y":
        return
    shutil.rmtree(job.folder)
    print(f"deleted {job.folder}")


def _follow(job: Job) -> None:
    with io.TextIOWrapper(open_plain(job.log), encoding="utf-8", errors="replace") as file:
        file.seek(0, 2)
        while True:
            line = file.readline()
            if line:
                print(visible(line), end="", flush=True)
            elif job.process is None or not job.process.is_alive:
                return
            else:
                time.sleep(0.2)
