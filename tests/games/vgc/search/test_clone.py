"""A clone of a running battle goes on as its original does, and costs little memory."""

import json
import subprocess
from pathlib import Path

import pytest

from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.teams import shipped

SCRIPT = Path(__file__).with_name("clones.js")


def clone(installation, format, clones):
    request = {"format": format, "teams": list(shipped()[format].values()), "clones": clones, "seed": 1}
    done = subprocess.run(
        [str(installation.node), "--expose-gc", str(SCRIPT), str(SCRIPTS)], input=json.dumps(request),
        capture_output=True, text=True, env=installation.environment(), timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_clones_play_out_as_their_originals(installation):
    found = clone(installation, "gen9vgc2025regi", 50)
    assert found["clones"] == 50 and found["different"] == 0
    assert found["lines"] > 50 * 20


@pytest.mark.nightly
@pytest.mark.parametrize("format", ["gen9vgc2025regi", "gen9championsvgc2026regma"])
def test_many_clones_play_out_as_their_originals_in_bounded_memory(installation, format):
    few, many = clone(installation, format, 200), clone(installation, format, 10_000)
    assert many["clones"] == 10_000 and many["different"] == 0
    assert many["heap_mb"] < few["heap_mb"] + 30
