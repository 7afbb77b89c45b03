"""The loops that `pvp-ml bench` times."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.play import Table
from pvp_ml.games.process_tree import cpu_s
from pvp_ml.match import External, MatchPlan, VecGame
from pvp_ml.players import Player
from pvp_ml.run.config.schema import Config

WARM_UP = 2
SEPARATE = [
    "--network.critic", "separate", "--network.trunk", "[256, 256]", "--network.heads", "independent",
    "--self-play.opponents", "{random: 1}",
]  # fmt: skip
"""What sb3 can do as well: two trunks, heads that do not see one another, one seat that learns."""

ORIGINAL = [
    "--network.trunk", "[512, 512]", "--network.critic", "separate", "--network.heads", "mlp",
    "--network.head-layers", "[128, 128]",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timing:
    """Steps, the seconds they took, and where the time went."""

    steps: int
    seconds: float
    unit: str
    split: dict[str, float]

    @property
    def per_second(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0


def simulate(name: str, matches: int, seconds: float) -> Timing:
    """Random legal play for that long, counted in processor seconds spent in the game."""
    kind = registry.find(name)
    config = kind.config()
    if kind.runs_elsewhere(config):
        raise UserError(f"game '{name}' runs in processes of its own", "measure it with `pvp-ml bench train`")
    game = registry.build_here(kind, config, matches)
    try:
        return _simulate(game, players.make("random", game.spec), seconds, time.process_time)
    finally:
        game.close()


def _simulate(game: VecGame, player: Player, seconds: float, clock: Callable[[], float]) -> Timing:
    spec, m = game.spec, game.matches
    table, lineup = Table(game, {"player": player}), tuple(External("player") for _ in range(spec.seats))
    scenarios = [scenario.name for scenario in spec.scenarios]
    serials = count()

    def top_up(more: int) -> None:
        plans = [MatchPlan(n, n, lineup, scenarios[n % len(scenarios)]) for n in islice(serials, more)]
        table.queue(plans)

    top_up(2 * m)
    table.start()
    steps, playing, sampling, warm = 0, 0.0, 0.0, False
    while playing < seconds or not warm:
        before = clock()
        table.decide()
        decided = clock()
        game.step(table.actions, table.out)
        played = clock()
        table.settle()
        if ended := int(table.stopped.sum()):
            top_up(ended)
        if warm:
            sampling, playing, steps = sampling + decided - before, playing + played - decided, steps + m * spec.seats
        warm = True
    return Timing(steps, playing, "agent-steps per CPU-second", {"simulate": playing, "sample": sampling})


def learn(config: Config, rollouts: int) -> Timing:
    """The training loop without disk and views, in one process and those of its simulator, all of them counted."""
    from pvp_ml.run.store.run_store import RunStore
    from pvp_ml.run.tracking.tracker import Point, Tracker
    from pvp_ml.run.trainer import Run

    points: list[Point] = []

    class Keep:
        def write(self, point: Point) -> None:
            points.append(point)

        def close(self) -> None:
            pass

    single = config.model_copy(
        update={"run": config.run.model_copy(update={"shards": 1, "total_steps": 0, "name": "bench"})}
    )
    with tempfile.TemporaryDirectory() as folder:
        run = Run(single, RunStore(Path(folder), "bench"), Tracker({"keep": Keep()}))
        try:
            for i in range(WARM_UP + rollouts):
                if i == WARM_UP:
                    before = cpu_s()
                collected = run.collect()
                if collected is None:
                    raise UserError("a shard was lost while measuring", "see `pvp-ml doctor`")
                run.record(collected, run.learn())
            seconds = cpu_s() - before
        finally:
            run.close()
    measured = [point.values for point in points[WARM_UP:]]
    split = {
        part: sum(values.get(f"time/{part}_s", 0.0) for values in measured)
        for part in ("simulate", "infer", "sample", "learn", "wait")
    }
    rows = sum(values["ppo/rows"] for values in measured)
    return Timing(int(rows), seconds, "learned decisions per CPU-second", split)
