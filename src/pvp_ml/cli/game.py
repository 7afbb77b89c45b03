"""`pvp-ml game`: which games there are, what they look like, and whether they keep their promises."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pvp_ml.errors import UserError

if TYPE_CHECKING:
    from pvp_ml.games.conformance.check import Check
    from pvp_ml.games.registry import GameConfig, GameType
    from pvp_ml.spec import GameSpec, Head

app = App(name="game", help="List, show and check games.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
Flag = Annotated[bool, Parameter(negative="")]
Settings = Annotated[list[str] | None, Parameter(name="--set", negative="")]
BROKEN = 1
_SIGNS = {"kept": "[green]✓[/]", "broken": "[red]✗[/]", "excused": "[yellow]·[/]"}


@app.command(name="list")
def list_(*, as_json: AsJson = False) -> None:
    """List all installed games.

    Args:
        as_json: print one JSON object: `games` has an entry per game
    """
    from pvp_ml.games import registry

    seen: set[str] = set()
    entries: list[dict[str, Any]] = []
    table = Table(box=None, pad_edge=False)
    table.add_column("game", no_wrap=True)
    for title in ("also called", "what", "state"):
        table.add_column(title)
    for name in registry.names():
        try:
            game = registry.find(name)
        except UserError as error:
            entries.append({"name": name, "error": error.message})
            table.add_row(name, "", f"[red]{escape(error.message)}[/]", "broken")
            continue
        if game.name in seen:
            continue
        seen.add(game.name)
        entries.append(_facts(game))
        table.add_row(game.name, ", ".join(game.aliases), escape(game.title), game.status)
    if as_json:
        print(json.dumps({"games": entries}))
        return
    console = Console(highlight=False)
    console.print(table)
    console.print("\nDetails: pvp-ml game show NAME", style="dim")


@app.command
def show(
    name: str,
    *,
    settings: Settings = None,
    features: Flag = False,
    actions: Flag = False,
    as_json: AsJson = False,
) -> None:
    """Describe a game: heads, features, rewards, bots, scenarios, settings.

    Args:
        name: a name from `pvp-ml game list`
        settings: a setting of the game as KEY=VALUE; may be repeated
        features: list every feature of the observation
        actions: list every choice of every head, with its rules
        as_json: print the whole description as one JSON object
    """
    game, config = _configured(name, settings)
    spec = game.spec(config)
    if as_json:
        digests = {"interface_digest": spec.interface_digest, "game_digest": spec.game_digest}
        print(json.dumps({**_facts(game), **digests, "spec": spec.to_json()}))
        return
    console = Console(highlight=False)
    if features:
        console.print(_feature_table(spec))
    if actions:
        for line in notes(config) if (notes := game.presentation.action_notes) else ():
            console.print(escape(line))
        console.print(_action_table(spec.heads))
    if not features and not actions:
        console.print(_summary(game, config, spec))


@app.command
def check(
    name: str,
    *,
    settings: Settings = None,
    matches: int = 4,
    seed: int = 1,
    most_steps: int = 20_000,
    only: Annotated[list[str] | None, Parameter(negative="")] = None,
    as_json: AsJson = False,
) -> int:
    """Test whether a game keeps the contract, promise by promise; exit code 1 if it breaks one.

    Args:
        name: a name from `pvp-ml game list`
        settings: a setting of the game as KEY=VALUE; may be repeated
        matches: parallel matches
        seed: seed of the test matches
        most_steps: limit per playthrough, for slow games
        only: check only this promise; may be repeated
        as_json: print the report as one JSON object
    """
    from pvp_ml.games.conformance.check import check_game

    game, config = _configured(name, settings)
    console = Console(highlight=False, soft_wrap=True)

    def tell(done: Check) -> None:
        text = done.detail if done.outcome != "broken" else f"{done.detail} — {done.promise}"
        console.print(f"{_SIGNS[done.outcome]} {done.name} [dim]{escape(text)}[/]")

    progress = None if as_json else tell
    report = check_game(
        game, config, matches=matches, seed=seed, most_steps=most_steps, only=only or (), progress=progress
    )
    if as_json:
        print(json.dumps(report.to_json()))
    elif report.passed:
        console.print(f"{game.name} keeps its promises")
    else:
        console.print(f"{game.name} breaks {len(report.broken)} of {len(report.checks)} promises")
    return 0 if report.passed else BROKEN


@app.command
def setup(name: str, *, packs: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Download what a game needs, such as a simulator or meshes.

    Args:
        name: a name from `pvp-ml game list`
        packs: also download training packs, for games that have them (rocket_league)
    """
    from pvp_ml.games import registry

    game = registry.find(name)
    if packs and game.tooling.setup_packs is None:
        raise UserError(f"game '{game.name}' has no training packs", "leave --packs out")
    console = Console(highlight=False, soft_wrap=True)
    if game.tooling.setup is None:
        console.print(f"{game.name} needs no setup")
        return
    game.tooling.setup(lambda line: console.print(escape(line)))
    if packs and game.tooling.setup_packs is not None:
        game.tooling.setup_packs(lambda line: console.print(escape(line)))
    console.print(f"{game.name} is ready")


@app.command
def conform(name: str, *, traces: Path, free_plays: int = 40, limit: int = 0, as_json: AsJson = False) -> int:
    """Compare a game with recorded matches of the original: single rolls, replayed ticks, and free play.

    Args:
        name: a name from `pvp-ml game list`
        traces: the folder of recorded matches
        free_plays: fights to play per group to compare distributions; 0 = none
        limit: read only this many recorded matches; 0 = all
        as_json: print the report as one JSON object
    """
    from pvp_ml.games import registry

    game = registry.find(name)
    if game.tooling.conform is None:
        raise UserError(f"game '{game.name}' has no recorded matches to compare with")
    console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=as_json)
    report = game.tooling.conform(traces, free_plays, limit, lambda line: console.print(escape(line)))
    print(json.dumps(report.to_json()) if as_json else report.text())
    return 0 if report.passed else BROKEN


def _configured(name: str, settings: list[str] | None) -> tuple[GameType, GameConfig]:
    from pvp_ml.games import registry

    game = registry.find(name)
    values: dict[str, Any] = {}
    for setting in settings or ():
        key, sign, text = setting.partition("=")
        if not sign:
            raise UserError(f"'{setting}' is not a setting", "write --set KEY=VALUE")
        try:
            values[key] = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            values[key] = text
    return game, registry.configure(game, values)


def _facts(game: GameType) -> dict[str, Any]:
    return {
        "name": game.name,
        "aliases": list(game.aliases),
        "title": game.title,
        "status": game.status,
        "needs_setup": game.tooling.setup is not None,
        "reproducible": game.reproducible,
        "runs_elsewhere": game.runs_elsewhere(game.config()),
    }


def _summary(game: GameType, config: GameConfig, spec: GameSpec) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, title=escape(game.title), title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    sizes = " + ".join(f"{head.name} {head.size}" for head in spec.heads)
    blocks = ", ".join(f"{b.name} {b.count} × {len(b.features)}" for b in spec.blocks)
    rows = {
        "name": ", ".join((game.name, *game.aliases)),
        "state": f"{game.status}, version {spec.version}",
        "teams": " against ".join(f"seats {list(team)}" if len(team) > 1 else f"seat {team[0]}" for team in spec.teams),
        "heads": f"{len(spec.heads)} with {spec.mask_size} choices: {sizes}",
        "features": f"{spec.obs_size}: {blocks}; {spec.privileged_size} more for a privileged critic",
        "rewards": _named((r.name, r.doc) for r in spec.rewards),
        "signals": _named((s.name, s.doc) for s in spec.signals),
        "bots": ", ".join(spec.bots),
        "scenarios": _named((s.name, s.doc) for s in spec.scenarios),
        "step cap": str(spec.max_steps),
        "settings": ", ".join(f"{key}={value}" for key, value in config.model_dump(mode="json").items()),
        "digests": f"interface {spec.interface_digest[:12]}, game {spec.game_digest[:12]}",
    }
    for key, value in rows.items():
        table.add_row(key, escape(value) or "none")
    table.add_row("more", f"pvp-ml game show {game.name} --features | --actions | --json")
    return table


def _named(items: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({doc})" if doc else name for name, doc in items)


def _feature_table(spec: GameSpec) -> Table:
    table = Table("#", "block", "feature", "kind", "marks", "what", box=None, pad_edge=False)
    index = 0
    for block in spec.blocks:
        for copy in range(block.count):
            for feature in block.features:
                marks = [mark for mark in ("partial", "constant") if getattr(feature, mark)]
                kind = f"id of {feature.vocab}" if feature.kind == "id" else feature.kind
                place = block.name if block.count == 1 else f"{block.name}\\[{copy}]"
                table.add_row(str(index), place, escape(feature.name), kind, ", ".join(marks), escape(feature.doc))
                index += 1
    for block in spec.privileged:
        for _ in range(block.count):
            for feature in block.features:
                table.add_row("—", block.name, escape(feature.name), feature.kind, "privileged", escape(feature.doc))
    return table


def _action_table(heads: tuple[Head, ...]) -> Table:
    table = Table("head", "#", "choice", "legal when", box=None, pad_edge=False)
    words = {"all": "all of", "any": "any of", "none": "none of"}
    for head in heads:
        for index, choice in enumerate(head.choices):
            rules = [
                f"{words[rule.when]} {', '.join('.'.join(pick) for pick in rule.picks)}"
                for rule in head.rules
                if rule.choice == choice
            ]
            rules += ["nothing else is legal"] if choice == head.fallback else []
            table.add_row(head.name if index == 0 else "", str(index), escape(choice), escape("; ".join(rules)))
    return table
