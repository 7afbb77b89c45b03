"""Turn a run's model into one that ships: a card from evaluations that were made before.

    pvp-ml eval --model experiments/mine/model.zip --against heuristics --matches 1000 --greedy --json > shipped.json
    python benchmarks/ship_vgc_model.py experiments/mine/model.zip src/pvp_ml/models/GeneralistVgc.zip history.md \
        'shipped teams=shipped.json' 'teams kept back=unseen.json'

The history is prose: how it was trained. The first evaluation also gives the table of teams.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pvp_ml.model.bundle import MatchResult, read_bundle, write_bundle

TEAM = "with "
LIMITS = """## Limits

It has only ever met simulated opponents. It knows the Pokémon, moves and items of its layout; later ones are strangers
to it. Against people nobody has measured it."""


def row(label: str, cell: dict[str, Any]) -> str:
    """One line of a table."""
    counts = f"{cell['matches']} | {cell['wins']} | {cell['losses']}"
    return f"| {label} | {counts} | {cell['score']:.1%} | {cell['low']:.1%}–{cell['high']:.1%} |"


def result(cell: dict[str, Any], today: str) -> MatchResult:
    """The line that a bundle carries."""
    counts = {name: cell[name] for name in ("matches", "wins", "ties", "losses", "voids", "score", "low", "high")}
    return MatchResult(opponent=cell["second"], date=today, **counts)


def main(source: Path, target: Path, history: Path, cells: dict[str, dict[str, Any]]) -> None:
    """Write the card and the file."""
    bundle, today = read_bundle(source), datetime.now(UTC).date().isoformat()
    header = ["| {} | battles | won | lost | score | 95 % interval |", "|---|--:|--:|--:|--:|---|"]
    lines = [
        f"# {target.stem}", "", history.read_text("utf-8").strip(), "",
        f"## Against {next(iter(cells.values()))['second']}, {today}", "",
        "Preferred choices, seats swapped, seeds paired, both players draw from the same teams.", "",
        header[0].format("teams"), header[1], *(row(label, cell) for label, cell in cells.items()), "",
        header[0].format("its team"), header[1],
    ]  # fmt: skip
    first = next(iter(cells.values()))
    lines += [row(t["label"].removeprefix(TEAM), t) for t in first["by_tag"] if t["label"].startswith(TEAM)]
    card = "\n".join([*lines, "", LIMITS, ""])
    metadata = bundle.metadata.model_copy(update={"results": tuple(result(cell, today) for cell in cells.values())})
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(target, replace(bundle, metadata=metadata, card=card))
    print(card)


def read(word: str) -> tuple[str, dict[str, Any]]:
    """`label=file` → the label and the result of `pvp-ml eval --json` in the file."""
    label, _, file = word.rpartition("=")
    (result,) = json.loads(Path(file).read_text("utf-8"))["results"]
    return label, result


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]), dict(read(word) for word in sys.argv[4:]))
