"""`python bounds_checked.py [TICKS]`: the fights compiled with bounds checks, over random ticks and recorded fights.

Started with NUMBA_BOUNDSCHECK=1 and a cache folder of its own; an index outside its array ends it with IndexError.
"""

import os
import sys
from pathlib import Path

import numba
import numpy as np

from pvp_ml.games import registry
from pvp_ml.games.legal import Legality
from pvp_ml.match import Bot, External, MatchPlan, StepBuffers

RECORDED = Path(os.environ.get("PVP_ML_TRACES") or Path(__file__).parent.parent / "data/osrs")
ROWS = 4


def random_ticks(name: str, ticks: int) -> int:
    """Fights of every scenario, agents and bots, with random legal picks; returns matches that ended."""
    kind = registry.find(name)
    game = kind.build(kind.config(), ROWS)
    spec, legality, rng = game.spec, Legality(game.spec), np.random.default_rng(7)
    scenarios = [scenario.name for scenario in spec.scenarios]
    seats = [External("1"), *(Bot(bot) for bot in spec.bots)]
    plans = [MatchPlan(i, 7919 * i, (External("0"), seats[i % len(seats)]), scenarios[i % len(scenarios)])
             for i in range(ticks)]  # fmt: skip
    game.queue(plans)
    out = StepBuffers.allocate(spec, ROWS)
    game.start(out)
    ended = 0
    for _ in range(ticks):
        mask = out.mask.reshape(2 * ROWS, -1)
        mask[~mask.any(axis=1)] = True
        picks = legality.choose(mask, rng.random((2 * ROWS, len(spec.heads))))
        game.step(picks.reshape(ROWS, 2, -1), out)
        ended += int(out.ended.sum() + out.truncated.sum())
    return ended


def main() -> None:
    assert numba.config.BOUNDSCHECK == 1, "start it with NUMBA_BOUNDSCHECK=1"
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name in ("nh", "dharok"):
        print(f"{name}: {ticks} ticks of {ROWS} fights, {random_ticks(name, ticks)} ended", flush=True)
        report = registry.find(name).tooling.conform(RECORDED, 0, 0, lambda line: None)
        print(f"{name}: {report.replay.fights} recorded fights, {report.replay.equal} equal", flush=True)


if __name__ == "__main__":
    main()
