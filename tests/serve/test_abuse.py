"""Rubbish. The server has a process of its own, so that its memory can be seen."""

import json
import random
import socket
from pathlib import Path

import numpy as np
import pytest
from served_process import ASK, LINE, memory, serving

CODES = {"bad_json", "bad_request", "unknown_model", "bad_obs", "bad_mask", "unsupported", "too_large", "timeout",
         "deadline", "overloaded"}  # fmt: skip


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
    with socket.create_connection(("127.0.0.1", port), 120) as connection:
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
        grown = memory(child.pid) - before
        print(f"figures: {count} messages, every answer well-formed, memory grew {grown / 1e6:.1f} MB")
        assert grown < 20_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_10000_fuzzed_messages(models_dir):
    check_fuzz(models_dir, 10_000)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_100000_fuzzed_messages(models_dir):
    check_fuzz(models_dir, 100_000)


def test_the_fuzzer_makes_different_lines():
    fuzzer = Fuzzer(3)
    lines = [fuzzer.line() for _ in range(500)]
    assert len(set(lines)) > 400
    assert np.mean([len(line) for line in lines]) > 100
