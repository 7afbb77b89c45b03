"""Battles traced decision by decision, decoded for comparisons."""

import base64
import functools
import json
import subprocess

import numpy as np

from pvp_ml.games.vgc import layout
from pvp_ml.games.vgc.codec import to_poke_env
from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.teams import shipped

TRACE = __file__.replace("vgc_tracing.py", "trace.js")
STATUSES = ("brn", "par", "psn", "tox", "slp", "frz")
STATS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")


@functools.cache
def trace(format, battles, seed=1, sheets="closed", teams=None, fixed=False):
    """Rows of trace.js for random battles; `fixed` gives seat 0 the first team and seat 1 the second."""
    installation = install.find()
    texts = list(shipped()[format].values()) if teams is None else teams
    request = {"format": format, "sheets": sheets, "teams": texts, "battles": battles, "seed": seed, "fixed": fixed}
    done = subprocess.run(
        [str(installation.node), TRACE, str(SCRIPTS)], input=json.dumps(request), capture_output=True, text=True,
        env=installation.environment(), timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def observation(row):
    return np.frombuffer(base64.b64decode(row["obs"]), np.float32)


class Reader:
    """Named numbers of one observation."""

    def __init__(self, obs):
        self.obs = obs

    def get(self, block, index, feature):
        return float(self.obs[layout.column(block, index, feature)])

    def text(self, block, index, feature, kind):
        return layout.name_of(kind, int(self.get(block, index, feature)))

    def mon(self, index):
        def get(f):
            return self.get("pokemon", index, f)

        facts = {
            "hp": round(get("hp"), 4), "fainted": get("fainted") == 1, "level": round(get("level") * 100),
            "terastallized": get("terastallized") == 1, "item": self.text("pokemon", index, "item", "items"),
        }  # fmt: skip
        if not facts["fainted"]:
            facts["status"] = next((s for s in STATUSES if get(s)), "")
            facts["ability"] = self.text("pokemon", index, "ability", "abilities")
        if get("stats_exact"):
            facts["stats"] = [round(get(f"stat_{s}") * 200) for s in STATS[:5]]
        return facts

    def boosts(self, index):
        return [round(self.get("pokemon", index, f"boost_{s}") * 6) for s in STATS]


def own_names(request, home):
    """Nicknames in the order of the observation's own rows."""
    names = [entry["ident"].split(": ", 1)[1] for entry in request["side"]["pokemon"]]
    return names + [name for name in home if name not in names]


def view_of(row, home):
    """The observation as poke_env_compare.py names things."""
    reader = Reader(observation(row))
    names = own_names(row["request"], home)
    foes = {}
    boosts = {"own": [None, None], "foes": [None, None]}
    for i in range(12):
        if not reader.get("pokemon", i, "known"):
            continue
        side = "own" if i < 6 else "foes"
        for slot, flag in enumerate(("on_left", "on_right")):
            if reader.get("pokemon", i, flag) and not reader.get("pokemon", i, "fainted"):
                boosts[side][slot] = reader.boosts(i)
        if i >= 6 and reader.get("pokemon", i, "shown"):
            facts = reader.mon(i)
            for key in ("item", "ability"):
                if facts.get(key) is None:
                    facts.pop(key, None)
            foes[reader.text("pokemon", i, "species", "species")] = facts
    conditions = ("auroraveil", "lightscreen", "mist", "reflect", "safeguard", "stealthrock", "stickyweb", "tailwind")
    return {
        "weather": reader.text("global", 0, "weather", "weather"),
        "terrain": reader.text("global", 0, "terrain", "terrain"),
        "rooms": [reader.get("global", 0, f) == 1 for f in ("trick_room", "gravity", "wonder_room", "magic_room")],
        "own_side": [c for c in conditions if reader.get("side", 0, c)],
        "foe_side": [c for c in conditions if reader.get("side", 1, c)],
        "own": {name: reader.mon(i) for i, name in enumerate(names)},
        "foes": foes,
        "own_boosts": boosts["own"],
        "foe_boosts": boosts["foes"],
    }


def offered_gimmick(active):
    return "terastallize" if active.get("canTerastallize") else "mega" if active.get("canMegaEvo") else ""


def is_odd(row, slot):
    """poke-env numbers the moves of a locked or transformed Pokémon by rules of its own."""
    active = (row["request"].get("active") or [None, None])[slot]
    reader = Reader(observation(row))
    changed = any(reader.get("pokemon", i, "transformed") and reader.get("pokemon", i, ("on_left", "on_right")[slot])
                  for i in range(6))  # fmt: skip
    return active is not None and (len(active["moves"]) == 1 or changed)


class InPokeEnv:
    """One decision in poke-env's numbers."""

    def __init__(self, row, home):
        self.row, request = row, row["request"]
        self.places = [home.index(entry["ident"].split(": ", 1)[1]) for entry in request["side"]["pokemon"]]
        self.active = request.get("active") or [{}, {}]
        self.gimmicks = [offered_gimmick(active) for active in self.active]

    def number(self, slot, choice):
        return to_poke_env(choice, self.gimmicks[slot], self.places)

    def masks(self):
        """Both places' masks; None where poke-env is known to differ."""
        found = []
        for slot in range(2):
            start = 91 + 47 * slot
            choices = [i - start for i in self.row["mask"] if start <= i < start + 47]
            found.append(None if is_odd(self.row, slot) else [self.number(slot, choice) for choice in choices])
        return found

    def spelled(self, slot, choice):
        """A move as poke-env spells it; None for switches and passes."""
        if choice >= 40:
            return None
        words = ["move", self.active[slot]["moves"][choice // 10]["id"]]
        if choice % 10 >= 5:
            words.append(self.gimmicks[slot])
        if choice % 5 != 2:
            words.append(str(choice % 5 - 2))
        return " ".join(words)

    def order(self, left, right):
        """([numbers], [spellings]) of a joint choice."""
        return [self.number(0, left), self.number(1, right)], [self.spelled(0, left), self.spelled(1, right)]


def joint_choices(row, legality):
    """Every legal (left, right) of a decision, by the heads' rules."""
    mask = np.zeros((1, legality.spec.mask_size), bool)
    mask[0, row["mask"]] = True
    pairs = []
    for left in np.flatnonzero(legality.legal(1, mask, np.zeros((1, 3), np.int32))[0]):
        picks = np.array([[0, left, 0]], np.int32)
        pairs += [(int(left), int(right)) for right in np.flatnonzero(legality.legal(2, mask, picks)[0])]
    return pairs


def decisions(rows):
    """(row, home) of every decision; home are the six nicknames in the team's own order."""
    home = {}
    for row in rows:
        if row.get("over"):
            continue
        key = (row["battle"], row["seat"])
        home.setdefault(key, [entry["ident"].split(": ", 1)[1] for entry in row["request"]["side"]["pokemon"]])
        yield row, home[key]
