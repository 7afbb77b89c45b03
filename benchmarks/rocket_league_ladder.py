"""Rate the rungs of Rocket League's ladder and models beside them: Bradley–Terry, kickoff_and_clear pinned at 1000.

    python benchmarks/rocket_league_ladder.py RECORD.json [MATCHES] [NAME=FILE …]

Players are listed from weak to strong: the rungs, then the models in the order given. Everyone meets its next three.
At most 60 s, the first goal ends a match, half jittered kickoffs and half `random_ground`, models sample. Each pair is
kept when it is played: the same command goes on where it was stopped.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.games import registry
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.ratings import bradley_terry

ANCHOR, NEXT, SEED = "kickoff_and_clear", 3, 2611
SCENARIOS = ("kickoff", "random_ground")
WHAT = (
    "at most 60 s, the first goal ends it, half jittered kickoffs, half random_ground, seats swapped, the game's own "
    "meshes; kickoff_and_clear pinned at 1000; ratings with 95 % intervals"
)


def main(record: Path, matches: int, files: dict[str, str]) -> None:
    """Play what is missing, fit, print, keep."""
    kind = registry.find("rocket_league")
    game = kind.build(kind.config(timeout_s=60.0), 128)
    names = [*(rung for rung, _ in kind.presentation.ladder), *files]
    sides = {name: find_contestant(files.get(name, name), game.spec, Path.cwd()) for name in names}
    cells = json.loads(record.read_text("utf-8"))["cells"] if record.is_file() else []
    done = {frozenset((cell["first"], cell["second"])) for cell in cells}
    for apart in range(1, NEXT + 1):
        for first, second in zip(names[apart:], names, strict=False):
            if frozenset((first, second)) in done:
                continue
            cells.append(play(game, (first, sides[first]), (second, sides[second]), matches))
            keep(record, names, cells)
            print(json.dumps(cells[-1]), flush=True)
    game.close()
    print(json.dumps(keep(record, names, cells)))


def play(game: Any, first: tuple[str, Contestant], second: tuple[str, Contestant], matches: int) -> dict[str, Any]:
    """One pair's results."""
    total = evaluate(game, first[1], second[1], matches, SEED, SCENARIOS).total
    return {"first": first[0], "second": second[0], "won": total.wins, "tied": total.ties, "lost": total.losses}


def keep(record: Path, names: list[str], cells: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Fit and write; returns the ratings of all who have played, [rating, low, high]."""
    known = [cell for cell in cells if {cell["first"], cell["second"]} <= set(names)]
    met = [name for name in names if any(name in (cell["first"], cell["second"]) for cell in known)]
    points = np.zeros((len(met), len(met)))
    for cell in known:
        i, j = met.index(cell["first"]), met.index(cell["second"])
        points[i, j] += cell["won"] + 0.5 * cell["tied"]
        points[j, i] += cell["lost"] + 0.5 * cell["tied"]
    pinned = {ANCHOR: 1000.0} if ANCHOR in met else None  # until then around their mean
    ratings = {s.name: [round(s.rating), round(s.low), round(s.high)] for s in bradley_terry(met, points, pinned)}
    kept = {"date": datetime.now(UTC).date().isoformat(), "what": WHAT, "ratings": ratings, "cells": cells}
    record.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return ratings


if __name__ == "__main__":
    given = sys.argv[2:]
    count = int(given.pop(0)) if given and given[0].isdigit() else 1000
    main(Path(sys.argv[1]), count, dict(word.split("=", 1) for word in given))
