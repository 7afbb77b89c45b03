"""`pvp-ml config`: what a run would be, before it is one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from pvp_ml.cli.options_page import default_text, page
from pvp_ml.games import registry
from pvp_ml.run.config.presets import list_presets
from pvp_ml.run.config.schema import config_options, load_config
from pvp_ml.run.desk.folder import flat

app = App(name="config", help="Show and compare configurations, list presets and flags.")
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


@app.command
def show(*flags: Flags, preset: str = "") -> None:
    """Print the resolved configuration as YAML: defaults, preset and flags together.

    Args:
        preset: a preset's name or file, as in `pvp-ml config list`
    """
    print(load_config(preset, flags, Path.cwd()).to_yaml(), end="")


@app.command
def diff(first: str, second: str) -> int:
    """Print the settings that two presets do not share; exit code 1 when there are any.

    Args:
        first: a preset's name or file
        second: another
    """
    sides = [flat(load_config(preset, (), Path.cwd()).to_data()) for preset in (first, second)]
    keys = [
        key
        for key in {**sides[0], **sides[1]}
        if key not in ("run.name", "run.preset") and sides[0].get(key) != sides[1].get(key)
    ]
    table = Table("setting", first, second)
    for key in keys:
        table.add_row(key, *(str(side.get(key, "–")) for side in sides))
    if keys:
        Console().print(table)
    else:
        print(f"{first} and {second} are the same")
    return 1 if keys else 0


@app.command(name="list")
def list_() -> None:
    """List the presets of this folder, of the user and of the package."""
    table = Table("preset", "also called", "what it is", box=None, pad_edge=False)
    for info in list_presets(Path.cwd()):
        table.add_row(info.name, info.alias, info.title)
    Console().print(table)


@app.command
def options(*, game: str = registry.DEFAULT_GAME, markdown: bool = False) -> None:
    """List every flag of `pvp-ml train`.

    Args:
        game: its own settings are flags too
        markdown: print TRAIN_OPTIONS.md, all games in it
    """
    if markdown:
        print(page(), end="")
        return
    flags, aliases = config_options(registry.find(game))
    console = Console(highlight=False)
    for option in flags:
        also = "".join(f", --{name}" for name, path in aliases.items() if path == option.path)
        default = default_text(option.default)
        console.print(
            f"[bold]{option.flag}[/]{also}  {option.kind}{f', default {default}' if default else ''}", markup=True
        )
        console.print(f"    {option.doc}", style="dim")
