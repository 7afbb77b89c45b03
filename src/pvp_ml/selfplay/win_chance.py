"""How far a policy's stated chance to win can be relied on: matches are played, the head is fitted and measured.

Three sets of matches that share no seed: one to fit the head on (the features that it reads stay as they are, so that
the policy plays as before), one to fit each opponent's correction, one to measure. Shapes: B decisions, W features.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import FloatArray
from pvp_ml.model import calibration as maths
from pvp_ml.model.bundle import Bundle, make_bundle
from pvp_ml.model.calibration import SELF, Calibration, Floats, Ints
from pvp_ml.players import actor_of
from pvp_ml.selfplay.evaluate import Contestant, find_contestant, make_plans
from pvp_ml.spec import GameSpec

ROWS = 512
"""Matches side by side."""
KEPT = 0.15
"""Share of the decisions whose features are kept to fit the head on: neighbours are nearly the same."""
PULL = 1e-3
EDGE = 1e-6
FIT_HEAD, FIT_SCALE, MEASURE = 1, 2, 3

Flags = npt.NDArray[np.bool_]
Progress = Callable[[str, int, int], None]
"""Called with what is played, matches finished and matches planned."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What was stated at the decisions of the model's seats, and what came of it."""

    match: Ints  # [B] one number for each match and seat
    logit: Floats  # [B]
    points: Floats  # [B] 1 won, ½ tied, 0 lost
    features: FloatArray  # [K,W] of the decisions that `kept` marks
    kept: Flags  # [B]
    matches: int

    @property
    def weight(self) -> Floats:
        """[B], so that every match counts once."""
        return maths.match_weights(self.match)


@dataclass(frozen=True, slots=True)
class Study:
    """Which game, how many matches for each set, and the seed that all of them follow from."""

    kind: GameType
    settings: GameConfig
    matches: int
    seed: int = 0

    def play(self, bundle: Bundle, opponent: str, part: int, progress: Progress) -> Stated:
        """Matches of one set; `part` keeps the sets apart."""
        spec = self.kind.spec(self.settings)
        first = Contestant.of_bundle(SELF, bundle)
        second = first if opponent == SELF else find_contestant(opponent, spec, Path.cwd())
        plans = make_plans(spec, (first, second), self.matches, self.seed * 8 + part, (spec.scenarios[0].name,))
        game = self.kind.build(self.settings, min(len(plans), ROWS))
        try:
            players = {str(i): side.make(spec) for i, side in enumerate((first, second)) if side.make is not None}
            table = Table(game, players)
            table.queue(plans)
            table.start()
            return _watched(table, bundle, opponent == SELF, lambda n: progress(f"against {opponent}", n, len(plans)))
        finally:
            game.close()


def _watched(table: Table, bundle: Bundle, is_mirror: bool, progress: Callable[[int], None]) -> Stated:
    actor, spec = actor_of(bundle), table.spec
    rng = np.random.default_rng(0)
    parts: list[tuple[Ints, Floats, Flags, FloatArray]] = []
    points: dict[int, Floats] = {}
    while not table.is_empty:
        table.decide()
        n = len(table.rows)
        held = table.held_by("0") | table.held_by("1") if is_mirror else table.held_by("0")
        row, seat = np.nonzero(table.out.acting[:n] & held)
        features = actor.features(table.out.obs[row, seat])
        kept = rng.random(len(row)) < KEPT
        match = table.serial[table.rows[row]] * spec.seats + seat
        parts.append((match, actor.win_logit(features), kept, features[kept].copy()))
        table.step()
        for i, plan in table.plans_over.items():
            if not table.out.faults[i]:
                points[plan.serial] = (table.out.result[i].astype(np.float64) + 1.0) / 2.0
        progress(len(points))
    if not points:
        raise UserError("no match came to an end", "play more of them")
    match, logit, kept, features = (np.concatenate(column) for column in zip(*parts, strict=True))
    outcome = np.full((int(match.max()) // spec.seats + 1, spec.seats), np.nan)
    for serial, made in points.items():
        outcome[serial] = made
    result = outcome[match // spec.seats, match % spec.seats]
    known = ~np.isnan(result)
    return Stated(match[known], logit[known], result[known], features[known[kept]], kept[known], len(points))


def refitted(bundle: Bundle, spec: GameSpec, seen: Sequence[Stated]) -> Bundle:
    """The same policy with a win head fitted to these matches; nothing else is changed."""
    x = np.concatenate([stated.features for stated in seen]).astype(np.float64)
    y = np.concatenate([stated.points[stated.kept] for stated in seen])
    weight = np.concatenate([stated.weight[stated.kept] for stated in seen])
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread < EDGE] = 1.0  # a feature that never changes says nothing
    x = np.concatenate([(x - mean) / spread, np.ones((len(x), 1))], axis=1)
    found = maths.fit_logistic(x, y, weight, PULL)
    slopes = found[:-1] / spread
    tensors = dict(bundle.tensors)
    tensors["win/weight"] = slopes[None].astype(np.float32)
    tensors["win/bias"] = np.array([found[-1] - float(slopes @ mean)], np.float32)
    meta = bundle.metadata
    return make_bundle(
        spec, bundle.network, tensors, bundle.normalizer, meta.training, meta.results, card=bundle.card
    )  # fmt: skip


def measured(opponent: str, fit: Stated, test: Stated) -> Calibration:
    """The correction that fits one set, and how good the corrected chance is on the other."""
    slope, offset = maths.fit_scale(fit.logit, fit.points, fit.weight, has_offset=opponent != SELF)
    return judged(opponent, max(0.0, slope), offset, test)


def judged(opponent: str, slope: float, offset: float, test: Stated) -> Calibration:
    """How good the chance is on these matches with a correction that was made before."""
    chance, weight = maths.sigmoid(slope * test.logit + offset), test.weight
    curve = maths.reliability(chance, test.points, weight)
    share = float(np.sum(weight * test.points) / np.sum(weight))
    return Calibration(
        opponent=opponent,
        matches=test.matches,
        slope=slope,
        offset=offset,
        brier=maths.brier(chance, test.points, weight),
        constant=maths.brier(np.full_like(chance, share), test.points, weight),
        error=maths.expected_error(curve),
        curve=curve,
        date=datetime.date.today().isoformat(),
    )
