"""`pvp-ml model calibrate`: how far a model's chance to win can be relied on, written into its file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from pvp_ml.cli.model.command import find
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.bundle import Bundle, read_bundle, read_onnx, require_fit, with_calibration, write_bundle
from pvp_ml.model.calibration import SELF, Calibration
from pvp_ml.selfplay.win_chance import FIT_HEAD, FIT_SCALE, MEASURE, Progress, Study, judged, measured, refitted

EVERY_S = 5.0


def calibrate(
    model: str, *, against: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    matches: int = 2000, head: bool = True, check: bool = False, seed: int = 0, to: Path | None = None,
) -> int:  # fmt: skip
    """Measure and correct a model's chance to win for each opponent, and save both in its file.

    The head is fitted first, on separate matches; the policy's actions do not change. Pages show the chance only
    against opponents that were measured.

    Args:
        model: a name from `pvp-ml model list`, or a file
        against: opponents: `self`, bots, scripted players; default: itself and every bot of the game
        matches: per opponent and purpose: to fit the head, to correct it, to measure it
        head: refit the win head; --no-head only corrects its output
        check: only measure the chance that the file gives now; use a seed that it was not fitted with
        seed: the same seed gives the same matches
        to: where to write the result; default: the same file
    """
    path = find(model)
    bundle = read_bundle(path)
    kind = registry.find(bundle.metadata.game)
    settings = kind.config()
    spec = kind.spec(settings)
    require_fit(bundle, spec)
    if not bundle.network.win_head:
        raise UserError(f"'{model}' has no win head", "train with --network.win-head true")
    if matches < 100:
        raise UserError(f"matches is {matches}", "play at least 100 against each opponent")
    study, progress = Study(kind, settings, matches, seed), _Ticker()
    if check:
        _print(_checked(bundle, model, study, against, progress))
        return 0
    opponents = against or [SELF, *spec.bots]
    if head:
        bundle = refitted(bundle, spec, [study.play(bundle, name, FIT_HEAD, progress) for name in opponents[:1]])
    found = []
    for name in opponents:
        fit, test = (study.play(bundle, name, part, progress) for part in (FIT_SCALE, MEASURE))
        found.append(measured(name, fit, test))
    write_bundle(to or path, with_calibration(bundle, tuple(found)), None if head else read_onnx(path))
    _print(found)
    print(f"model: {to or path}")
    return 0


def _checked(
    bundle: Bundle, model: str, study: Study, against: list[str] | None, progress: Progress
) -> list[Calibration]:
    """The stored corrections on new matches, against the opponents that they were made for."""
    known = {c.opponent: c for c in bundle.metadata.calibration}
    if missing := [name for name in against or [] if name not in known]:
        raise UserError(f"'{model}' was never measured against '{missing[0]}'", "run it without --check first")
    if not known:
        raise UserError(f"'{model}' was never measured", "run it without --check first")
    chosen = [known[name] for name in against or known]
    return [judged(c.opponent, c.slope, c.offset, study.play(bundle, c.opponent, MEASURE, progress)) for c in chosen]


def _print(found: list[Calibration]) -> None:
    table = Table("against", "matches", "Brier score", "of a constant", "calibration error", "slope", "offset")
    for c in found:
        table.add_row(c.opponent, str(c.matches), f"{c.brier:.4f}", f"{c.constant:.4f}", f"{c.error:.4f}",
                      f"{c.slope:.3f}", f"{c.offset:+.3f}")  # fmt: skip
    Console().print(table)


class _Ticker:
    """Prints progress now and then during long work."""

    def __init__(self) -> None:
        self._console, self._last = Console(stderr=True), 0.0

    def __call__(self, what: str, done: int, planned: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY_S or done == planned:
            self._last = now
            self._console.print(f"{what}: {done} of {planned} matches", highlight=False)
