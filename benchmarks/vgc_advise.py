"""`pvp-ml advise vgc` on recorded positions: what an answer costs, whether it is searched, and how far seeds agree.

    python benchmarks/vgc_advise.py [POSITIONS] [SIMULATIONS] [SEEDS]

Two bots play battles with shipped teams; positions are spread over turns and seats. Each is asked once with the command
in a process of its own (CPU-seconds of all its processes, from start to end) and SEEDS times in this process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pvp_ml.games.play import Table
from pvp_ml.games.tooling import AdviceRequest
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.game import VgcGame, save_log
from pvp_ml.games.vgc.search.advise import advise
from pvp_ml.match import Bot, MatchPlan

BATTLES = 10  # of each its first two turns: the shortest battle has no third


def battles(folder: Path) -> list[Path]:
    """Input logs of some battles between bots."""
    game, found = VgcGame(VgcConfig(workers=1), 1), []
    game.listen(lambda log: found.append(save_log(log, folder).with_suffix(".input.log")))
    try:
        for seed in range(BATTLES):
            table = Table(game)
            table.queue([MatchPlan(seed, 100 + seed, (Bot("heuristics"), Bot("heuristics")))])
            table.start()
            while not table.is_empty:
                table.step()
    finally:
        game.close()
    return found


def cpu_s(words: list[str]) -> tuple[float, dict[str, Any]]:
    """CPU seconds of a command with all its children, and the JSON that it prints."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_utime + used.ru_stime, json.loads(text)


def main(positions: int = 20, simulations: int = 120, seeds: int = 3) -> dict[str, Any]:
    costs, spreads, shared, declined = [], [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        logs = battles(Path(folder))
        for number in range(positions):
            log = logs[number % len(logs)]
            seat, turn = 1 + number % 2, number // len(logs)
            words = ["--battle", str(log), "--turn", str(turn), "--seat", str(seat), "--simulations", str(simulations)]
            spent, first = cpu_s([sys.executable, "-m", "pvp_ml", "advise", "vgc", *words, "--json"])
            request = {"battle": log, "turn": turn, "seat": seat, "simulations": simulations}
            found = [first, *(advise(AdviceRequest(**request, seed=seed)).to_json() for seed in range(1, seeds))]
            costs.append(spent)
            declined += bool(first["declined"]) or not first["line"]
            chances = [one["win_chance"] for one in found]
            spreads.append(max(chances) - min(chances))
            shared.append(statistics.mean(overlap(first, other) for other in found[1:]))
    return {
        "date": datetime.now(UTC).date().isoformat(), "positions": positions, "simulations": simulations,
        "cpu_s_mean": round(statistics.mean(costs), 2), "cpu_s_max": round(max(costs), 2), "not_searched": declined,
        "win_chance_spread_mean": round(statistics.mean(spreads), 3), "win_chance_spread_max": round(max(spreads), 3),
        "shared_play_mean": round(statistics.mean(shared), 3), "shared_play_min": round(min(shared), 3),
    }  # fmt: skip


def overlap(one: dict[str, Any], other: dict[str, Any]) -> float:
    """How much of their play two answers share, 0 to 1."""
    chances = [{c["text"]: c["probability"] for c in found["choices"]} for found in (one, other)]
    return sum(min(chance, chances[1].get(text, 0.0)) for text, chance in chances[0].items())


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:])), indent=1))
