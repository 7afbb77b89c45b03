"""`pvp-ml eval`: matches that only measure. No torch."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich import box
from rich import progress as bars
from rich.console import Console
from rich.table import Column, Table

from pvp_ml import data_files, players
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.model.bundle import read_metadata
from pvp_ml.run.config.flags import options_of, read_flags
from pvp_ml.run.config.validate import read_settings
from pvp_ml.selfplay.dial import read_dial, with_strength
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.selfplay.evaluate import evaluate as play
from pvp_ml.selfplay.tally import TABLE_HEADER, Evaluation
from pvp_ml.selfplay.tournament import reference_rating
from pvp_ml.serve.remote_player import PREFIX, RemotePlayer
from pvp_ml.spec import Figure, GameSpec

EXTERNAL = "external:"
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output:
    """What is measured and how the results are shown.

    Attributes:
        json: print one JSON object and nothing else: `results` has an entry per opponent
        actions: also show how often each choice was made, and the game's signals
        plot: save a chart of the scores and their intervals to this file (.png, .svg, .pdf)
        ladder: play every bot of the game's ladder and fit a rating (Bradley–Terry, 95 % interval)
        strength: hold the model back to this strength, 1…100, by its measured map; 0 = as it is
    """

    json: Annotated[bool, Parameter(negative="")] = False
    actions: Annotated[bool, Parameter(negative="")] = False
    plot: Path | None = None
    ladder: Annotated[bool, Parameter(negative="")] = False
    strength: int = 0


_PLAIN = Output()


def evaluate(
    *flags: Flags,
    model: Annotated[str, Parameter(alias=("--model-path", "--player", "--plugin"))],
    against: Annotated[list[str] | None, Parameter(alias=("--opponent", "--target"), consume_multiple=True)] = None,
    game: Annotated[str, Parameter(alias=("--env-name", "--env"))] = "",
    matches: Annotated[int, Parameter(alias="--num-episodes")] = 400,
    scenario: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    greedy: Annotated[bool, Parameter(alias="--deterministic")] = False,
    seed: int = 0,
    output: Output = _PLAIN,
) -> None:
    """Play matches and report win rates: seats swapped, seeds paired, 95 % intervals (Wilson; ties count half).

    The game's own settings are flags too, such as --rounds 3.

    Args:
        model: a model file, a run's `experiments/NAME/model.zip`, or the name of a scripted player or bot
        against: opponents: bots of the game, scripted players, model files, servers (tcp://HOST:PORT/MODEL), programs
            (external:COMMAND, if the game supports them); default: random and every bot of the game
        game: the game, if the model does not determine it
        matches: matches per opponent
        scenario: scenarios to play in turn, or `all`; default: the game's first
        greedy: models take their most likely choice instead of sampling
        seed: the same seed gives the same matches
    """
    here = Path.cwd()
    kind = registry.find(game or game_of(model, here))
    settings = game_settings(kind, flags)
    spec = kind.spec(settings)
    first = contestant(with_strength(model, output.strength), kind, spec, greedy)
    ladder = dict(kind.presentation.ladder) if output.ladder else {}
    if output.ladder and not ladder:
        raise UserError(f"'{kind.name}' has no ladder", "rate players against each other with `pvp-ml league rate`")
    names = against or list(ladder) or ["random", *(bot for bot in spec.bots if bot != "random")]
    names = [spec.bots[0] if name == "baseline" and spec.bots else name for name in names]  # as old commands call it
    rivals = [contestant(name, kind, spec, greedy) for name in names]
    results = []
    for rival in rivals:
        result = _play(kind, settings, (first, rival), matches, seed, scenario or [], quiet=output.json)
        results.append(result)
        if not output.json:
            show(result, output.actions)
    rating = fit_rating(results, ladder) if ladder else None
    if output.json:
        rated = {"rating": rating} if rating else {}
        print(json.dumps({"results": [result.to_json() for result in results], **rated}))
    elif rating:
        show_rating(rating)
    if output.plot is not None:
        draw(output.plot, results)


def contestant(name: str, kind: GameType, spec: GameSpec, greedy: bool) -> Contestant:
    """Whoever the name means; an address means a player behind a server."""
    if name.startswith(EXTERNAL):
        return external(name, kind)
    if name.startswith(PREFIX):
        return Contestant(name, make=lambda asked: RemotePlayer(name, asked, greedy))
    for player in kind.tooling.served_players:
        if name == player.name:
            return Contestant(name, make=player.make)
    return find_contestant(name, spec, Path.cwd(), greedy)


def external(name: str, kind: GameType) -> Contestant:
    """`external:COMMAND`: a program that the game seats. The command line is the only place that may name one."""
    start, words = kind.tooling.external, shlex.split(name.removeprefix(EXTERNAL))
    if start is None:
        raise UserError(f"'{kind.name}' cannot seat a program", "serve a model and give its address, tcp://HOST:PORT")
    if not words:
        raise UserError(f"'{name}' names no program", f"write --against '{EXTERNAL}python my_bot.py'")
    return Contestant(EXTERNAL + Path(words[-1]).name, sit=lambda game: start(game, words))


def game_of(model: str, working_directory: Path) -> str:
    """The game that a model file says it plays; its name may end with a dial."""
    model, _ = read_dial(model)
    path = data_files.find("models", model.removeprefix("model:"), (".zip",), working_directory)
    if path is not None:
        return read_metadata(path)[0].game
    if model in players.names():
        if len(games := players.find(model).games) == 1:
            return games[0]
        raise UserError(f"'{model}' plays any game", "say which with --game connect4")
    raise UserError(
        f"there is no model '{model}'",
        "give a file such as experiments/NAME/model.zip (`pvp-ml model list`), or a player with --game",
    )


def game_settings(kind: GameType, flags: tuple[str, ...]) -> GameConfig:
    """The game's own settings from flags, written `--rounds 3`, `--env.rounds 3` or `--set rounds=3`."""
    options = list(options_of(kind.config))
    aliases = {f"env.{'.'.join(option.path)}".replace("_", "-"): option.path for option in options}
    return read_settings(kind.config, read_flags(_unset(flags), options, aliases))


def _unset(flags: tuple[str, ...]) -> list[str]:
    """`--set KEY=VALUE`, as `pvp-ml game show` takes it, becomes `--KEY=VALUE`."""
    words: list[str] = []
    rest = iter(flags)
    for word in rest:
        if word != "--set":
            words.append(word)
            continue
        setting = next(rest, "")
        if "=" not in setting:
            raise UserError(f"--set '{setting}' is not a setting", "write --set KEY=VALUE")
        words.append(f"--{setting}")
    return words


def show(result: Evaluation, with_actions: bool = False) -> None:
    """A table for people."""
    title = f"{result.first} against {result.second} at {result.game}, seed {result.seed}"
    rows = result.rows()
    first = Column(TABLE_HEADER[0], min_width=max(len(row[0]) for row in rows))  # a heading may wrap, a name not
    table = Table(first, *TABLE_HEADER[1:], title=title, title_justify="left", box=box.SIMPLE_HEAD,
                  padding=(0, 1, 0, 0))  # fmt: skip
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    total = result.total
    if total.trials < total.matches:
        print(
            f"neither side samples: only {total.distinct} of {total.matches} matches differ, and intervals count those"
        )
    if result.figures:
        _show_figures(result)
    if with_actions:
        _show_actions(result)


def fit_rating(results: Sequence[Evaluation], ladder: Mapping[str, float]) -> dict[str, Any]:
    """The rating fitted to the rungs that were played, with their own ratings."""
    by_name = {result.second: result for result in results}
    met = {name: rating for name, rating in ladder.items() if name in by_name}
    fitted = reference_rating(by_name, met)
    return {"rating": fitted.rating, "low": fitted.low, "high": fitted.high, "ladder": met}


def show_rating(rating: dict[str, Any]) -> None:
    """The rating in one line."""
    rungs = ", ".join(f"{name} {own:.0f}" for name, own in rating["ladder"].items())
    print(f"rating {rating['rating']:.0f} ({rating['low']:.0f} to {rating['high']:.0f}); ladder: {rungs}")


def _show_figures(result: Evaluation) -> None:
    """Figures of both sides, and of the first in each scenario where there are several."""
    total = result.total.label
    table = Table("", result.first, result.second, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for figure in result.figures:
        table.add_row(_named(figure), *(_figure(result, total, side, figure.name) for side in (0, 1)))
    Console().print(table)
    labels = [tally.label for tally in result.by_scenario if tally.label in result.figure_values]
    if len(labels) > 1:
        apart = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        wide = max(map(len, labels))
        apart.add_column("", min_width=wide)
        room = (Console().width - wide - 4) // len(result.figures) - 2  # headings wrap, numbers are short
        for figure in result.figures:
            apart.add_column(_named(figure), max_width=max(7, room))
        for label in labels:
            values = result.figure_values[label][0]
            apart.add_row(label, *(f"{values[f.name]:.3g}" if f.name in values else "–" for f in result.figures))
        Console().print(apart)


def _named(figure: Figure) -> str:
    """A figure's name and unit as words."""
    return f"{figure.name} {figure.unit}".replace("_", " ")


def _figure(result: Evaluation, label: str, side: int, name: str) -> str:
    """A figure and half of its 95 % interval."""
    value = result.figure_values[label][side].get(name)
    if value is None:
        return "–"
    within = result.figure_intervals[label][side].get(name) if result.figure_intervals else None
    return f"{value:.3g}" + (f" ± {(within[1] - within[0]) / 2:.2g}" if within else "")


def _show_actions(result: Evaluation) -> None:
    table = Table("choice", result.first, result.second, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head, choices in result.choices.items():
        for choice, (first, second) in choices.items():
            table.add_row(f"{head}: {choice}", f"{first:.1%}", f"{second:.1%}")
    table.add_section()
    for signal, first, second in result.signals:
        table.add_row(
            f"{signal.name} ({signal.fold} {signal.unit})".replace(" )", ")"), f"{first:.3g}", f"{second:.3g}"
        )
    Console().print(table)


def draw(path: Path, results: list[Evaluation]) -> None:
    """All scores and their intervals, opponent by opponent."""
    from pvp_ml.cli.runs.plots import scores

    lines = []
    for result in results:
        lines += [(f"{result.second}: {tally.label}", tally.score, *tally.interval) for tally in result.parts()]
    scores(path, lines, f"{results[0].first} at {results[0].game}: win rate, 95 % intervals")


def _play(
    kind: GameType,
    settings: GameConfig,
    sides: tuple[Contestant, Contestant],
    matches: int,
    seed: int,
    scenarios: list[str],
    quiet: bool,
) -> Evaluation:
    game = kind.build(settings, max(1, min(matches, 8 if kind.runs_elsewhere(settings) else 256)))
    try:
        with bars.Progress(console=Console(stderr=True), transient=True, disable=quiet) as bar:
            task = bar.add_task(f"{sides[0].name} against {sides[1].name}", total=matches)
            return play(
                game,
                *sides,
                matches,
                seed,
                scenarios,
                lambda done, all_: bar.update(task, completed=done, total=all_),
                kind.presentation.figures,
            )
    finally:
        game.close()
