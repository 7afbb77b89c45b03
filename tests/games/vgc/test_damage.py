"""The damage estimate against the simulator's own damage, where both know the same stats."""

import json
import subprocess
from pathlib import Path

import pytest

from pvp_ml.games.vgc.layout import SCRIPTS


def mon(species, ability, *moves, item="", training="252 SpA / 252 Atk"):
    held = f" @ {item}" if item else ""
    listed = "\n".join(f"- {move}" for move in moves)
    return f"{species}{held}\nAbility: {ability}\nLevel: 50\nEVs: {training}\nHardy Nature\n{listed}\n"


WALL = mon("Snorlax", "Immunity", "Celebrate", training="252 HP")
CASES = {
    "ruination": (mon("Ting-Lu", "Vessel of Ruin", "Ruination"), WALL, "move 1 1"),
    "super fang": (mon("Maushold", "Friend Guard", "Super Fang"), WALL, "move 1 1"),
    "night shade": (mon("Dusclops", "Pressure", "Night Shade"), mon("Blissey", "Healer", "Celebrate"), "move 1 1"),
    "seismic toss": (mon("Blissey", "Healer", "Seismic Toss"), WALL, "move 1 1"),
    "hadron engine": (mon("Miraidon", "Hadron Engine", "Draco Meteor"), WALL, "move 1 1"),
    "orichalcum pulse": (mon("Koraidon", "Orichalcum Pulse", "Dragon Claw"), WALL, "move 1 1"),
    "protosynthesis": (mon("Roaring Moon", "Protosynthesis", "Crunch", item="Booster Energy"), WALL, "move 1 1"),
    "quark drive": (mon("Iron Bundle", "Quark Drive", "Ice Beam", item="Booster Energy"), WALL, "move 1 1"),
    "plain": (mon("Garchomp", "Rough Skin", "Dragon Claw"), WALL, "move 1 1"),
    "choice specs": (mon("Chi-Yu", "Beads of Ruin", "Dark Pulse", item="Choice Specs"), WALL, "move 1 1"),
}


@pytest.fixture(scope="module")
def shares(installation):
    cases = [{"name": n, "attacker": a, "defender": d, "move": m} for n, (a, d, m) in CASES.items()]
    done = subprocess.run(
        [str(installation.node), str(Path(__file__).with_name("damage_cases.js")), str(SCRIPTS)],
        input=json.dumps(cases), env=installation.environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-800:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_is_within_a_tenth(shares, name):
    estimated, simulated = shares[name]
    if name == "night shade":
        assert simulated is None and estimated == 0  # a ghost's move does nothing to a normal type
    else:
        assert simulated > 0.05
        assert estimated == pytest.approx(simulated, rel=0.1)
