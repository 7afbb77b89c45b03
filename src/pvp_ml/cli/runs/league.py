"""`pvp-ml league`: who is in a run's league and how they fare; ratings among any models."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import App, Parameter
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pvp_ml.cli.evaluate import game_of
from pvp_ml.data_files import RUNS
from pvp_ml.errors import UserError, visible
from pvp_ml.games import registry
from pvp_ml.match import MAIN
from pvp_ml.run.store.checkpoint_facts import read_league
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.selfplay.league import League
from pvp_ml.selfplay.tally import Tally
from pvp_ml.selfplay.tournament import Tournament, pairs, play_tournament, rate_pairs

if TYPE_CHECKING:
    from pvp_ml.cluster.eval_queue import EvalQueue
    from pvp_ml.cluster.ray_cluster import RayCluster
    from pvp_ml.games.registry import GameConfig, GameType

app = App(name="league", help="Show a run's league; rate models against each other.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]


@app.command
def show(
    run: str, *, directory: str = RUNS, png: str = "",
    as_csv: Annotated[bool, Parameter(name="--csv", negative="")] = False, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Members, ratings and results of a run's league.

    Args:
        run: the run's name
        directory: where runs are kept
        png: also save the payoff table as a picture
        as_csv: print the payoff table as CSV
        as_json: print one JSON object
    """
    league = read_league(Path(directory) / run)
    players = [MAIN, *(m.key for m in league.members), *(k for k in league.payoff if ":" in k)]
    players = list(dict.fromkeys(players))
    labels = {m.key: m.name for m in league.members}
    names = [labels.get(player, player) for player in players]
    rates = _rates(league, players)
    if as_json:
        print(json.dumps(league.to_json()))
        return
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(["", *names])
        writer.writerows(
            [name, *("" if np.isnan(r) else f"{r:.4f}" for r in row)] for name, row in zip(names, rates, strict=True)
        )
        return
    _print_members(league, players, names)
    if png:
        from pvp_ml.cli.runs.plots import heat_map

        heat_map(Path(png), names, rates, f"league of {run}")
        print(f"picture: {png}")


@app.command
def rate(
    *, models: Annotated[list[str], Parameter(consume_multiple=True)], matches: int = 1000, game: str = "",
    seed: int = 0, png: str = "", distributed: bool = False, ray_address: str = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Play everybody against everybody and fit ratings (Bradley–Terry, 95 % intervals), anchored at a bot.

    Args:
        models: model files, bots or scripted players
        matches: per pair
        game: the game, if no model determines it
        seed: the same seed gives the same matches
        png: also save the payoff table as a picture
        distributed: play the pairs on a Ray cluster; the result is the same
        ray_address: that cluster (`auto`, HOST:PORT); default: $RAY_ADDRESS, else all cores here
        as_json: print one JSON object
    """
    here = Path.cwd()
    kind = registry.find(game or next((g for g in map(_game_or_none, models) if g), "") or game_of(models[0], here))
    settings = kind.config()
    contestants = [find_contestant(name, kind.spec(settings), here) for name in models]
    console = Console(stderr=True, quiet=as_json)

    def tell(pair: str, tally: Tally) -> None:
        console.print(f"{pair}: {tally.score:.1%} of {tally.matches}", highlight=False)

    if distributed or ray_address:
        queue = eval_queue(kind, settings, models, pairs(contestants), matches, seed)
        with contextlib.closing(_cluster(ray_address)) as cluster:
            result = rate_pairs(contestants, (report.total for report in queue.play(cluster)), tell)
    else:
        result = play_tournament(lambda rows: kind.build(settings, rows), contestants, matches, seed, tell)
    if as_json:
        print(json.dumps(result.to_json()))
    else:
        _print(result)
    if png:
        from pvp_ml.cli.runs.plots import heat_map

        heat_map(Path(png), result.names, result.rates(), f"{kind.name}, {matches} matches per pair")


def _print_members(league: League, players: list[str], names: list[str]) -> None:
    table = Table("player", "kind", "joined at", "quality", "rating", "±", "win rate of main", box=box.SIMPLE_HEAD)
    kinds = {m.key: m for m in league.members}
    for player, name in zip(players, names, strict=True):
        belief, member, score = league.belief(player), kinds.get(player), league.score(MAIN, player)
        what = member.kind if member else "trainee" if player == MAIN else "scripted"
        joined, quality = (f"{member.steps:,}", f"{member.quality:.3f}") if member else ("", "")
        made = f"{score.points / score.matches:.0%} of {score.matches}" if score.matches else ""
        spread = f"{2 * belief.sigma:.1f}" if belief.sigma else ""
        table.add_row(escape(visible(name)), what, joined, quality, f"{belief.mu:.1f}", spread, made)
    Console().print(table)


def eval_queue(
    kind: GameType, settings: GameConfig, models: list[str], meetings: list[tuple[int, int]], matches: int, seed: int
) -> EvalQueue:
    """The meetings of a tournament as tasks."""
    from pvp_ml.cluster.eval_queue import EvalQueue

    queue = EvalQueue(kind, settings, Path.cwd())
    sides = [queue.side(name) for name in models]
    for i, j in meetings:
        queue.add(sides[i], sides[j], matches, seed)
    return queue


def _cluster(address: str) -> RayCluster:
    from pvp_ml.cluster.ray_cluster import connect
    from pvp_ml.run.machine import cores

    return connect(address, cores())


def _game_or_none(model: str) -> str:
    try:
        return game_of(model, Path.cwd())
    except UserError:
        return ""


def _rates(league: League, players: list[str]) -> np.ndarray:
    scores = [[league.score(a, b) for b in players] for a in players]
    return np.array([[s.points / s.matches if s.matches else np.nan for s in row] for row in scores])


def _print(result: Tournament) -> None:
    table = Table("player", "rating", "95 % interval", "matches", box=box.SIMPLE_HEAD)
    for s in result.strengths:
        table.add_row(escape(visible(s.name)), f"{s.rating:.0f}", f"{s.low:.0f} – {s.high:.0f}", f"{s.matches:.0f}")
    Console().print(table)
