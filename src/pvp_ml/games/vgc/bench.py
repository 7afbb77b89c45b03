"""How fast the game is: decisions per CPU-second of the whole process tree, against poke-env over a websocket."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.games.process_tree import tree_cpu_s
from pvp_ml.games.vgc.config import SIMULATOR, VgcConfig, make_spec
from pvp_ml.games.vgc.game import VgcGame
from pvp_ml.games.vgc.live.showdown_server import local_server
from pvp_ml.games.vgc.teams import shipped
from pvp_ml.match import IDLE, RESTING, External, MatchPlan, StepBuffers

MATCHES_PER_WORKER = 64
WARM_UP = 10_000  # decisions a worker, for the JIT
PORTION = 250  # decisions between two looks at the clock
BASELINE_BATTLES = 80  # measured, after as many to warm up
BASELINE_CONCURRENT = 8
BASELINE_S = 1200.0
BASELINE_PYTHON = "PVP_ML_POKE_ENV_PYTHON"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Speed:
    """One measurement. `cpu_s` counts Python and all its children."""

    what: str
    workers: int
    decisions: float
    battles: float
    wall_s: float
    cpu_s: float
    rss_bytes: int

    def to_json(self) -> dict[str, Any]:
        """With the rates that people quote."""
        return {
            **asdict(self),
            "decisions_per_cpu_s": round(self.decisions / self.cpu_s, 1),
            "decisions_per_s": round(self.decisions / self.wall_s, 1),
            "cpu_ms_per_battle": round(1000 * self.cpu_s / self.battles, 2) if self.battles else None,
        }


class _Driver:
    """Endless random legal play, counting decisions and battles."""

    def __init__(self, game: VgcGame, seed: int) -> None:
        self.game, self.decisions, self.battles = game, 0, 0
        self._rng, self._legality = np.random.default_rng(seed), Legality(game.spec)
        self._out = StepBuffers.allocate(game.spec, game.matches)
        self._next = 1
        self._refill(2 * game.matches)
        game.start()

    def _refill(self, count: int) -> None:
        lineup = (External("a"), External("b"))
        self.game.queue([MatchPlan(self._next + i, self._next + i, lineup) for i in range(count)])
        self._next += count

    def run(self, decisions: int) -> None:
        """Play at least that many decisions."""
        goal, out = self.decisions + decisions, self._out
        while self.decisions < goal:
            count = self.game.recv(max(1, self.game.matches // 4), 30.0, out)
            if not count:
                raise UserError("vgc: no answer in 30 s")
            stopped = int((out.ended[:count] | out.truncated[:count]).sum())
            self.battles += stopped
            self._refill(stopped + int((out.faults[:count] != 0).sum()))
            live = np.flatnonzero(out.serial[:count] != RESTING)
            actions = np.full((len(live), 2, 3), IDLE, np.int32)
            rows, seats = np.nonzero(out.acting[live])
            actions[rows, seats] = self._legality.choose(out.mask[live[rows], seats], self._rng.random((len(rows), 3)))
            self.decisions += len(rows)
            self.game.send(out.match[live].copy(), actions)


def measure(workers: int, seconds: float, config: VgcConfig, warm_up: int = WARM_UP, matches: int = 0) -> Speed:
    """Random play with full observations in `workers` processes, for `seconds` of CPU time of all together.

    `warm_up`: decisions before that, for each worker. `matches`: side by side; 0 = 64 for each worker.
    """
    game = VgcGame(config.model_copy(update={"workers": workers}), matches or MATCHES_PER_WORKER * workers)
    try:
        driver = _Driver(game, 1)
        driver.run(warm_up * workers)
        before = (driver.decisions, driver.battles, time.monotonic(), time.process_time(), game.stats())
        spent = 0.0
        while spent < seconds:
            driver.run(PORTION)
            after = game.stats()
            node = sum(a["cpu_s"] - b["cpu_s"] for a, b in zip(after, before[4], strict=True))
            spent = time.process_time() - before[3] + node
        wall = time.monotonic() - before[2]
    finally:
        game.close()
    memory = max(a["rss_bytes"] for a in after)
    return Speed("pvp-ml", workers, driver.decisions - before[0], driver.battles - before[1], wall, spent, memory)


def baseline(python: str, config: VgcConfig, battles: int, decisions_per_battle: float) -> Speed:
    """poke-env's random players on a local Showdown server: same format, same teams, no observation at all.

    Decisions are counted as battles × the decisions per battle of our own random play, because poke-env repeats
    rejected choices and so counts some of them more than once.
    """
    with local_server() as (process, port):
        request = {
            "port": port, "format": config.format, "teams": list(shipped()[config.format].values()),
            "warm_up": battles, "battles": battles, "concurrent": BASELINE_CONCURRENT,
        }  # fmt: skip
        script = Path(__file__).parent / "live" / "poke_env_client.py"
        client = subprocess.Popen(  # noqa: S603 - our own script
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        deadline = threading.Timer(BASELINE_S, client.kill)  # then the next line that is read is empty
        deadline.start()
        try:
            assert client.stdin is not None and client.stdout is not None
            client.stdin.write(json.dumps(request) + "\n")
            client.stdin.close()
            _expect(client.stdout.readline(), "warm")
            began, before = time.monotonic(), tree_cpu_s(process.pid)
            answer = json.loads(_expect(client.stdout.readline(), "{"))
            wall, server = time.monotonic() - began, tree_cpu_s(process.pid) - before
        finally:
            deadline.cancel()
            client.kill()
            client.wait()
            if client.stdout is not None:
                client.stdout.close()
    done = answer["battles"]
    return Speed("poke-env websocket", 0, done * decisions_per_battle, done, wall, server + answer["cpu_s"], 0)


def _expect(line: str, start: str) -> str:
    if not line.startswith(start):
        raise UserError(f"the poke-env baseline said '{line.strip()[:200]}'", f"is poke-env in {BASELINE_PYTHON}?")
    return line


def bench(
    config: VgcConfig, progress: Say = print, matches: int = 0, seconds: float = 20.0, repeats: int = 1
) -> dict[str, Any]:
    """One and two workers, and the baseline between them when its Python is named; a JSON object with a ratio.

    `matches` side by side (0 = 64 a worker), `seconds` of CPU time a measurement; the median of `repeats` counts.
    """
    python = os.environ.get(BASELINE_PYTHON)
    speeds = [_shown(_median(1, seconds, config, matches, repeats), progress)]
    per_battle = speeds[0].decisions / max(speeds[0].battles, 1)
    ratio = None
    if python and Path("/proc").is_dir():
        other = _shown(baseline(python, config, BASELINE_BATTLES, per_battle), progress)
        ratio = round(speeds[0].decisions / speeds[0].cpu_s / (other.decisions / other.cpu_s), 2)
        progress(f"{ratio} × the decisions per CPU-second of poke-env over a websocket")
        speeds.append(other)
    else:
        progress(f"no baseline: set {BASELINE_PYTHON} to a Python that has poke-env 0.16.1 (Linux)")
    speeds.append(_shown(_median(2, seconds, config, matches, repeats), progress))
    return {
        "game": "vgc", "format": config.format, "simulator": SIMULATOR, "observation_size": make_spec(config).obs_size,
        "decisions_per_battle": round(per_battle, 2), "ratio_to_poke_env": ratio,
        "machine": {"cores": os.cpu_count(), "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
                    "python": platform.python_version(), "system": platform.system()},
        "speeds": [speed.to_json() for speed in speeds],
    }  # fmt: skip


def _median(workers: int, seconds: float, config: VgcConfig, matches: int, repeats: int) -> Speed:
    speeds = [measure(workers, seconds, config, matches=matches) for _ in range(repeats)]
    return sorted(speeds, key=lambda speed: speed.decisions / speed.cpu_s)[repeats // 2]


def _shown(speed: Speed, progress: Say) -> Speed:
    facts = speed.to_json()
    name = f"{speed.what}, {speed.workers} worker(s)" if speed.workers else speed.what
    memory = f", {speed.rss_bytes >> 20} MB a worker" if speed.rss_bytes else ""
    progress(
        f"{name}: {facts['decisions_per_cpu_s']:.0f} decisions per CPU-second, "
        f"{facts['decisions_per_s']:.0f} a second, {facts['cpu_ms_per_battle']} CPU-ms a battle{memory}"
    )
    return speed
