"""`pvp-ml config`: see what a run would use before you start it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from pvp_ml.cli.options_page import default_text, page
from pvp_ml.data_files import PACKAGE
from pvp_ml.games import registry
from pvp_ml.run.config.presets import list_presets
from pvp_ml.run.config.schema import config_options, load_config
from pvp_ml.run.desk.folder import flat

app = App(name="config", help="Show and compare configurations, list presets and flags.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


@app.command
def show(*flags: Flags, preset: str = "", as_json: AsJson = False) -> None:
    """Print the resolved configuration as YAML: defaults, preset and flags together.

    Args:
        preset: a preset's name or file, as in `pvp-ml config list`
        as_json: print one JSON object instead
    """
    config = load_config(preset, flags, Path.cwd())
    print(json.dumps(config.to_data()) if as_json else config.to_yaml(), end="\n" if as_json else "")


@app.command
def diff(first: str, second: str, *, as_json: AsJson = False) -> int:
    """Print the settings in which two presets differ; exit code 1 if there are any.

    Args:
        first: a preset's name or file
        second: another
        as_json: print one JSON object: setting → [first, second]
    """
    sides = [flat(load_config(preset, (), Path.cwd()).to_data()) for preset in (first, second)]
    keys = [
        key
        for key in {**sides[0], **sides[1]}
        if key not in ("run.name", "run.preset") and sides[0].get(key) != sides[1].get(key)
    ]
    if as_json:
        print(json.dumps({key: [side.get(key) for side in sides] for key in keys}))
        return 1 if keys else 0
    table = Table("setting", first, second)
    for key in keys:
        table.add_row(key, *(str(side.get(key, "–")) for side in sides))
    if keys:
        Console().print(table)
    else:
        print(f"{first} and {second} are the same")
    return 1 if keys else 0


@app.command(name="list")
def list_(*, as_json: AsJson = False) -> None:
    """List the presets: yours in this folder, yours in the user folder, and those of the package.

    Args:
        as_json: print one JSON object: `presets` has an entry per preset
    """
    if as_json:
        rows = [{"name": info.name, "alias": info.alias, "title": info.title} for info in list_presets(Path.cwd())]
        print(json.dumps({"presets": rows}))
        return
    table = Table("preset", "also called", "what it is", box=None, pad_edge=False)
    for info in list_presets(Path.cwd()):
        table.add_row(info.name, info.alias, info.title)
    Console().print(table)


@app.command
def cluster() -> None:
    """Print the cluster.yml of the package, for `ray up`: pvp-ml config cluster > cluster.yml."""
    print(cluster_file().read_text(encoding="utf-8"), end="")


def cluster_file() -> Path:
    """In a wheel beside the code, in a checkout at the root."""
    packaged = PACKAGE / "cluster" / "cluster.yml"
    return packaged if packaged.is_file() else PACKAGE.parents[1] / "cluster.yml"


@app.command
def options(*, game: str = registry.DEFAULT_GAME, markdown: bool = False, as_json: AsJson = False) -> None:
    """List every flag of `pvp-ml train`.

    Args:
        game: include this game's own settings
        markdown: print TRAIN_OPTIONS.md, which covers all games
        as_json: print one JSON object: `options` has an entry per flag
    """
    if markdown:
        print(page(), end="")
        return
    flags, aliases = config_options(registry.find(game))
    if as_json:
        rows = [
            {
                "flag": option.flag,
                "aliases": [f"--{name}" for name, path in aliases.items() if path == option.path],
                "kind": option.kind,
                "default": default_text(option.default),
                "doc": option.doc,
            }
            for option in flags
        ]
        print(json.dumps({"options": rows}))
        return
    console = Console(highlight=False)
    for option in flags:
        also = "".join(f", --{name}" for name, path in aliases.items() if path == option.path)
        default = default_text(option.default)
        console.print(
            f"[bold]{option.flag}[/]{also}  {option.kind}{f', default {default}' if default else ''}", markup=True
        )
        console.print(f"    {option.doc}", style="dim")
