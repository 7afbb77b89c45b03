"""`pvp-ml doctor`: check this machine and suggest fixes."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from pvp_ml.data_files import cache_folder
from pvp_ml.games import registry
from pvp_ml.games.tooling import Finding, library
from pvp_ml.run.machine import cores, free_bytes
from pvp_ml.run.threads import threads

SIGNS = {"ok": "[green]✓[/]", "note": "[yellow]·[/]", "bad": "[red]✗[/]"}
MIN_FREE_GB = 2.0
PORTS = (
    (6006, "TensorBoard", "the next free one is used, or choose with `pvp-ml tensorboard --port`"),
    (9999, "pvp-ml serve", "choose another with `pvp-ml serve --port`"),
    (7070, "pvp-ml sim-server", "choose another with `pvp-ml sim-server --port`"),
)


def doctor(*, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """Check this machine and suggest fixes; exit code 1 when something must be fixed.

    Args:
        as_json: print one JSON object: `ok`, and `findings` with `mark` (ok, note, bad), `what` and `fix`
    """
    console = Console(highlight=False, soft_wrap=True)
    findings = []
    for finding in (finding for check in CHECKS for finding in check()):
        findings.append(finding)
        if not as_json:
            fix = f" — {finding.fix}" if finding.fix else ""
            console.print(f"{SIGNS[finding.mark]} {finding.what}{fix}")
    is_fit = all(finding.mark != "bad" for finding in findings)
    if as_json:
        print(json.dumps({"ok": is_fit, "findings": [dataclasses.asdict(finding) for finding in findings]}))
    return 0 if is_fit else 1


def python() -> Iterator[Finding]:
    """3.11 to 3.13."""
    here = f"Python {sys.version.split()[0]}"
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield Finding("ok" if fits else "bad", here, "" if fits else "install Python 3.11, 3.12 or 3.13")


def libraries() -> Iterator[Finding]:
    """Required libraries, and those of the extras."""
    for name in ("numpy", "numba", "pydantic", "cyclopts", "rich", "safetensors"):
        yield Finding("ok", f"{name} {version(name)}")
    for name, extra, purpose in (
        ("torch", "train", "training"),
        ("tensorboard", "train", "TensorBoard"),
        ("onnxruntime", "onnx", "exported models"),
        ("starlette", "web", "the site"),
    ):
        yield library(name, extra, purpose)


def processors() -> Iterator[Finding]:
    """How many shards a run will have, thread variables, memory."""
    count = cores()
    yield Finding("ok", f"{count} core{'s' if count > 1 else ''}: a run uses one process per core")
    for name, value in threads().items():
        if value == "1":
            yield Finding("ok", f"{name} is 1")
        else:
            yield Finding(
                "note", f"{name} is {value}: processes get in each other's way", f"unset {name}, or set it to 1"
            )
    free = free_bytes()
    if free is not None:
        enough = free >= MIN_FREE_GB * 1e9
        yield Finding(
            "ok" if enough else "note", f"{free / 1e9:.1f} GB of memory free", "" if enough else "use fewer --num-envs"
        )


def compiled_cache() -> Iterator[Finding]:
    """Whether compiled code can be kept between starts."""
    folder = cache_folder()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if _is_writable(nearest):
        yield Finding("ok", f"compiled code is kept in {folder}")
    else:
        yield Finding("note", f"{folder} is not writable: every start compiles for a minute", "set PVP_ML_CACHE")


def disk() -> Iterator[Finding]:
    """Room for checkpoints where runs are kept, and shared memory."""
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    enough = free >= MIN_FREE_GB
    yield Finding("ok" if enough else "bad", f"{free:.1f} GB free here", "" if enough else "free some space")
    if not _is_writable(Path.cwd()):
        yield Finding("bad", f"{Path.cwd()} is not writable", "work in a folder of your own, or set --run.directory")
    shared = Path("/dev/shm")  # noqa: S108
    if shared.is_dir():
        yield Finding("ok", f"{shutil.disk_usage(shared).free / 1e9:.1f} GB of shared memory")


def games() -> Iterator[Finding]:
    """What each game needs from outside."""
    for game in registry.every():
        if game.tooling.doctor is not None:
            yield from game.tooling.doctor()


def ports() -> Iterator[Finding]:
    """Whether the usual ports are free; a taken one may well be ours."""
    for port, what, flag in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                yield Finding("note", f"port {port} ({what}) is taken", flag)
                continue
        yield Finding("ok", f"port {port} ({what}) is free")


def gpu() -> Iterator[Finding]:
    """CUDA, if torch sees any."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    if torch.cuda.is_available():
        yield Finding("ok", f"GPU {torch.cuda.get_device_name(0)}")
    else:
        yield Finding(
            "note", "no GPU: training runs on the cores, which is what the small networks here are designed for"
        )


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    python, libraries, processors, compiled_cache, disk, games, ports, gpu,
)  # fmt: skip
