"""`python benchmarks/nh_terrain.py [--pairs 20] [--matches 256] [--seconds 1]`: what water and lava cost a fight.

Random legal play of NH with and without terrain, in turns in one process: each pair is a stretch of both, its order
changing from pair to pair, counted in processor time inside the game. Prints each ratio and the median; exit 1 when the
median is below the bar. `--record` keeps the numbers in benchmarks/records/nh_terrain.json.
"""

import argparse
import json
import statistics
import sys
import time
from itertools import count, islice
from pathlib import Path

from pvp_ml import players
from pvp_ml.games import registry
from pvp_ml.games.play import Table
from pvp_ml.match import External, MatchPlan

BAR = 0.95
RECORD = Path(__file__).parent / "records" / "nh_terrain.json"


class Stretch:
    """Fights on one kind of ground that go on where they were left."""

    def __init__(self, terrain: str, matches: int) -> None:
        kind = registry.find("nh")
        self._game = registry.build_here(kind, registry.configure(kind, {"terrain": terrain}), matches)
        self._table = Table(self._game, {"player": players.make("random", self._game.spec)})
        self._serials = count()
        self._queue(2 * matches)
        self._table.start()

    def _queue(self, matches: int) -> None:
        lineup = (External("player"), External("player"))
        self._table.queue([MatchPlan(n, n, lineup) for n in islice(self._serials, matches)])

    def play(self, seconds: float) -> float:
        """Agent-steps per CPU-second inside the game."""
        steps, spent = 0, 0.0
        while spent < seconds:
            self._table.decide()
            before = time.process_time()
            self._game.step(self._table.actions, self._table.out)
            spent += time.process_time() - before
            steps += 2 * self._game.matches
            self._table.settle()
            if ended := int(self._table.stopped.sum()):
                self._queue(ended)
        return steps / spent


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--matches", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    grounds = {terrain: Stretch(terrain, asked.matches) for terrain in ("open", "wilderness")}
    for ground in grounds.values():
        ground.play(2 * asked.seconds)  # past the first fights, which all begin in step
    pairs = []
    for n in range(asked.pairs):
        order = ("open", "wilderness") if n % 2 else ("wilderness", "open")
        pairs.append({terrain: grounds[terrain].play(asked.seconds) for terrain in order})
        ratio = pairs[-1]["wilderness"] / pairs[-1]["open"]
        print(f"open {pairs[-1]['open']:9,.0f}  wilderness {pairs[-1]['wilderness']:9,.0f}  {ratio:.3f}", flush=True)
    ratios = sorted(pair["wilderness"] / pair["open"] for pair in pairs)
    median = statistics.median(ratios)
    verdict = "holds" if median >= BAR else "MISSED"
    print(f"median {median:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}), bar {BAR}: {verdict}")
    if asked.record:
        result = {"matches": asked.matches, "median": round(median, 4), "ratios": [round(ratio, 4) for ratio in ratios]}
        RECORD.write_text(json.dumps({"date": time.strftime("%Y-%m-%d"), **result}, indent=1) + "\n")
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
