"""`pvp-ml model dial`: measure what handicaps cost a model, so that `--strength 1…100` means the same points a step."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pvp_ml.cli.model.command import find
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.bundle import read_bundle, require_fit
from pvp_ml.model.dial import StrengthMap, handicap_dial, map_path, write_map
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.selfplay.handicaps import HandicapStudy

STEPS = (1, 12, 23, 34, 45, 56, 67, 78, 89, 100)
"""Strengths at which --check measures again."""


def dial(model: str, *, matches: int = 100, check: bool = False, seed: int = 0, to: Path | None = None) -> int:
    """Rate a model at growing handicaps and keep the map beside its file.

    Where the game has a ladder, ratings are in the ladder's points; else in points around 1000.

    Args:
        model: a name from `pvp-ml model list`, or a file
        matches: played against each rung, or each neighbour, at each handicap
        check: afterwards rate ten strengths in other matches; exit code 1 where a stronger one rates lower
        seed: the same seed gives the same matches
        to: where the map goes; default: NAME.dial.json beside the model
    """
    path = find(model)
    bundle = read_bundle(path)
    kind = registry.find(bundle.metadata.game)
    settings = kind.config()
    spec = kind.spec(settings)
    require_fit(bundle, spec)
    if matches < 10:
        raise UserError(f"matches is {matches}", "play at least 10")
    rungs = {name: (find_contestant(name, spec, Path.cwd()), rating) for name, rating in kind.presentation.ladder}
    study, console = HandicapStudy(kind, settings, bundle, rungs, matches), Console(stderr=True)
    points = study.course(seed, lambda line: console.print(f"handicap {line}", highlight=False))
    scale = f"ladder of {kind.name}" if rungs else "among its own handicaps"
    found = StrengthMap(bundle.content_hash, kind.name, scale, datetime.now(UTC).date().isoformat(), points)
    write_map(to or map_path(path), found)
    _print(found)
    print(f"map: {to or map_path(path)}")
    if not check:
        return 0
    rated = study.rate([found.dial(step) for step in STEPS], seed + 1, lambda line: console.print(f"strength {line}"))
    table = Table("strength", "rating", "95 % interval", "meant")
    for step, strength in zip(STEPS, rated, strict=True):
        table.add_row(str(step), f"{strength.rating:.0f}", f"{strength.low:.0f} – {strength.high:.0f}",
                      f"{found.rating(step):.0f}")  # fmt: skip
    Console().print(table)
    rises = all(a.rating < b.rating for a, b in itertools.pairwise(rated))
    print(
        f"{'rises' if rises else 'does not rise'} at every step; range {rated[-1].rating - rated[0].rating:.0f} points"
    )
    return 0 if rises else 1


def _print(found: StrengthMap) -> None:
    table = Table("handicap", "rating", "95 % interval", "temperature", "delay", "mistakes", title=found.scale)
    for point in found.points:
        parts = handicap_dial(point.handicap)
        table.add_row(f"{point.handicap:g}", f"{point.rating:.0f}", f"{point.low:.0f} – {point.high:.0f}",
                      f"{parts.temperature:g}", f"{parts.delay:g}", f"{parts.mistakes:.0%}")  # fmt: skip
    Console().print(table)
