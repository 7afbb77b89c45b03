"""Starting a simulation server, waiting until it answers, and stopping all of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.link import Address

GAME_PORT = 43595
READY_S = 300.0
POLL_S = 0.2
GRADLE_OPTS = "-XX:MaxMetaspaceSize=256m -Xmx512m -XX:+HeapDumpOnOutOfMemoryError"
PATIENCE_S = 5.0
"""How long the processes have to end by themselves before they are killed."""


def variables(port: int, game_port: int = GAME_PORT, in_step: bool = True) -> dict[str, str]:
    """The environment variables that configure the server; these win over what is inherited."""
    environment = {
        "GAME_PORT": str(game_port),
        "REMOTE_ENV_PORT": str(port),
        "SYNC_TRAINING": str(in_step).lower(),
        "RUN_EVAL_BOTS": "false",
        "TRAIN": "true",
        "SHOW_ENV_DEBUGGER": "false",
    }
    return {**environment, "TICK_RATE": "1"} if in_step else environment


def is_taken(address: Address) -> bool:
    """Whether somebody answers there."""
    with contextlib.suppress(OSError), socket.create_connection((address.host, address.port), 1.0):
        return True
    return False


def free_address(wanted: Address, tries: int = 64) -> Address:
    """The wanted port or the next one that nobody listens on."""
    for port in range(wanted.port, min(wanted.port + tries, 1 << 16)):
        address = Address(wanted.host, port)
        if not is_taken(address):
            return address
    raise UserError(f"ports {wanted.port} to {wanted.port + tries - 1} are all taken", "choose another --env.remote")


class ServerProcess:
    """A server started by us; everything that it starts in turn ends with it."""

    def __init__(self, command: str, address: Address, log: Path | None = None, ready_s: float = READY_S) -> None:
        self.address = address
        self._words = shlex.split(command)
        if not self._words or shutil.which(self._words[0]) is None:
            raise UserError(f"there is no program '{command[:80]}'", "give a command that starts the server")
        self._log = log
        self._ready_s = ready_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the first process; 0 when none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start it and wait until the port answers; raises UserError when it does not."""
        if is_taken(self.address):
            raise UserError(
                f"something already listens on {self.address} already", "stop that server or choose another port"
            )
        offset = max(0, self.address.port - 7070)
        inherited = {
            "GRADLE_OPTS": GRADLE_OPTS,
            **os.environ,
            **variables(self.address.port, min(GAME_PORT + offset, 65535)),
            **(environment or {}),
        }
        output = self._log.open("wb") if self._log is not None else subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command, never a shell
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if self._log is not None else None,
                env=inherited,
                start_new_session=sys.platform != "win32",
            )
        finally:
            if self._log is not None:
                output.close()  # type: ignore[union-attr]
        self._await()

    def _await(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._ready_s
        while time.monotonic() < deadline:
            code = self._process.poll()
            if code is not None:
                raise UserError(f"the server '{self._words[0]}' ended with code {code}", self._last_words())
            if is_taken(self.address):
                return
            time.sleep(POLL_S)
        self.stop()
        raise UserError(f"the server did not listen on {self.address} within {self._ready_s:g} s", self._last_words())

    def _last_words(self) -> str:
        if self._log is None or not self._log.is_file():
            return "start it by hand to see why"
        return "its log ends: " + self._log.read_bytes()[-300:].decode("utf-8", "replace").strip()

    def ensure(self) -> bool:
        """Start it again when it has ended; gives True when that was needed."""
        if self.pid:
            return False
        self.stop()
        self.start()
        return True

    def stop(self) -> None:
        """End the whole tree: politely, then not."""
        process, self._process = self._process, None
        if process is None:
            return
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], check=False, capture_output=True)  # noqa: S603, S607
        else:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            _signal_group(process.pid, signal.SIGKILL)
        process.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
