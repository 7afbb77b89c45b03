"""`pvp-ml model`: model files, looked at without running anything in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Column, Table

from pvp_ml import data_files
from pvp_ml.documents.strict_yaml import read_yaml
from pvp_ml.errors import UserError, visible
from pvp_ml.games import registry
from pvp_ml.model.bundle import Bundle, model_name, read_bundle, read_metadata, write_bundle
from pvp_ml.run.tracking.live_view import count

app = App(name="model", help="List, inspect, verify and export model files.")
TICK_SKIP = 8
app.command(
    "pvp_ml.cli.model.calibrate:calibrate",
    name="calibrate",
    help="Correct a model's chance to win, opponent by opponent.",
)
app.command("pvp_ml.cli.model.dial:dial", name="dial", help="Measure what holding a model back costs it.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]


@app.command(name="list")
def list_(
    *, directory: Annotated[str, Parameter(name=("--directory", "--experiments-dir"))] = data_files.RUNS,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """List all models: in this folder, in the user folder, in the package and in runs.

    Args:
        directory: where runs are kept
        as_json: print one JSON object: `models` has an entry per file
    """
    table = Table(Column("model", overflow="fold"), "game", "steps", "hardest opponent", "file")
    entries: list[dict[str, object]] = []
    for name, path in data_files.models(Path.cwd(), directory):
        try:
            facts = read_metadata(path)[0]
        except UserError as error:
            table.add_row(*_shown(name, "", "", f"cannot be read: {error.message}", _place(path)))
            entries.append({"name": name, "file": str(path), "error": error.message})
            continue
        met = facts.hardest
        words = f"{met.score:.1%} against {met.opponent}" if met else "not measured"
        table.add_row(*_shown(name, facts.game, count(facts.training.steps), words, _place(path)))
        entries.append({"name": name, "file": str(path), **facts.model_dump(mode="json")})
    if as_json:
        print(json.dumps({"models": entries}))
    else:
        Console().print(table if table.row_count else "no models yet; `pvp-ml demo` trains one")


@app.command
def inspect(model: str, *, as_json: AsJson = False) -> None:
    """Show a model's card, network, training and results.

    Args:
        model: a name from `pvp-ml model list`, or a file
        as_json: print the metadata as one JSON object
    """
    bundle = read_bundle(find(model))
    if as_json:
        print(json.dumps(bundle.metadata.model_dump(mode="json")))
        return
    console = Console()
    console.print(Markdown(visible(bundle.card)))
    table = Table.grid(padding=(0, 2))
    for label, value in facts_of(bundle):
        table.add_row(label, *_shown(value))
    console.print(table)


@app.command
def verify(model: str) -> None:
    """Check every byte of a model file, and that it fits its game; exit code 2 if not.

    Args:
        model: a name from `pvp-ml model list`, or a file
    """
    path = find(model)
    bundle = read_bundle(path)
    game = registry.find(bundle.metadata.game)
    digest = game.spec(game.config()).interface_digest
    fits = "fits the game with its default settings" if digest == bundle.interface.digest else "needs other settings"
    print(f"{path}: verified, {bundle.metadata.game}, {fits}, {bundle.content_hash[:16]}")


@app.command(name="import")
def import_(old: Path, *, to: Path | None = None) -> None:
    """Convert a model of the old trainer (.zip); no code in it is executed.

    NAME.import.json, beside the model, holds its environment settings, schedules, league, ratings and notes.

    Args:
        old: the old file
        to: where to write the model; default: models/NAME.zip
    """
    from pvp_ml.compat.convert import convert
    from pvp_ml.compat.old_model import read_legacy

    model = read_legacy(old)
    imported = convert(model)
    path = to or Path("models") / f"{old.stem}.zip"
    if path.resolve() == old.resolve() or path.exists():
        raise UserError(f"'{path}' exists", "choose another file with --to")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(path, imported.bundle)
    path.with_suffix(".import.json").write_text(json.dumps(imported.report, indent=1) + "\n", encoding="utf-8")
    if imported.needs_contract:
        path.with_suffix(".contract.json").write_bytes(model.contract_json)
    for note in imported.notes:
        print(visible(f"note: {note}"))
    print(f"model: {path}")


@app.command
def export(
    model: str, *, onnx: Path | None = None, torch: Path | None = None, rlbot: Path | None = None,
    tick_skip: int = TICK_SKIP,
    timeout_s: float = 0.0,
) -> None:  # fmt: skip
    """Write a model in another program's format, or as a bot for RLBot v5.

    The exported program takes obs, mask, noise [, memory] and returns actions, log_prob [, …]. Zero noise gives the
    most likely choice; standard Gumbel noise gives samples.

    Args:
        model: a name from `pvp-ml model list`, or a file
        onnx: ONNX file to write
        torch: file to write for `torch.export.load`
        rlbot: new folder for RLBot v5 (rocket_league): bot.toml, run script, model, golden states checked at start
        tick_skip: ticks per decision of the RLBot folder, as in training
        timeout_s: length of a match in training, for models that see the remaining share of it (`advanced1`);
            default: from the configuration of the model's run
    """
    if onnx is None and torch is None and rlbot is None:
        raise UserError("no format is chosen", "give --onnx FILE, --torch FILE or --rlbot FOLDER")
    if rlbot is None and (tick_skip != TICK_SKIP or timeout_s):
        raise UserError("--tick-skip and --timeout-s are for RLBot folders", "give --rlbot FOLDER, or leave them out")
    path = find(model)
    if rlbot is not None:
        if not 1 <= tick_skip <= 60:
            raise UserError(f"tick_skip is {tick_skip}", "give 1 to 60 ticks")
        bundle = read_bundle(path)
        write = registry.ability(
            lambda tools: tools.bot_folder, "export as a bot of the original", bundle.metadata.game
        )
        files = write(bundle, model_name(path), rlbot, tick_skip, lambda: timeout_s or _trained_timeout_s(path))
        print(f"{rlbot}: {len(files)} files; add the folder in RLBot, or start rlbot.toml")
    if onnx is not None or torch is not None:
        from pvp_ml.run.store.exports import export_model

        if onnx is not None:
            print(f"{onnx}: {export_model(path, onnx, 'onnx'):,} bytes")
        if torch is not None:
            print(f"{torch}: {export_model(path, torch, 'torch'):,} bytes")


def _trained_timeout_s(path: Path) -> float:
    """The `timeout_s` of the run whose folder holds this model."""
    for folder in path.resolve().parents[:4]:
        config = folder / "config.yml"
        if config.is_file():
            data = read_yaml(config.read_text(encoding="utf-8"))
            seconds = data.get("env", {}).get("timeout_s") if isinstance(data, dict) else None
            if isinstance(seconds, int | float):
                return float(seconds)
    raise UserError(
        f"how long the matches were that '{path.name}' was trained in is not known",
        "give --timeout-s (60 for the presets' phases, 120 for self-play): the model's clock counts down from it",
    )


def find(model: str) -> Path:
    """The file of a model, by name or path; a run's name stands for its newest model."""
    path = data_files.find("models", model, (".zip",), Path.cwd()) or dict(data_files.models(Path.cwd())).get(model)
    if path is None:
        raise UserError(f"there is no model '{model}'", "`pvp-ml model list` shows all models")
    return path


def facts_of(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Label and value of what is worth knowing."""
    meta, training = bundle.metadata, bundle.metadata.training
    weights = sum(array.size for array in bundle.tensors.values())
    yield "game", f"{meta.game}, version {meta.game_version}"
    yield "observations", f"{bundle.interface.obs_size} features"
    yield "heads", " · ".join(f"{head.name} {head.size}" for head in bundle.interface.heads)
    yield "network", f"{' × '.join(map(str, meta.network.trunk))} {meta.network.activation}, {weights:,} weights"
    yield "trained", f"{training.steps:,} steps, {training.seconds:,.0f} s, seed {training.seed}, run '{training.run}'"
    yield "versions", ", ".join(f"{name} {version}" for name, version in training.versions.items())
    yield "content", meta.content_hash


def _place(path: Path) -> str:
    """Where a file is, as short as it can be said: the package's own folder interests nobody."""
    for folder, name in ((data_files.PACKAGE, "shipped"), (Path.cwd(), ""), (data_files.user_folder(), "user folder")):
        if path.is_relative_to(folder):
            return name or str(path.relative_to(folder))
    return str(path)


def _shown(*cells: str) -> tuple[str, ...]:
    """Texts of a model file as a table shows them: nothing in them is a command, to the terminal or to rich."""
    return tuple(escape(visible(cell)) for cell in cells)
