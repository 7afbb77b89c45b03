"""`pvp-ml tensorboard`: one server for all runs, on this machine only."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from pvp_ml.errors import UserError, pip_install
from pvp_ml.run.processes import Identity, has_command, send
from pvp_ml.run.store.lock import read_record

FIRST_PORT, PORTS = 6006, 50
RECORD = ".server.json"


def tensorboard(*, logdir: str = "tensorboard", port: int = 0, wait: bool = False, stop: bool = False) -> None:
    """Start TensorBoard on the loopback address, or say where it already runs.

    Args:
        logdir: folder of the event files
        port: 0 = 6006 or the next free one
        wait: stay in the foreground until Ctrl-C
        stop: stop the running one
    """
    folder = Path(logdir)
    if stop:
        _stop(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    running = _recorded(folder)
    if running:
        print(f"TensorBoard: http://127.0.0.1:{running[1]}/")
        return
    chosen = port or _free_port()
    command = _command(folder, chosen)
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    who = Identity.of(process.pid)
    (folder / RECORD).write_text(json.dumps({"pid": who.pid, "start": who.start, "host": who.host, "port": chosen}))
    print(f"TensorBoard: http://127.0.0.1:{chosen}/ (process {process.pid})")
    if wait:
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()
        process.terminate()
        return
    time.sleep(0.5)
    if process.poll() is not None:
        raise UserError(f"TensorBoard did not start; see {folder / 'server.log'}", pip_install("train"))
    process.returncode = 0  # it is meant to outlive us: Popen must neither wait for it nor warn about it


def _command(folder: Path, port: int) -> list[str]:
    place = ["--logdir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    return [sys.executable, "-m", "tensorboard.main", *place]


def _recorded(folder: Path) -> tuple[Identity, int] | None:
    """The server that was started for this folder and still runs, with its port; never another process."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        record = read_record(folder / RECORD)
        who, port = Identity(int(record["pid"]), str(record["start"]), str(record["host"])), int(record["port"])
        if who.is_alive and has_command(who.pid, _command(folder, port)):
            return who, port
    return None


def _stop(folder: Path) -> None:
    found = _recorded(folder)
    if found is None:
        print(f"TensorBoard is not running for '{folder}'")
        return
    send(found[0], signal.SIGTERM)
    print(f"stopped TensorBoard on port {found[1]}")


def _free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise UserError(f"ports {FIRST_PORT} to {FIRST_PORT + PORTS - 1} are all taken", "choose one with --port")
