"""R10, R11, R12: rubbish, slowness and floods. The server has a process of its own, so that its memory can be seen."""

import contextlib
import http.client
import json
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from served_duel import MASKS, OBS

from pvp_ml.serve.load import closed_loop, process_cpu_s

CODES = {"bad_json", "bad_request", "unknown_model", "bad_obs", "bad_mask", "unsupported", "too_large", "timeout",
         "deadline", "overloaded"}  # fmt: skip
ASK = {"model": "plain", "obs": [OBS], "actionMasks": MASKS}
LINE = json.dumps(ASK).encode() + b"\n"
SERVE = """
import sys
from dataclasses import replace
from pathlib import Path
import asyncio
from pvp_ml.serve.limits import Limits
from pvp_ml.serve.server import ServeConfig, serve_until_stopped
limits = replace(Limits(), **eval(sys.argv[2]))
config = ServeConfig(models_dir=Path(sys.argv[1]), port=0, side_port=0, limits=limits)
asyncio.run(serve_until_stopped(config, lambda ports: print(*ports, flush=True)))
"""


@contextmanager
def serving(models_dir, **limits):
    """(process, port, side port) of a server."""
    child = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(models_dir), repr({"deadline_s": 20.0, **limits})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port, side = map(int, child.stdout.readline().split())
    try:
        yield child, port, side
        assert child.poll() is None, "the server died"
    finally:
        child.terminate()
        _, errors = child.communicate(timeout=10)
    assert "Traceback" not in errors, errors


def memory(pid):
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


class Fuzzer:
    """Lines that are almost, or not at all, requests."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.kinds = [self.noise, self.mutated, self.nested, self.odd_values, self.odd_shapes, self.unicode, self.valid]

    def line(self):
        text = self.rng.choice(self.kinds)().replace(b"\n", b" ").replace(b"\r", b" ")
        return text if text.strip() and text[:4].isascii() and not text[:4].isupper() else b"{" + text

    def noise(self):
        return self.rng.randbytes(self.rng.randint(1, 300))

    def mutated(self):
        data = bytearray(LINE)
        for _ in range(self.rng.randint(1, 8)):
            at = self.rng.randrange(len(data))
            change = self.rng.randrange(3)
            if change == 0:
                data[at] = self.rng.randrange(256)
            elif change == 1:
                del data[at : at + self.rng.randint(1, 20)]
            else:
                data[at:at] = bytes(data[: self.rng.randint(1, 40)])
            if not data:
                return b"{"
        return bytes(data)

    def nested(self):
        depth = self.rng.choice([3, 17, 500, 20_000])
        opening = self.rng.choice([b"[", b'{"a":', b'{"obs":[', b'{"id":['])
        return opening * depth

    def odd_values(self):
        value = self.rng.choice(
            [
                "NaN",
                "Infinity",
                "-Infinity",
                "1e999",
                "9" * 400,
                "-" + "9" * 30,
                "1e308",
                "null",
                '"1"',
                "{}",
                "1e-400",
                "[]",
            ]
        )
        field = self.rng.choice(
            ["obs", "actionMasks", "deterministic", "extensions", "id", "deadlineMs", "model", "token"]
        )
        text = json.dumps({**ASK, field: "@"})
        return text.replace('"@"', self.rng.choice([value, f"[{value}]", f"[[{value}]]"])).encode()

    def odd_shapes(self):
        rows, columns = self.rng.randint(0, 4), self.rng.choice([0, 1, 4, 5, 6, 3000])
        masks = [
            [self.rng.random() < 0.5 for _ in range(self.rng.randint(0, 4))] for _ in range(self.rng.randint(0, 6))
        ]
        changes = self.rng.choice(
            [{"obs": [[1.0] * columns] * rows}, {"actionMasks": masks}, {"deterministic": [True] * rows}]
        )
        model = self.rng.choice(["plain", "deep", "recalls", "secret", "", "../plain", "plain\x00"])
        flags = {"returnProbs": True, "returnValue": self.rng.random() < 0.5, "extensions": ["winrate"] * rows}
        return json.dumps({**ASK, **flags, "model": model, **changes}).encode()

    def unicode(self):
        text = "".join(chr(self.rng.choice([0x41, 0x1F600, 0x202E, 0xFFFF, 0x0, 0x7F])) for _ in range(20))
        return json.dumps({**ASK, self.rng.choice(["model", "id", "token", text]): text}, ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )

    def valid(self):
        return json.dumps({**ASK, "returnProbs": self.rng.random() < 0.3, "id": self.rng.randrange(99)}).encode()


def fuzz(port, count, seed):
    """Send `count` lines; returns how many were answered with an action. Every line has one well-formed answer."""
    fuzzer, actions = Fuzzer(seed), 0
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        file = connection.makefile("rwb")
        for _ in range(count // 50):
            lines = [fuzzer.line() for _ in range(50)]
            file.write(b"\n".join(lines) + b"\n")
            file.flush()
            for line in lines:
                answer = json.loads(file.readline())
                if "error" in answer:
                    assert set(answer) <= {"error", "id"} and answer["error"]["code"] in CODES, (line, answer)
                    assert 0 < len(answer["error"]["message"]) < 400, (line, answer)
                else:
                    assert len(answer["action"]) == 4, (line, answer)
                    actions += 1
    return actions


def check_fuzz(models_dir, count):
    with serving(models_dir) as (child, port, _):
        fuzz(port, 1000, seed=0)
        before = memory(child.pid)
        assert fuzz(port, count, seed=1) > count / 20
        assert memory(child.pid) - before < 20_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_10000_fuzzed_messages(models_dir):
    check_fuzz(models_dir, 10_000)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_100000_fuzzed_messages(models_dir):
    check_fuzz(models_dir, 100_000)


def assert_like(load, calm, factor):
    """As fast as in calm times. Medians of wall time say more about a shared machine than about the server, so what is
    compared is the server's CPU time per request, and the latency of those requests that nothing else interrupted."""
    assert load.per_cpu_second * factor >= calm.per_cpu_second
    assert load.quantile_ms(0.1) <= factor * calm.quantile_ms(0.1)


def connect(port, count):
    return [socket.create_connection(("127.0.0.1", port), 30) for _ in range(count)]


def ask_and_never_read(one):
    """More questions than their answers fit into the sockets between us."""
    one.setblocking(False)
    for _ in range(60):
        try:
            one.send(LINE * 100)
        except BlockingIOError:
            time.sleep(0.02)


def wait_until_calm(pid):
    for _ in range(40):
        before = process_cpu_s(pid)
        time.sleep(0.25)
        if process_cpu_s(pid) - before <= 0.02:
            return
    pytest.fail("the server never comes to rest")


def check_slow(models_dir, slow, deaf, seconds, factor):
    """Honest clients are served as fast as before, and slow ones are shown out."""
    with (
        serving(models_dir, line_s=seconds + 2.0, unsent_s=30.0) as (child, port, _),
        contextlib.ExitStack() as sockets,
    ):
        closed_loop(port, [LINE], 2, 0.5, child.pid)
        calm = closed_loop(port, [LINE], 2, seconds, child.pid)
        for one in connect(port, deaf):
            sockets.enter_context(one)
            ask_and_never_read(one)
        wait_until_calm(child.pid)  # it has answered what fits into the sockets of those who do not read
        slow_ones = [sockets.enter_context(one) for one in connect(port, slow)]
        for one in slow_ones:
            one.sendall(b"{")
        held = closed_loop(port, [LINE], 2, seconds, child.pid)
        assert held.errors <= 0.01 * held.requests
        assert_like(held, calm, factor)
        for one in slow_ones:
            assert b"timeout" in one.recv(1000)


def test_slow_clients_do_not_slow_the_others(models_dir):
    check_slow(models_dir, slow=60, deaf=2, seconds=1.5, factor=2.5)


@pytest.mark.nightly
def test_200_slow_clients(models_dir):
    check_slow(models_dir, slow=200, deaf=20, seconds=10.0, factor=2.0)


class Flood(threading.Thread):
    """Sends as fast as the socket takes, reads as fast as answers come, counts them."""

    def __init__(self, port, seconds):
        super().__init__()
        self.port, self.end = port, time.monotonic() + seconds
        self.accepted = self.rejected = self.other = 0

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.setblocking(False)
            left = b""
            while time.monotonic() < self.end:
                try:
                    connection.send(LINE * 20)
                except BlockingIOError:
                    time.sleep(0.0005)
                try:
                    left += connection.recv(1 << 18)
                except BlockingIOError:
                    continue
                *lines, left = left.split(b"\n")
                for line in lines:
                    self.accepted += line.startswith(b'{"action"')
                    self.rejected += b'"overloaded"' in line or b'"deadline"' in line
                    self.other += not line.startswith(b'{"action"') and b'"code":"' not in line


def side_text(side, path):
    connection = http.client.HTTPConnection("127.0.0.1", side, timeout=5)
    connection.request("GET", path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def check_flood(models_dir, connections, seconds, queue):
    """The queue stays bounded, some are served, the rest is told so, others hardly notice, and then it is over."""
    with serving(models_dir, queue=queue) as (child, port, side):
        closed_loop(port, [LINE], 2, 0.3, child.pid)
        before = memory(child.pid)
        calm = closed_loop(port, [LINE], 1, 0.5, child.pid)
        floods = [Flood(port, seconds) for _ in range(connections)]
        for flood in floods:
            flood.start()
        time.sleep(seconds / 2)
        assert side_text(side, "/healthz") == "ok\n"
        for flood in floods:
            flood.join()
        assert sum(f.accepted for f in floods) > 50
        assert sum(f.rejected for f in floods) > 50
        assert sum(f.other for f in floods) == 0
        time.sleep(1.0)
        after = closed_loop(port, [LINE], 1, 0.5, child.pid)
        assert after.errors == 0
        assert_like(after, calm, 2.5)
        assert memory(child.pid) - before < 60_000_000
        gauges = dict(line.rsplit(" ", 1) for line in side_text(side, "/metrics").splitlines() if line[0] != "#")
        assert 0 < int(gauges["pvp_ml_queue_deepest"]) <= queue
        assert int(gauges['pvp_ml_requests_total{code="overloaded"}']) > 0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_a_flood_is_answered_and_passes(models_dir):
    check_flood(models_dir, connections=4, seconds=2.0, queue=16)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_a_minute_of_flood(models_dir):
    check_flood(models_dir, connections=24, seconds=60.0, queue=128)


def test_the_fuzzer_makes_different_lines():
    fuzzer = Fuzzer(3)
    lines = [fuzzer.line() for _ in range(500)]
    assert len(set(lines)) > 400
    assert np.mean([len(line) for line in lines]) > 100
