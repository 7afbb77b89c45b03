"""R18: training, serving, the arena and a viewer side by side: memory and files do not creep, nothing fails.

PVP_ML_SOAK_S sets how long (20 minutes). Memory is read every five seconds; after the first third, a line is fitted.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Request

from pvp_ml.games import registry
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes

SECONDS = float(os.environ.get("PVP_ML_SOAK_S", "1200"))
EVERY_S = 5.0
MAX_MB_PER_HOUR = {"serve": 12.0, "arena": 12.0, "train": 30.0}
"""Training keeps one row of metrics per rollout, which a tiny game makes hundreds of times a second."""
TRAIN = ["train", "--game", "connect4", "--env.matches", "32", "--ppo.n-steps", "64", "--network.trunk", "[32]",
         "--run.shards", "1", "--eval.every", "200000", "--eval.matches", "20", "--run.checkpoint-every", "50000",
         "--total-timesteps", "0", "--name", "soak", "--tracking.tensorboard", "false", "--view", "off"]  # fmt: skip


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def files_open(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_port(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nobody listens on {port}")


class Asker:
    """A bot: asks for decisions, on a new connection now and then, and looks at health."""

    def __init__(self, port: int, side: int, lines: list[bytes]):
        self.port, self.side, self.lines = port, side, lines
        self.asked = self.errors = 0

    def round(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection, connection.makefile("rb") as answers:
            for line in self.lines * 20:
                connection.sendall(line)
                self.errors += b"action" not in answers.readline()
                self.asked += 1
        health = http.client.HTTPConnection("127.0.0.1", self.side, timeout=30)
        health.request("GET", "/metrics")
        answer = health.getresponse()
        answer.read()
        self.errors += answer.status != 200
        health.close()


def slope_per_hour(times: list[float], values: list[float]) -> float:
    return float(np.polyfit(np.array(times) / 3600.0, values, 1)[0])


class Viewer:
    """A page: starts a match of two bots, takes its frames until it ends, leaves."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.state = WSConnection(ConnectionType.CLIENT)
        self.socket.sendall(self.state.send(Request(host=f"127.0.0.1:{port}", target="/ws/connect4")))

    def watch(self) -> int:
        """Frames until the end."""
        try:
            return self._watch({"type": "start", "seats": ["bot:random", "bot:random"], "tick_ms": 50})
        finally:
            self.socket.close()

    def _watch(self, start: dict) -> int:
        frames, parts = 0, []
        while True:
            self.state.receive_data(self.socket.recv(65536))
            for event in self.state.events():
                if isinstance(event, AcceptConnection):
                    self.socket.sendall(self.state.send(Message(data=json.dumps(start))))
                elif isinstance(event, Message):
                    parts.append(event.data)
                    if event.message_finished:
                        message = json.loads("".join(parts))
                        parts.clear()
                        assert message["type"] != "refused", message
                        frames += message["type"] == "frame"
                        if message["type"] == "end":
                            leave = self.state.send(Message(data=json.dumps({"type": "leave"})))
                            self.socket.sendall(leave + self.state.send(CloseConnection(1000)))
                            return frames


def model_and_lines(folder: Path) -> tuple[Path, list[bytes]]:
    """A model of connect 4 with random weights, and questions for it."""
    kind = registry.find("connect4")
    spec, rng = kind.spec(kind.config()), np.random.default_rng(0)
    network = NetworkConfig(trunk=(32,))
    tensors = {n: rng.normal(size=s, scale=0.3).astype(np.float32)
               for n, s in tensor_shapes(network, spec.interface).items()}  # fmt: skip
    statistics = {n: np.ones(s) for n, s in normalizer_shapes(network, spec.interface).items()}
    write_bundle(folder / "model.zip", make_bundle(spec, network, tensors, statistics))
    masks = [[True] * size for size in spec.head_sizes]
    asks = [{"obs": [rng.integers(0, 2, spec.obs_size).tolist()], "actionMasks": masks} for _ in range(8)]
    return folder / "model.zip", [json.dumps(ask).encode() + b"\n" for ask in asks]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_creeps(tmp_path):
    model, lines = model_and_lines(tmp_path)
    port, side, page = free_port(), free_port(), free_port()
    pvp_ml = [sys.executable, "-m", "pvp_ml"]
    commands = {
        "serve": [*pvp_ml, "serve", "--model", str(model), "--port", str(port), "--side-port", str(side),
                  "--deadline-ms", "20000"],
        "arena": [*pvp_ml, "play", "connect4", "--port", str(page), "--no-open", "--no-keep"],
        "train": [*pvp_ml, *TRAIN],
    }  # fmt: skip
    logs = {name: (tmp_path / f"{name}.log").open("wb") for name in commands}
    running = {name: subprocess.Popen(command, cwd=tmp_path, stdout=logs[name], stderr=logs[name])
               for name, command in commands.items()}  # fmt: skip
    try:
        for number in (port, side, page):
            await_port(number)
        report = soak(running, Asker(port, side, lines), page)
    finally:
        for child in running.values():
            child.terminate()
        codes = {name: child.wait(60) for name, child in running.items()}
        for log in logs.values():
            log.close()
    print(f"figures: {report}")
    for name in commands:
        text = (tmp_path / f"{name}.log").read_text()
        assert "Traceback" not in text, text[-2000:]
        assert report[name]["mb_per_hour"] < MAX_MB_PER_HOUR[name], report
        assert report[name]["files"] <= 2, report
    assert report["errors"] == 0
    assert codes["serve"] == 0


def soak(running, asker: Asker, page: int) -> dict:
    """Ask, watch and sample until the time is over."""
    began = time.monotonic()
    samples = {name: ([], [], []) for name in running}
    frames, next_sample = 0, began + SECONDS / 3
    while (now := time.monotonic()) - began < SECONDS:
        asker.round()
        frames += Viewer(page).watch()
        for name, child in running.items():
            assert child.poll() is None, f"{name} ended"
            if now >= next_sample:
                times, memory, files = samples[name]
                times.append(now - began)
                memory.append(memory_mb(child.pid))
                files.append(files_open(child.pid))
        next_sample = max(next_sample, now + EVERY_S) if now >= next_sample else next_sample
    report = {
        "asked": asker.asked,
        "errors": asker.errors,
        "frames": frames,
        "seconds": round(time.monotonic() - began),
    }
    for name, (times, memory, files) in samples.items():
        half = len(files) // 2
        growth = int(np.median(files[half:])) - int(np.median(files[:half]))
        report[name] = {
            "mb_per_hour": round(slope_per_hour(times, memory), 1),
            "files": growth,
            "mb": round(memory[-1]),
        }
    return report
