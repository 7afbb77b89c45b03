"""Every observation against the simulator's own state: no wrong fact, and none that a seat may not know.

`truth_state.js` works out what each number should be from the battle itself and the plain text of the public log; it
shares no code with the tracker. Not compared: what a team with an Illusion does behind it, PP that Pressure takes from
a move whose target the log hides, and estimates (a foe's stats, the damage blocks).
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.teams import shipped

HERE = Path(__file__).parent
SHARED = HERE.parents[3] / "shared" / "data" / "vgc"
HUMAN = {
    "gen9vgc2025regi": "regi-teams.txt",
    "gen9championsvgc2026regma": "regma-teams.txt",
    "gen9championsvgc2026regmb": "regmb-teams.txt",
}


def compare(installation, format, sheets, teams, battles, seed, scripts=SCRIPTS):
    request = {"format": format, "sheets": sheets, "teams": teams, "battles": battles, "seed": seed}
    done = subprocess.run(
        [str(installation.node), str(HERE / "truth.js"), str(scripts)],
        input=json.dumps(request), env=installation.environment(), capture_output=True, text=True, encoding="utf-8",
        timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-800:]
    return json.loads(done.stdout)


def check(report, decisions):
    assert report["faults"] == []
    assert report["byFact"] == {}, report["wrong"][:5]
    assert report["decisions"] >= decisions
    assert report["facts"] > 400 * report["decisions"]


@pytest.mark.parametrize("sheets", ["open", "closed"])
@pytest.mark.parametrize("format", ["gen9vgc2023regd", "gen9vgc2025regi", "gen9championsvgc2026regma"])
def test_shipped_teams(installation, format, sheets):
    check(compare(installation, format, sheets, list(shipped()[format].values()), 6, 1), 60)


def human_teams(format):
    file = SHARED / HUMAN[format]
    if not file.is_file():
        pytest.skip(f"no human teams at {file}")
    return re.split(r"^=== \S+ ===$", file.read_text("utf-8"), flags=re.MULTILINE)[1:]


@pytest.mark.nightly
@pytest.mark.parametrize("sheets", ["open", "closed"])
@pytest.mark.parametrize("format", HUMAN)
def test_human_teams(installation, format, sheets):
    check(compare(installation, format, sheets, human_teams(format), 250, 500), 4000)


def test_a_wrong_fact_is_found(installation, tmp_path):
    """A tracker that forgets losses of items is caught."""
    shutil.copytree(SCRIPTS, tmp_path / "js")
    lines = tmp_path / "js" / "seen" / "lines.js"
    broken = lines.read_text("utf-8").replace("reveal.loseItem(this, this.mon(ident), toID(p[3]));", "")
    assert broken != lines.read_text("utf-8")
    lines.write_text(broken, "utf-8")
    teams = list(shipped()["gen9vgc2025regi"].values())
    report = compare(installation, "gen9vgc2025regi", "open", teams, 12, 1, tmp_path / "js")
    assert set(report["byFact"]) == {"pokemon.item"}


def test_a_shell_bell_belongs_to_who_is_healed(installation):
    """The line names the Pokémon that was struck behind [of], as others name the holder."""
    script = """
      const {Dex} = require('./simulator');
      const {Tracker} = require('./seen/tracker');
      const tracker = new Tracker(Dex.forFormat('gen9championsvgc2026regma'));
      tracker.read([
        '|poke|p2|Incineroar, L50, M|', '|poke|p2|Garchomp, L50, M|', '|poke|p1|Kingambit, L50, M|',
        '|switch|p2a: Garchomp|Garchomp, L50, M|100/100', '|switch|p2b: Incineroar|Incineroar, L50, M|100/100',
        '|-heal|p2b: Incineroar|89/100|[from] item: Shell Bell|[of] p2a: Garchomp',
        '|switch|p1a: Kingambit|Kingambit, L50, M|100/100',
        '|-damage|p2a: Garchomp|90/100|[from] item: Rocky Helmet|[of] p1a: Kingambit',
      ], 0);
      console.log(JSON.stringify(tracker.teams.flatMap(team => team.mons.map(mon => [mon.species.id, mon.item]))));
    """
    done = subprocess.run(
        [str(installation.node), "-e", script], cwd=SCRIPTS, env=installation.environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    held = dict(json.loads(done.stdout))
    assert held == {"kingambit": "rockyhelmet", "incineroar": "shellbell", "garchomp": ""}
