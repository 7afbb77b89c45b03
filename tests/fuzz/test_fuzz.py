"""Parsers of strangers' files refuse what they do not like; they never fall over.

Every run: a few hundred small changes of valid files, the same ones each time. Nightly: coverage-guided with atheris,
ten minutes for old models and one for every other parser (PVP_ML_FUZZ_SECONDS sets both).
"""

import importlib.util
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from targets import TARGETS

from pvp_ml.errors import UserError

CHANGES = 250
SLOW = {"snapshot-nh": 100, "preset": 60}
NUMBERS = (
    b"-1",
    b"0",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"true",
    b'"\\u001b[2J"',
)


def changed(seed: bytes, rng: random.Random) -> bytes:
    """One to four small changes: bits, bytes, cut, doubled or moved pieces, odd numbers and words."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 2, 4, 16, 200)))
        match rng.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(data):
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x5B, 0x7B, 0x22, 0x2E))
            case 2:
                del data[at:to]
            case 3:
                data[at:at] = data[at:to] * rng.randint(1, 3)
            case 4:
                data[at:to] = rng.choice(NUMBERS)
            case _:
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_small_changes_are_refused_or_harmless(name):
    target = TARGETS[name]
    rng, refused = random.Random(name), 0
    seeds = target.seeds()
    for seed in seeds:
        target.attempt(seed)  # as it is, it is fine
    for _ in range(SLOW.get(name, CHANGES)):
        data = changed(rng.choice(seeds), rng)
        try:
            target.attempt(data)
        except UserError as refusal:
            refused += 1
            assert str(refusal).replace("\n", " ").isprintable(), "a message does not steer the terminal"
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__} for {data[:300]!r}") from error
    assert refused > 0


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris: pip install 'pvp-ml[fuzz]'")
@pytest.mark.parametrize("name", TARGETS)
def test_coverage_guided(name, tmp_path):
    seconds = os.environ.get("PVP_ML_FUZZ_SECONDS", "600" if name == "old-model-pickle" else "60")
    script = Path(__file__).parent / "run_atheris.py"
    done = subprocess.run(
        [sys.executable, str(script), name, seconds], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    runs = re.search(r"stat::number_of_executed_units: *(\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    assert runs and coverage
    print(f"figures: {name} {runs[1]} runs, {coverage[-1][0]} edges")
