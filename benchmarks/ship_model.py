"""Turn a run's model into one that ships: 2,000 fights against the bot, every scenario apart, and a card.

    python benchmarks/ship_model.py experiments/GeneralizedNh/model.zip src/pvp_ml/models/GeneralizedNh.zip history.md

The history is prose: how it was trained. The figures come from the fights played here.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pvp_ml.games import registry
from pvp_ml.model.bundle import read_bundle, write_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.plans import stream_seed
from pvp_ml.selfplay.tally import Evaluation

FIGHTS, FIGHTS_APART = 2000, 300
SEED = stream_seed("benchmark", 1)  # fights that no training and no other measurement plays
LEFT_OUT = ("default", "food-race")  # a race for food ends in ties: it tells nothing of strength
LIMITS = """## Limits

It has only ever fought simulated opponents, at the tick, without lag. It knows one opponent at a time, seven builds and
the items of the game's description, nothing else. Against people nobody has measured it."""


def fights(model: Contestant, matches: int, scenarios: list[str]) -> Evaluation:
    """Against the game's bot, seats swapped, seeds paired."""
    kind = registry.find("nh")
    game = kind.build(kind.config(), 128)
    return evaluate(game, model, Contestant("nh-bot", bot="nh-bot"), matches, SEED, scenarios, None, kind.figures)


def main(source: Path, target: Path, history: Path) -> None:
    """Measure, write the card, write the file."""
    bundle, today = read_bundle(source), datetime.now(UTC).date().isoformat()
    kind = registry.find("nh")
    names = [s.name for s in kind.spec(kind.config()).scenarios if s.name not in LEFT_OUT]
    model = Contestant.of_bundle(target.stem, bundle)
    whole, apart = fights(model, FIGHTS, []), fights(model, FIGHTS_APART * len(names), names)
    lines = [
        f"# {target.stem}", "", history.read_text().strip(), "", f"## Against nh-bot, {today}", "",
        "Sampled play, seats swapped, seeds paired, `python benchmarks/ship_model.py`.", "",
        "| scenario | fights | won | lost | score | 95 % interval |", "|---|--:|--:|--:|--:|---|",
    ]  # fmt: skip
    for label, tally in (("all builds, gear and fight types", whole.total), *((t.label, t) for t in apart.by_scenario)):
        low, high = tally.interval
        counts = f"{tally.matches} | {tally.wins} | {tally.losses}"
        lines.append(f"| {label} | {counts} | {tally.score:.1%} | {low:.1%}–{high:.1%} |")
    mine, bots = whole.figure_values[whole.total.label]
    lines += ["", "| figure | it | nh-bot |", "|---|--:|--:|"]
    lines += [
        f"| {f.name.replace('_', ' ')}, {f.unit} | {mine.get(f.name, 0):.3g} | {bots.get(f.name, 0):.3g} |"
        for f in whole.figures
    ]
    card = "\n".join([*lines, "", LIMITS, ""])
    metadata = bundle.metadata.model_copy(update={"results": (whole.to_result(today),)})
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(target, replace(bundle, metadata=metadata, card=card))
    print(card)


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]))
