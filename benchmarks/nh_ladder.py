"""Rate the rungs of the NH ladder: neighbours over 1,000 fights, every rung against nh-bot, which is pinned at 1000.

python benchmarks/nh_ladder.py benchmarks/records/nh_ladder.json
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from pvp_ml.games import registry
from pvp_ml.games.osrs.ladder.rungs import STYLES
from pvp_ml.selfplay.evaluate import evaluate, find_contestant
from pvp_ml.selfplay.ratings import bradley_terry

ANCHOR = "nh-bot"
NEIGHBOURS, SECONDS, BOT = 1000, 200, 400
"""Fights of neighbours, of rungs two apart, and of each rung against the anchor."""


def main(record: Path, seed: int = 2611) -> None:
    """Play, fit, print, keep."""
    names = [style.name for style in STYLES]
    meetings = [(b, a, NEIGHBOURS) for a, b in pairwise(names)]
    meetings += [(name, ANCHOR, BOT) for name in names]
    meetings += [(b, a, SECONDS) for a, b in zip(names, names[2:], strict=False)]
    everyone = [*names, ANCHOR]
    points = np.zeros((len(everyone), len(everyone)))
    kind = registry.find("nh")
    settings = kind.config()
    cells = []
    for first, second, matches in meetings:
        game = kind.build(settings, min(matches, 256))
        sides = [find_contestant(name, game.spec, Path.cwd()) for name in (first, second)]
        total = evaluate(game, *sides, matches, seed).total
        game.close()
        i, j = everyone.index(first), everyone.index(second)
        points[i, j], points[j, i] = total.wins + 0.5 * total.ties, total.losses + 0.5 * total.ties
        low, high = total.interval
        cells.append({"first": first, "second": second, "matches": total.matches, "score": round(total.score, 4),
                      "low": round(low, 4), "high": round(high, 4)})  # fmt: skip
        print(f"{first} against {second}: {total.score:.1%} ({low:.1%} to {high:.1%}) of {total.matches}", flush=True)
    fitted = bradley_terry(everyone, points, {ANCHOR: 1000.0})
    ratings = {s.name: [round(s.rating), round(s.low), round(s.high)] for s in fitted}
    kept = {"date": datetime.now(UTC).date().isoformat(), "seed": seed, "ratings": ratings, "cells": cells}
    record.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(ratings))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
