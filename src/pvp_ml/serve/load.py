"""Load for a line server, for benchmarks and tests: clients that wait for their answer before they ask again (closed
loop), and questions that come at a given rate whatever the server does (open loop).
"""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.process_tree import process_cpu_s


@dataclass(frozen=True, slots=True)
class Load:
    """What clients saw. Latencies in seconds, sorted; `cpu_s` is what the server's process used meanwhile."""

    requests: int
    errors: int
    wall_s: float
    cpu_s: float
    latencies_s: npt.NDArray[np.float64]

    @property
    def per_second(self) -> float:
        """Answers per second of wall time."""
        return self.requests / self.wall_s

    @property
    def per_cpu_second(self) -> float:
        """Answers per second of the server's CPU time: what remains comparable on a busy machine."""
        return self.requests / self.cpu_s if self.cpu_s else float("nan")

    def quantile_ms(self, q: float) -> float:
        """Latency that a share q of the requests stayed below."""
        return float(np.quantile(self.latencies_s, q)) * 1000.0 if len(self.latencies_s) else float("nan")


class _Asker:
    """One client: a socket, the line that it sends, and when it sent it."""

    def __init__(self, port: int, line: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line = line
        self.sent = 0.0
        self.left = b""

    def ask(self) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(self.line)


def closed_loop(port: int, lines: list[bytes], clients: int, seconds: float, pid: int) -> Load:
    """`clients` connections for `seconds`; each repeats its own line, the next one as soon as the answer is there."""
    askers = [_Asker(port, lines[i % len(lines)]) for i in range(clients)]
    latencies: list[float] = []
    errors = 0
    with selectors.DefaultSelector() as ready:
        for asker in askers:
            ready.register(asker.socket, selectors.EVENT_READ, asker)
        cpu, started = process_cpu_s(pid), time.perf_counter()
        for asker in askers:
            asker.ask()
        end = started + seconds
        while (now := time.perf_counter()) < end:
            for key, _ in ready.select(end - now):
                asker = key.data
                asker.left += asker.socket.recv(1 << 16)
                if asker.left.endswith(b"\n"):
                    latencies.append(time.perf_counter() - asker.sent)
                    errors += asker.left.startswith(b'{"error"')
                    asker.left = b""
                    asker.ask()
        wall, cpu = time.perf_counter() - started, process_cpu_s(pid) - cpu
    for asker in askers:
        asker.socket.close()
    return Load(len(latencies), errors, wall, cpu, np.sort(np.array(latencies)))


@dataclass(frozen=True, slots=True)
class OpenLoad:
    """What became of questions at a given rate. Latencies in seconds, sorted."""

    accepted_s: npt.NDArray[np.float64]
    rejected_s: npt.NDArray[np.float64]
    other: int  # errors that are not rejections
    unsent: int  # due while every connection waited for an answer
    wall_s: float

    @property
    def answered_per_second(self) -> float:
        """Answers of any kind."""
        return (len(self.accepted_s) + len(self.rejected_s) + self.other) / self.wall_s


def open_loop(port: int, line: bytes, clients: int, rate: float, seconds: float) -> OpenLoad:
    """`rate` questions a second, each over a connection that has nothing under way; for `seconds`, then half a second
    for the answers that are still missing.
    """
    idle = [_Asker(port, line) for _ in range(clients)]
    everyone = list(idle)
    accepted: list[float] = []
    rejected: list[float] = []
    asked = other = unsent = 0
    with selectors.DefaultSelector() as ready:
        for asker in everyone:
            ready.register(asker.socket, selectors.EVENT_READ, asker)
        started = time.perf_counter()
        end = started + seconds
        while (now := time.perf_counter()) < end + 0.5 and (now < end or len(idle) < clients):
            for _ in range(asked, int((min(now, end) - started) * rate)):
                asked += 1
                if idle:
                    idle.pop().ask()
                else:
                    unsent += 1
            pause = started + (asked + 1) / rate - now if now < end else 0.05
            for key, _ in ready.select(max(0.0, pause)):
                asker = key.data
                asker.left += asker.socket.recv(1 << 16)
                if asker.left.endswith(b"\n"):
                    taken = time.perf_counter() - asker.sent
                    if asker.left.startswith(b'{"error"'):
                        is_rejection = b'"overloaded"' in asker.left
                        other += not is_rejection
                        rejected.extend([taken] * is_rejection)
                    else:
                        accepted.append(taken)
                    asker.left = b""
                    idle.append(asker)
    for asker in everyone:
        asker.socket.close()
    return OpenLoad(np.sort(np.array(accepted)), np.sort(np.array(rejected)), other, unsent, seconds)
