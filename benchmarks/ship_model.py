"""Turn a run's model into one that ships: a card with figures from evaluations, and the results in the file.

    pvp-ml eval --model experiments/mine/model.zip --against heuristics --matches 1000 --json > shipped.json
    python benchmarks/ship_model.py experiments/mine/model.zip src/pvp_ml/models/Mine.zip history.md \
        'shipped teams=shipped.json' 'teams kept back=unseen.json'

The history is prose: how it was trained. Each `LABEL=FILE` is a table of the card, a row for each opponent in the file;
a ladder's rating (`eval --ladder --json`) becomes a line. Without evaluations 2,000 matches against the game's first
bot are played here, and 300 for each scenario.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pvp_ml.games import registry
from pvp_ml.model.bundle import Bundle, MatchResult, read_bundle, write_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.plans import stream_seed

MATCHES, MATCHES_APART = 2000, 300
SEED = stream_seed("benchmark", 1)  # matches that no training and no other measurement plays
LEFT_OUT = ("default", "food-race")  # a race for food ends in ties: it tells nothing of strength
PLAYED = "Seats swapped, seeds paired, `python benchmarks/ship_model.py`."
HEADER = "| {} | matches | won | tied | lost | score | 95 % interval |\n|---|--:|--:|--:|--:|--:|---|"
COUNTS = ("matches", "wins", "ties", "losses", "voids", "score", "low", "high")
LIMITS = {
    "connect4": "It looks no move ahead: it knows positions, not lines.",
    "dharok": "It has only ever fought itself, at the tick, without lag, in the game's own loadout.",
    "nh": "It has only ever fought simulated opponents, at the tick, without lag. It knows one opponent at a time, "
    "seven builds and\nthe items of the game's description, nothing else.",
    "vgc": "It has only ever met simulated opponents. It knows the Pokémon, moves and items of its layout; later ones "
    "are strangers\nto it.",
    "rocket_league": "It has only ever met simulated cars, at 15 decisions a second, in the mode of its training.",
}

Cell = dict[str, Any]


def row(label: str, cell: Cell) -> str:
    """One line of a table."""
    counts = " | ".join(str(cell[name]) for name in ("matches", "wins", "ties", "losses"))
    return f"| {label} | {counts} | {cell['score']:.1%} | {cell['low']:.1%}–{cell['high']:.1%} |"


def table(label: str, cells: list[Cell]) -> list[str]:
    """A heading, a row for each opponent, the parts of a single opponent, figures, and a rating if there is one."""
    met = [cell for cell in cells if "second" in cell]
    lines = ["", f"## {label}", "", HEADER.format("against"), *(row(cell["second"], cell) for cell in met)]
    parts = [part for part in (*met[0]["by_scenario"], *met[0]["by_tag"]) if part["label"] != met[0]["label"]]
    if len(met) == 1 and len(parts) > 1:
        lines += ["", HEADER.format("of these"), *(row(part["label"], part) for part in parts)]
    figures = [cell["figures"].get(cell["label"], {}).get("first", {}) for cell in met]
    if any(figures):
        names = list(dict.fromkeys(name for values in figures for name in values))
        lines += [
            "",
            "| its figures | " + " | ".join(cell["second"] for cell in met) + " |",
            "|---" * (len(met) + 1) + "|",
        ]
        for name in names:
            values = " | ".join(f"{v[name]:.3g}" if v.get(name) is not None else "–" for v in figures)
            lines.append(f"| {name.replace('_', ' ')} | {values} |")
    for cell in cells:
        if "rating" in cell:
            rungs = ", ".join(f"{name} {points:.0f}" for name, points in cell["ladder"].items())
            lines += ["", f"Rating {cell['rating']:.0f} ({cell['low']:.0f}–{cell['high']:.0f}); rungs: {rungs}."]
    return lines


def play(name: str, bundle: Bundle) -> dict[str, list[Cell]]:
    """Matches against the game's first bot: everything that its default draws, and each scenario apart."""
    kind = registry.find(bundle.metadata.game)
    spec = kind.spec(kind.config())
    scenarios = [s.name for s in spec.scenarios if s.name not in LEFT_OUT]
    sides = Contestant.of_bundle(name, bundle), Contestant(spec.bots[0], bot=spec.bots[0])
    tables = {}
    for label, matches, chosen in (
        (f"Against {spec.bots[0]}", MATCHES, []),
        ("Scenario by scenario", MATCHES_APART * len(scenarios), scenarios),
    ):
        game = kind.build(kind.config(), 128)
        report = evaluate(game, *sides, matches, SEED, chosen, None, kind.presentation.figures)
        game.close()
        tables[label] = [report.to_json()]
    return tables


def main(source: Path, target: Path, history: Path, tables: dict[str, list[Cell]]) -> None:
    """Write the card and the file."""
    bundle, today = read_bundle(source), datetime.now(UTC).date().isoformat()
    tables = tables or play(target.stem, bundle)
    lines = [f"# {target.stem}", "", history.read_text("utf-8").strip(), "", f"{PLAYED[:-1]}, {today}."]
    for label, cells in tables.items():
        lines += table(label, cells)
    limits = LIMITS.get(bundle.metadata.game, "It has only ever met simulated opponents.")
    card = "\n".join([*lines, "", "## Limits", "", f"{limits} Against people nobody has measured it.", ""])
    met = [cell for cells in tables.values() for cell in cells if "second" in cell]
    results = tuple(MatchResult(opponent=c["second"], date=today, **{name: c[name] for name in COUNTS}) for c in met)
    metadata = bundle.metadata.model_copy(update={"results": results})
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(target, replace(bundle, metadata=metadata, card=card))
    print(card)


def read(word: str) -> tuple[str, list[Cell]]:
    """`label=file` → the label and the evaluations of `eval --json`, the ladder's rating last if there is one."""
    label, _, file = word.rpartition("=")
    found = json.loads(Path(file).read_text("utf-8"))
    return label, [*found["results"], *([found["rating"]] if "rating" in found else [])]


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]), dict(read(word) for word in sys.argv[4:]))
