"""`pvp-ml obs check`: look over a bot author's log of observations."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pvp_ml.errors import UserError, visible
from pvp_ml.games import registry
from pvp_ml.model.bundle import read_bundle
from pvp_ml.serve.obs_check import Reference, check_rows, read_log, sample_game

app = App(name="obs", help="Look over logs of observations.")


@app.command
def check(log: Path, *, game: str, model: Path | None = None, steps: int = 200) -> int:
    """List the columns of a log that look wrong for the game: constant, out of range, wrong units, shifted.

    Args:
        log: JSON lines, each with the `obs` that your bot sends
        game: the game of the observations
        model: compare with what this model saw in training, instead of with random play
        steps: steps of random play in 64 matches to compare with
    """
    found = registry.find(game)
    config = found.config()
    spec = found.spec(config)
    try:
        with log.open(encoding="utf-8") as file:
            rows = read_log(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{log}': {getattr(error, 'strerror', None) or error}") from error
    if model is not None:
        reference = Reference.of_bundle(read_bundle(model))
    elif found.runs_elsewhere(config):
        raise UserError(f"game '{game}' cannot be sampled quickly", "give --model FILE to compare with")
    else:
        built = registry.build_here(found, config, 64)
        reference = Reference.of_rows(sample_game(built, steps, 0))
        built.close()
    findings = check_rows(rows, spec.interface, reference)
    table = Table("column", "feature", "what is odd")
    for finding in findings:
        first, last = finding.columns
        table.add_row(
            str(first) if first == last else f"{first}–{last}",
            *(escape(visible(text)) for text in (finding.names, finding.what)),
        )
    if findings:
        Console().print(table)
    print(f"{len(rows)} rows, {len(findings)} finding(s)")
    return 1 if findings else 0
