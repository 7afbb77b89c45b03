"""A seat sees only what it was shown: two battles that differ in hidden facts alone give equal views."""

import base64
import re

import numpy as np
import pytest
import vgc_tracing as tracing

from pvp_ml.games.vgc.teams import shipped

FORMAT = "gen9vgc2025regi"


def altered(text, change):
    """The team with `change(index, block)` applied to each Pokémon's paste."""
    return "\n\n".join(change(i, block) for i, block in enumerate(text.split("\n\n")))


def other_spread(i, block):
    """Another nature and other effort values: hidden with open sheets too, except through their effects."""
    block = re.sub(r"^EVs: .*$", "EVs: 252 HP / 4 Def", block, flags=re.MULTILINE)
    return re.sub(r"^\w+ Nature$", "Hardy Nature", block, flags=re.MULTILINE)


def other_secrets(i, block):
    """Other effort values, nature, Tera type and last move: all hidden with closed sheets until shown."""
    block = re.sub(r"^Tera Type: .*$", "Tera Type: Bug", other_spread(i, block), flags=re.MULTILINE)
    moves = re.findall(r"^- .*$", block, flags=re.MULTILINE)
    return block.replace(moves[-1], "- Rest") if len(moves) == 4 else block


def views(rows, seat):
    """(what the seat was shown so far, observation, mask) per decision."""
    shown, found = [], []
    for row in rows:
        if row.get("over") or row["seat"] != seat:
            continue
        shown = shown + [line for line in row["lines"] if not line.startswith(("|t:|", "|inactive"))]
        found.append((tuple(shown), row["obs"], tuple(row["mask"]), row["request"]))
    return found


def compare(sheets, change, battles):
    own = shipped()[FORMAT]["shadow-rider"]
    foe = shipped()[FORMAT]["zacian-screens"]
    runs = []
    for hidden in (foe, altered(foe, change)):
        rows = tracing.trace(FORMAT, battles, seed=40, sheets=sheets, teams=(own, hidden), fixed=True)
        runs.append([views([r for r in rows if r["battle"] == b], 0) for b in range(battles)])
    equal = different = 0
    for one, other in zip(*runs, strict=True):
        for a, b in zip(one, other, strict=False):
            if a[0] != b[0] or a[3] != b[3]:
                different += 1
                break  # from here on the battles are not the same for this seat
            assert a[2] == b[2]
            names = np.flatnonzero(observation(a[1]) != observation(b[1]))
            assert len(names) == 0, names[:5]
            equal += 1
    return equal, different


def observation(text):
    return np.frombuffer(base64.b64decode(text), np.float32)


@pytest.mark.parametrize(("sheets", "change"), [("open", other_spread), ("closed", other_secrets)])
def test_views_depend_on_what_was_shown(installation, sheets, change):
    equal, different = compare(sheets, change, 5)
    assert equal >= 2 * 5  # team preview and turn 1 at least
    assert different >= 1  # the hidden facts were real: sooner or later they show


def test_open_sheets_show_moves_but_no_spread(installation):
    rows = tracing.trace(FORMAT, 1, sheets="open")
    reader = tracing.Reader(tracing.observation(rows[0]))
    for i in range(6, 12):
        assert reader.get("pokemon", i, "move_1") >= 2 and reader.get("pokemon", i, "tera_known") == 1
        assert reader.get("pokemon", i, "stats_exact") == 0
    for i in range(6):
        assert reader.get("pokemon", i, "stats_exact") == 1


def test_the_tracker_never_reads_the_simulators_state():
    from pvp_ml.games.vgc.layout import SCRIPTS

    scripts = [file for room in ("seen", "observe", "bots") for file in (SCRIPTS / room).glob("*.js")]
    assert len(scripts) >= 12
    for script in scripts:
        text = script.read_text()
        assert "battle." not in text and "Battle" not in text, script.name
