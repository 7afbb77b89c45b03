"""Does somebody's log of observations look like the game's? Names the columns that do not.

A bot author's most common mistakes: a column that never moves, a value in other units, an id outside its range, and a
whole stretch of columns shifted by one. The measure is what the game itself produces when random players play it, or
the observation statistics of a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.match import External, MatchPlan, VecGame
from pvp_ml.model.bundle import Bundle
from pvp_ml.spec import Feature, Interface

MAX_ROWS = 200_000
MAX_LINE_CHARS = 1 << 20
FEW_ROWS = 50
_WINDOW = 8  # how far a shifted column is looked for
_NEAR, _FAR = 0.6, 2.0  # distances between columns: surely the same, surely not
_EPS = 1e-6
_ALIKE = 10  # neighbouring rows of a log are much the same: this many count as one

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reference:
    """What each column [D] looks like in the game; `low` and `high` are infinite when only moments are known."""

    mean: Numbers
    std: Numbers
    low: Numbers
    high: Numbers
    unusual: Numbers  # share of rows in which the column does not have its usual value

    @classmethod
    def of_rows(cls, rows: Numbers) -> Reference:
        """Measured on rows [n,D]."""
        unusual = (rows != np.median(rows, axis=0)).mean(0)
        return cls(rows.mean(0), rows.std(0), rows.min(0), rows.max(0), unusual)

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> Reference:
        """What the model saw while it was trained."""
        mean, var = bundle.normalizer["obs/mean"], bundle.normalizer["obs/var"]
        nothing = np.full(len(mean), np.inf)
        std = np.sqrt(np.asarray(var))
        return cls(np.asarray(mean), std, -nothing, nothing, np.where(std > _EPS, 1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at; `columns` are first and last index."""

    columns: tuple[int, int]
    names: str
    what: str


def read_log(lines: Iterable[str]) -> Numbers:
    """Rows [n,D] of a log: one JSON object a line with `obs`, as sent to a server, or a bare list of numbers."""
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(rows) >= MAX_ROWS or len(line) > MAX_LINE_CHARS:
            raise UserError(f"line {number} is beyond {MAX_ROWS} rows or longer than {MAX_LINE_CHARS} characters")
        try:
            obs: Any = json.loads(line)
            obs = obs["obs"] if isinstance(obs, dict) else obs
            newest = obs[0] if obs and isinstance(obs[0], list) else obs
            rows.append([float(x) for x in newest])
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise UserError(f"line {number} holds no observation: {str(error)[:80]}", 'write {"obs": [[…]]}') from error
        if len(rows[-1]) != len(rows[0]):
            raise UserError(f"line {number} has {len(rows[-1])} numbers, the first had {len(rows[0])}")
    if not rows:
        raise UserError("the log is empty", "log one JSON object with `obs` per decision")
    return np.array(rows)


def sample_game(game: VecGame, steps: int, seed: int) -> Numbers:
    """Observations [n,D] of random players in every scenario."""
    spec = game.spec
    lineup = tuple(External("random") for _ in range(spec.seats))
    names = [s.name for s in spec.scenarios]
    count = game.matches * (2 + steps)
    table = Table(game, {"random": players.make("random", spec)})
    table.queue([MatchPlan(i, seed + i, lineup, names[i % len(names)]) for i in range(count)])
    table.start()
    seen: list[npt.NDArray[np.float32]] = []
    for _ in range(steps):
        seen.append(table.out.obs[table.out.acting].copy())
        table.decide()
        table.step()
    return np.concatenate(seen).astype(np.float64)


def check_rows(rows: Numbers, interface: Interface, reference: Reference) -> list[Finding]:
    """Everything suspicious about rows [n,D], shifted stretches first, then column by column."""
    features = interface.features
    if rows.shape[1] != len(features):
        return [
            Finding(
                (0, rows.shape[1] - 1), "all columns", f"{rows.shape[1]} numbers a row, the game has {len(features)}"
            )
        ]
    shifted = _shifts(rows, features, reference)
    covered = {i for finding in shifted for i in range(finding.columns[0], finding.columns[1] + 1)}
    single = []
    for i, feature in enumerate(features):
        what = _column(rows[:, i], feature, i, reference) if i not in covered else ""
        if what:
            single.append(Finding((i, i), feature.name, what))
    return shifted + single


def _column(values: Numbers, feature: Feature, i: int, reference: Reference) -> str:
    if not np.isfinite(values).all():
        return f"{int((~np.isfinite(values)).sum())} values are not numbers"
    odd = values[(values != 0) & (values != 1)]
    if feature.kind == "flag" and len(odd):
        return f"is a flag, but holds {odd[0]:g}"
    if feature.kind == "id":
        wrong = values[(values < 0) | (values >= (feature.vocab or 0)) | (values != np.floor(values))]
        return f"is an id in 0…{feature.vocab}, but holds {wrong[0]:g}" if len(wrong) else ""
    expected = len(values) / _ALIKE * reference.unusual[i]
    if np.ptp(values) == 0 and expected > 5 and not feature.constant:
        return f"never changes (always {values[0]:g}); in the game it does"
    return _range(values, i, reference)


def _range(values: Numbers, i: int, reference: Reference) -> str:
    mean, std, low, high = (float(x[i]) for x in (reference.mean, reference.std, reference.low, reference.high))
    if np.isfinite(low):
        slack = max(high - low, abs(high), 1.0) * 0.5
        outside = (values < low - slack) | (values > high + slack)
        usual = f"{low:g} … {high:g}"
    else:
        outside = np.abs(values - mean) > 10 * (std + _EPS) + _EPS
        usual = f"{mean:g} ± {std:g}"
    if not outside.any():
        return ""
    worst = float(values[np.abs(values - mean).argmax()])
    scale = abs(worst) / max(abs(high) if np.isfinite(high) else abs(mean) + 3 * std, _EPS)
    hint = f"; {scale:.0f} times too large: other units?" if 20 <= scale < 1e6 else ""
    return f"{outside.mean():.0%} of its values are out of range: {worst:g}, usual is {usual}{hint}"


def _shifts(rows: Numbers, features: tuple[Feature, ...], reference: Reference) -> list[Finding]:
    """Stretches of at least three columns that fit their neighbours at one fixed distance and not themselves."""
    if len(rows) < FEW_ROWS:
        return []
    mean, std = rows.mean(0), rows.std(0)
    best = np.zeros(len(features), np.int64)
    for i in range(len(features)):
        if _distance(mean[i], std[i], reference, i) < _FAR:
            continue
        near = range(max(0, i - _WINDOW), min(len(features), i + _WINDOW + 1))
        score, j = min((_distance(mean[i], std[i], reference, j), j) for j in near)
        best[i] = j - i if score < _NEAR else 0
    found: list[Finding] = []
    i = 0
    while i < len(features):
        end = _stretch(best, i)
        matching = int((best[i:end] == best[i]).sum())
        if best[i] and matching >= 3:
            what = f"look like the columns {abs(int(best[i]))} {'further on' if best[i] > 0 else 'before'}: "
            what += "is one missing in front?" if best[i] > 0 else "is there one too many in front?"
            found.append(Finding((i, end - 1), f"{features[i].name} … {features[end - 1].name}", what))
            i = end
        else:
            i += 1
    return found


def _stretch(best: npt.NDArray[np.int64], start: int) -> int:
    """End of the stretch with the same shift; up to three undecided columns in a row may lie inside."""
    end = last = start
    while end < len(best) and end - last <= 3 and best[end] in (0, best[start]):
        last = end if best[end] == best[start] else last
        end += 1
    return last + 1


def _distance(mean: float, std: float, reference: Reference, j: int) -> float:
    """How unlike column j a column with these moments is; 0 = alike."""
    theirs = float(reference.std[j])
    spread = max(theirs, std, 0.05 * abs(float(reference.mean[j])), 1e-3)
    return abs(mean - float(reference.mean[j])) / spread + abs(float(np.log((std + 1e-3) / (theirs + 1e-3))))
