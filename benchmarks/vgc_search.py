"""How strong the search is: battles of cells that a record keeps, so that the same command goes on where it stopped.

    python benchmarks/vgc_search.py TEAMS MINUTES CELL=BATTLES … [--model MODEL] [--record FILE]

A cell is OPPONENT:SIMULATIONS, such as heuristics:100 or policy:48 (the model alone). TEAMS is a file that both
players draw from; open sheets, mixed strategies are drawn from. Battles come in portions, each with a seed of its own;
each portion is a line of the record. Without MINUTES to spend (0) it only prints what the record has.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.game import VgcGame
from pvp_ml.games.vgc.search.player import SearchPlayer, make_search
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.tally import wilson

RECORD = Path(__file__).parent / "records" / "vgc_search.jsonl"
PORTION = 40
MATCHES = 4  # side by side; a search decides one after the other


def read(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text("utf-8").splitlines()] if record.exists() else []


def key_of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["model"], row["teams"], row["cell"]


def portion(config: VgcConfig, model: str, cell: str, seed: int, player: SearchPlayer | None) -> dict[str, Any]:
    """Play one portion and say what came of it; `player` is the search, None lets the model play alone."""
    opponent = cell.partition(":")[0]
    game = VgcGame(config, MATCHES)
    try:
        rival = find_contestant(model if opponent == "policy" else opponent, game.spec, Path.cwd())
        us = find_contestant(model, game.spec, Path.cwd())
        if player is not None:
            us = Contestant("search", make=lambda spec: player)
        before = (player.thought, player.declined, player.cpu_s()) if player is not None else (0, 0, 0.0)
        began, spent = time.monotonic(), time.process_time()
        found = evaluate(game, us, rival, PORTION, seed).total
        row: dict[str, Any] = {"seed": seed, "wins": found.wins, "ties": found.ties, "losses": found.losses,
                               "voids": found.voids, "wall_s": round(time.monotonic() - began, 1)}  # fmt: skip
        if player is not None:
            cpu = player.cpu_s() - before[2] + time.process_time() - spent
            row |= {"decisions": player.thought - before[0], "declined": player.declined - before[1],
                    "cpu_s": round(cpu, 1)}  # fmt: skip
        return row
    finally:
        game.close()


def play(options: argparse.Namespace, wanted: dict[str, int], rows: list[dict[str, Any]]) -> None:
    config = VgcConfig(teams=(options.teams,), workers=1, privileged=False, stall_s=120.0)
    until = time.monotonic() + 60.0 * options.minutes
    label = Path(options.teams).parent.name + "/" + Path(options.teams).stem
    for cell, battles in wanted.items():
        simulations = int(cell.partition(":")[2] or 0)
        name = f"{options.model}?simulations={simulations}{options.settings}"
        player = None
        if simulations:
            from pvp_ml.games.vgc.config import make_spec

            player = make_search(name, make_spec(config))
        done = {row["seed"] for row in rows if key_of(row) == (options.model, label, cell + options.settings)}
        for seed in range(battles // PORTION):
            if seed in done:
                continue
            if time.monotonic() > until:
                return
            row = {"model": options.model, "teams": label, "cell": cell + options.settings,
                   **portion(config, options.model, cell, seed, player),
                   "date": datetime.now(UTC).date().isoformat()}  # fmt: skip
            rows.append(row)
            with options.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
        if player is not None:
            player.close()


def summary(rows: list[dict[str, Any]]) -> str:
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[key_of(row)].append(row)
    lines = ["| model | teams | cell | battles | score | 95 % | CPU-ms a decision |", "|---|---|---|--:|--:|---|--:|"]
    for (model, teams, cell), parts in sorted(cells.items()):
        played = sum(part["wins"] + part["ties"] + part["losses"] for part in parts)
        points = sum(part["wins"] + part["ties"] / 2 for part in parts)
        low, high = wilson(points, played)
        decisions = sum(part.get("decisions", 0) for part in parts)
        cost = f"{1000 * sum(part['cpu_s'] for part in parts) / decisions:.0f}" if decisions else "–"
        lines.append(f"| {Path(model).stem} | {teams} | {cell} | {played} | {points / max(played, 1):.1%} | "
                     f"{low:.1%}–{high:.1%} | {cost} |")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("teams")
    parser.add_argument("minutes", type=float)
    parser.add_argument("cells", nargs="*", help="OPPONENT:SIMULATIONS=BATTLES")
    parser.add_argument("--model", default="GeneralistVgc")
    parser.add_argument("--settings", default="", help="more of the search's settings, such as &blend=0.5")
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    recorded = read(given.record)
    play(given, {cell: int(count) for cell, _, count in (word.partition("=") for word in given.cells)}, recorded)
    print(summary(recorded))
