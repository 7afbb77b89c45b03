"""`python benchmarks/nh_statistics.py [--matches 2000] [--only NAME]`: scripted fights against the original's numbers.

The original's numbers are in `ROWS`, with how far ours may be off. Prints a line per row; exit 1 when one
misses. `--record` keeps these rows in benchmarks/records/nh_statistics.json.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pvp_ml.games import registry
from pvp_ml.selfplay.evaluate import evaluate, find_contestant

RECORD = Path(__file__).parent / "records" / "nh_statistics.json"


@dataclass(frozen=True)
class Row:
    """One number of the original: `what` is the first side's score in percent, or the mean ticks of a fight."""

    name: str
    first: str
    second: str
    what: str
    original: float
    allowed: float
    scenario: str = "default"


TICKS = {"pure": 138, "zerker": 151, "med": 163, "lms-pure": 200, "lms-zerker": 229, "lms-med": 235}
ROWS = (
    Row("plugin-bot", "nh-plugin", "nh-bot", "score", 37.3, 6.0),
    Row("random-bot", "random", "nh-bot", "score", 27.5, 4.0),
    Row("plugin-plugin", "nh-plugin", "nh-plugin", "ticks", 186.0, 8.0),
    *(Row(b, "nh-plugin", "nh-plugin", "ticks", t, 0.05 * t, f"build-{b}") for b, t in TICKS.items()),
)


def measure(row: Row, matches: int, seed: int = 0) -> float:
    """Play that many fights, and give the number that the row is about."""
    kind = registry.find("nh")
    game = kind.build(kind.config(), 256)
    sides = [find_contestant(name, game.spec, Path()) for name in (row.first, row.second)]
    found = evaluate(game, *sides, matches, seed, scenarios=[row.scenario]).to_json()
    return 100 * found["score"] if row.what == "score" else found["mean_steps"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    found = {}
    for row in ROWS:
        if asked.only not in row.name:
            continue
        ours = measure(row, asked.matches, asked.seed)
        found[row.name] = {"ours": round(ours, 2), "original": row.original, "allowed": round(row.allowed, 2),
                           "holds": abs(ours - row.original) <= row.allowed}  # fmt: skip
        verdict = "holds" if found[row.name]["holds"] else "MISSED"
        print(
            f"{row.name:14} {row.what} {ours:6.1f}, original {row.original:6.1f} ± {row.allowed:4.1f}  {verdict}",
            flush=True,
        )
    if asked.record:
        known = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
        facts = {"date": time.strftime("%Y-%m-%d"), "matches": asked.matches, "seed": asked.seed}
        RECORD.write_text(
            json.dumps({**known, **{name: {**facts, **row} for name, row in found.items()}}, indent=1) + "\n"
        )
    return 0 if found and all(row["holds"] for row in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
