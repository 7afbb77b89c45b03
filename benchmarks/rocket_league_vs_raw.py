"""How much of the bare simulator's speed the game keeps: both in one process, in turns, in CPU-seconds.

    python benchmarks/rocket_league_vs_raw.py [--matches 128] [--mode 1v1] [--observation default] [--repeats 7]

The bare simulator gets what the game gives it (one tick, new controls, seven ticks; rows of the table by chance; a
kickoff every 15 s, when the game ends a match that nobody touches the ball in) and nothing is read from it. A ratio is
game / bare of one repeat, so that a neighbour's load hits both. Prints one JSON record.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import time

import numpy as np

from pvp_ml.games.rocket_league.bench import PLANS_AHEAD, RLGYM_LIKE, WARM_UP_STEPS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import assemble
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.games.rocket_league.simulator import simulator
from pvp_ml.match import Live, MatchPlan, StepBuffers

KICKOFF_STEPS = 225


class Game:
    """The game with choices by chance."""

    def __init__(self, config, matches):
        self.game, self.rng = RocketLeagueGame(config, matches), np.random.default_rng(0)
        self.spec = self.game.spec
        self.out = StepBuffers.allocate(self.spec, matches)
        self.lineup, self.serial = tuple(Live() for _ in range(self.spec.seats)), matches * PLANS_AHEAD
        self.game.queue([MatchPlan(i, i, self.lineup) for i in range(self.serial)])
        self.game.start(self.out)

    def step(self):
        """CPU-seconds of one step of all matches, the choosing left out."""
        chance = self.rng.random(self.out.mask.shape, np.float32)
        actions = np.where(self.out.mask, chance, -1.0).argmax(2)[:, :, None].astype(np.int32)
        actions[~self.out.acting] = -1
        began = time.process_time()
        self.game.step(actions, self.out)
        spent = time.process_time() - began
        ended = int((self.out.ended | self.out.truncated).sum())
        self.game.queue([MatchPlan(self.serial + i, self.serial + i, self.lineup) for i in range(ended)])
        self.serial += ended
        return spent


class Bare:
    """RocketSim alone."""

    def __init__(self, config, matches):
        parts = assemble(config)
        rs = simulator(parts.meshes)
        sizes = [len(team) for team in parts.spec.teams]
        arena = rs.ArenaConfig(memory_weight_mode=rs.MemoryWeightMode.HEAVY)
        self.arenas = [rs.Arena(rs.GameMode.SOCCAR, config=arena) for _ in range(matches)]
        teams = [team for team, size in zip((rs.Team.BLUE, rs.Team.ORANGE), sizes, strict=True) for _ in range(size)]
        self.cars = [[one.add_car(team) for team in teams] for one in self.arenas]
        names = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")
        self.controls = [
            rs.CarControls(
                **{name: bool(x) if i > 4 else float(x) for i, (name, x) in enumerate(zip(names, row, strict=True))}
            )
            for row in parts.actions.rows.tolist()
        ]
        self.rng, self.steps = np.random.default_rng(0), np.arange(matches) % KICKOFF_STEPS
        for seed, one in enumerate(self.arenas):
            one.reset_kickoff(seed)

    def step(self):
        """CPU-seconds of one step of all arenas, the choosing left out."""
        rows = self.rng.integers(0, len(self.controls), (len(self.arenas), len(self.cars[0]))).tolist()
        inputs = [[self.controls[row] for row in pair] for pair in rows]
        self.steps = (self.steps + 1) % KICKOFF_STEPS
        again = np.flatnonzero(self.steps == 0).tolist()
        began = time.process_time()
        for arena, cars, chosen in zip(self.arenas, self.cars, inputs, strict=True):
            arena.step(1)
            for car, control in zip(cars, chosen, strict=True):
                car.set_controls(control)
            arena.step(7)
        for match in again:
            self.arenas[match].reset_kickoff(match)
        return time.process_time() - began


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--matches", type=int, default=128)
    options.add_argument("--mode", default="1v1")
    options.add_argument("--observation", default="default")
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--steps", type=int, default=120, help="of all matches, per repeat and side")
    options.add_argument("--meshes", default="auto")
    chosen = options.parse_args()
    config = RocketLeagueConfig.model_validate(
        {**RLGYM_LIKE, "mode": chosen.mode, "observation": chosen.observation, "meshes": chosen.meshes}
    )
    sides = {"game": Game(config, chosen.matches), "bare": Bare(config, chosen.matches)}
    for side in sides.values():
        for _ in range(WARM_UP_STEPS):
            side.step()
    agents = chosen.steps * chosen.matches * sides["game"].spec.seats
    found = [
        {name: round(agents / sum(side.step() for _ in range(chosen.steps)), 1) for name, side in sides.items()}
        for _ in range(chosen.repeats)
    ]
    ratios = [round(pair["game"] / pair["bare"], 3) for pair in found]
    print(
        json.dumps(
            {
                "what": "the game and RocketSim alone, agent-steps per CPU-second, in turns in one process",
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
                "mode": chosen.mode,
                "matches": chosen.matches,
                "observation": chosen.observation,
                "meshes": dict(sides["game"].spec.parameters)["meshes"],
                "agent_steps_per_cpu_s": {name: [pair[name] for pair in found] for name in sides},
                "ratio": ratios,
                "median_ratio": statistics.median(ratios),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
