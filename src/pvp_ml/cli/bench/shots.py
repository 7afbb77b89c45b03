"""`pvp-ml bench shots`: how many shots of training packs a model turns into goals and saves, beside scripted bots."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from pvp_ml.cli.bench.command import AsJson, Flags
from pvp_ml.cli.evaluate import game_settings
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.selfplay.tally import wilson


def shots(
    model: str, *flags: Flags, against: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    count: Annotated[int, Parameter(name="--shots")] = 0, greedy: bool = False, by_pack: bool = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Shots of training packs, alone on the field: the share that succeeds, with 95 % intervals.

    A striker's shot succeeds when it is a goal within its time, a goalie's when no goal is conceded in it. The game's
    settings are flags too, such as --packs FOLDER.

    Args:
        model: a model file or the name of a bot
        against: bots or models to compare with; default: the scripted bots
        count: shots to play, evenly spread over the packs; 0 = all
        greedy: models take their most likely choice instead of sampling
        by_pack: a line for every pack, not only for strikers and goalies
        as_json: print one JSON object: `players` has an entry per player, with its packs
    """
    kind = next((kind for kind in registry.every() if kind.tooling.shots is not None), None)
    if kind is None or kind.tooling.shots is None:
        raise UserError("no installed game has training packs", "see `pvp-ml game list`")
    course = kind.tooling.shots(game_settings(kind, flags), count)
    names = [model, *(course.baselines if against is None else against)]
    reports = []
    for name in dict.fromkeys(names):
        print(f"{name}: playing the shots …", file=sys.stderr, flush=True)
        player = find_contestant(name, course.spec, Path.cwd(), greedy)
        done = course.attempt(player.bot, player.make)
        reports.append(_report(player, done.shots, done.success.tolist()))
    if as_json:
        print(json.dumps({"players": reports}))
    else:
        _show(reports, by_pack)


def _report(player: Contestant, played: tuple[Any, ...], success: list[bool]) -> dict[str, Any]:
    """Counts for all, each kind and each pack."""
    groups: dict[str, dict[str, list[bool]]] = {"all": {}, "kind": {}, "pack": {}}
    for shot, good in zip(played, success, strict=True):
        for group, label in (("all", "all"), ("kind", shot.kind), ("pack", shot.pack)):
            groups[group].setdefault(label, []).append(good)
    return {
        "player": player.name,
        **{group: {label: _share(values) for label, values in parts.items()} for group, parts in groups.items()},
    }


def _share(values: list[bool]) -> dict[str, float]:
    low, high = wilson(sum(values), len(values))
    return {
        "shots": len(values),
        "successes": sum(values),
        "share": sum(values) / len(values),
        "low": low,
        "high": high,
    }


def _lines(reports: list[dict[str, Any]], by_pack: bool) -> Iterator[tuple[str, str]]:
    for group in ("all", "kind", *(["pack"] if by_pack else [])):
        for label in reports[0][group]:
            yield group, label


def _show(reports: list[dict[str, Any]], by_pack: bool) -> None:
    if not reports:
        raise UserError("nobody played")
    table = Table("", "shots", *(r["player"] for r in reports), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for group, label in _lines(reports, by_pack):
        cells = [r[group][label] for r in reports]
        shares = [f"{c['share']:.1%} ({c['low']:.1%}–{c['high']:.1%})" for c in cells]
        table.add_row(label, str(cells[0]["shots"]), *shares)
    Console().print(table)
