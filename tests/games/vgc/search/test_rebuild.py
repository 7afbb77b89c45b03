"""A battle rebuilt from one seat's knowledge asks what the true battle asks."""

import json
import subprocess
from pathlib import Path

import pytest

from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.teams import shipped

SCRIPT = Path(__file__).with_name("rebuilds.js")


def rebuilt(installation, format, battles, sheets="open"):
    request = {
        "format": format, "sheets": sheets, "teams": list(shipped()[format].values()), "battles": battles, "seed": 1,
    }  # fmt: skip
    done = subprocess.run(
        [str(installation.node), str(SCRIPT), str(SCRIPTS)], input=json.dumps(request), capture_output=True, text=True,
        env=installation.environment(), timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(found, least):
    tried = found["positions"] - sum(found["declined"].values())
    assert not found["errors"], found["errors"]
    assert found["own"] == tried, found["differences"]
    assert found["foe"] >= least * tried, found["differences"]


def test_rebuilt_battles_ask_the_same_of_both(installation):
    found = rebuilt(installation, "gen9vgc2025regi", 3)
    assert found["positions"] > 30 and not found["declined"]
    check(found, 0.97)


@pytest.mark.nightly
@pytest.mark.parametrize("format", ["gen9vgc2025regi", "gen9championsvgc2026regma", "gen9vgc2024regg"])
@pytest.mark.parametrize("sheets", ["open", "closed"])
def test_many_rebuilt_battles(installation, format, sheets):
    found = rebuilt(installation, format, 100, sheets)
    assert found["positions"] > 1_500
    assert sum(found["declined"].values()) < 0.03 * found["positions"]
    check(found, 0.99)
