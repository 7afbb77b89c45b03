"""Agent-steps per second of the simulation server, with clients in lock-step self-play: `pvp-ml bench sim-server`."""

from __future__ import annotations

import os
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import encode_request, read_answer, read_sight
from pvp_ml.games.process_tree import process_cpu_s

JUDGED = 20  # agents of the headline figure


def bench(agents: Sequence[int], seconds: float, repeats: int) -> dict[str, Any]:
    """Measure pairs of agents that step as soon as they get an answer: steps per second of the server's CPU time."""
    if any(count % 2 for count in agents):
        raise UserError(f"agents {list(agents)} must be even", "they fight in pairs")
    rows = []
    with _server() as (process, port):
        for count in agents:
            runs = [_measure(process, port, count, seconds) for _ in range(repeats)]
            rows.append({key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]})
    judged = next((row for row in rows if row["agents"] == JUDGED), rows[0])
    return {
        "metric": "sim-server/nh",
        "value": judged["steps_per_cpu_s"],
        "unit": "agent-steps/s of processor time",
        "repeats": repeats,
        "rows": rows,
    }


@contextmanager
def _server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, so that its processor time is separate from the clients'."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pvp_ml", "sim-server", "--port", "0", "--seed", "1"],
        stdout=subprocess.PIPE, text=True, env=environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if "port" not in line:
            raise UserError("the server did not start", "run `pvp-ml sim-server` to see why")
        yield process, int(line.split("port")[1].split(",")[0])
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def _measure(process: subprocess.Popen[str], port: int, agents: int, seconds: float) -> dict[str, float]:
    """Self-play for that long."""
    crowd = _Crowd(port, agents)
    try:
        crowd.play(time.perf_counter() + 0.2 * seconds)
        crowd.steps = 0
        crowd.waits.clear()
        before, began = process_cpu_s(process.pid), time.perf_counter()
        crowd.play(began + seconds)
        wall, cpu = time.perf_counter() - began, process_cpu_s(process.pid) - before
    finally:
        crowd.close()
    waits = np.array(crowd.waits or [0.0]) * 1000
    return {
        "agents": float(agents),
        "steps_per_cpu_s": crowd.steps / cpu if cpu > 0 else crowd.steps / wall,
        "steps_per_s": crowd.steps / wall,
        "p50_ms": float(np.percentile(waits, 50)),
        "p99_ms": float(np.percentile(waits, 99)),
        "errors": float(crowd.errors),
    }


class _Crowd:
    """Agents on connections of their own; each acts as soon as it is answered, mostly an attack."""

    def __init__(self, port: int, agents: int) -> None:
        self.steps = self.errors = 0
        self.waits: list[float] = []
        self._selector = selectors.DefaultSelector()
        self._sockets = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(agents)]
        self._buffers = [bytearray() for _ in range(agents)]
        self._sent = [0.0] * agents
        self._tag = time.monotonic_ns() % 100_000
        for n, connection in enumerate(self._sockets):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(encode_request("login", self._name(n), {"agentType": "NhEnv"}))
            if not connection.recv(1000).startswith(b"{}"):
                raise UserError("the server refused a login")
            self._selector.register(connection, selectors.EVENT_READ, n)
        for n in range(agents):
            self._reset(n)

    def _name(self, n: int) -> str:
        return f"{self._tag} {n}"

    def _reset(self, n: int) -> None:
        params = {"agent": self._name(n), "target": self._name(n ^ 1), "randomizeGear": True}
        body = {"target": self._name(n ^ 1), "training": True, "deathMatch": True, "resetParams": params}
        self._send(n, encode_request("reset", self._name(n), body))

    def _send(self, n: int, line: bytes) -> None:
        self._sent[n] = time.perf_counter()
        self._sockets[n].sendall(line)

    def play(self, until: float) -> None:
        """Go on until that moment."""
        while time.perf_counter() < until:
            for key, _ in self._selector.select(1.0):
                self._take(key.data)

    def _take(self, n: int) -> None:
        self._buffers[n] += self._sockets[n].recv(1 << 16)
        if not self._buffers[n].endswith(b"\n"):
            return
        answer = read_answer(bytes(self._buffers[n]))
        self._buffers[n].clear()
        self.waits.append(time.perf_counter() - self._sent[n])
        self.steps += 1
        if answer.error:
            self.errors += 1
            self._reset(n)
            return
        sight = read_sight(answer.body)
        if sight.terminalState is not None:
            self._reset(n)
            return
        masks = sight.actionMasks
        attack = next((c for c in (2, 1, 3) if masks[0][c]), 0)
        picks = [attack, 0, 0, 0, *([0] * (len(masks) - 4))]
        if attack:
            picks[4 - attack] = 1
        picks[11] = 1 + self.steps % 3
        self._send(n, encode_request("step", self._name(n), {"action": picks}))

    def close(self) -> None:
        """Leave."""
        self._selector.close()
        for connection in self._sockets:
            connection.close()
