"""What handicaps cost a model: its rating at each of them, against opponents of known rating or against itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.dial import Dial, MapPoint, handicap_dial
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.ratings import Strength, bradley_terry
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.selfplay.tournament import ROWS, reference_rating

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
"""Handicaps that are measured: closer together where the first slips cost most."""
NEIGHBOURS = 3
"""Without rungs of known rating, a handicap meets so many of its neighbours."""

Tell = Callable[[str], None]


class HandicapStudy:
    """Measures one model at dials; `rungs` are opponents of known rating, `matches` are played against each."""

    def __init__(self, kind: GameType, config: GameConfig, bundle: Bundle,
                 rungs: Mapping[str, tuple[Contestant, float]], matches: int) -> None:  # fmt: skip
        self._kind, self._config, self._bundle = kind, config, bundle
        self._rungs, self._matches = rungs, matches

    def course(self, seed: int, tell: Tell) -> tuple[MapPoint, ...]:
        """The rating at every handicap of GRID."""
        dials = [handicap_dial(handicap) for handicap in GRID]
        return tuple(
            MapPoint(handicap, round(s.rating, 1), round(s.low, 1), round(s.high, 1), int(s.matches))
            for handicap, s in zip(GRID, self.rate(dials, seed, tell), strict=True)
        )

    def rate(self, dials: Sequence[Dial], seed: int, tell: Tell) -> list[Strength]:
        """The rating at each dial, in the rungs' points; without rungs in points around 1000."""
        sides = [Contestant.of_bundle(f"{n}", self._bundle, dial=dial) for n, dial in enumerate(dials)]
        return self._by_rungs(sides, seed, tell) if self._rungs else self._among_themselves(sides, seed, tell)

    def _by_rungs(self, sides: Sequence[Contestant], seed: int, tell: Tell) -> list[Strength]:
        known = {name: rating for name, (_, rating) in self._rungs.items()}
        found = []
        for number, side in enumerate(sides):
            reports = {name: self._play(side, rung, seed) for name, (rung, _) in self._rungs.items()}
            found.append(reference_rating(reports, known))
            tell(f"{number + 1} of {len(sides)}: {found[-1].rating:.0f}")
        return found

    def _among_themselves(self, sides: Sequence[Contestant], seed: int, tell: Tell) -> list[Strength]:
        points = np.zeros((len(sides), len(sides)))
        for i, first in enumerate(sides):
            for j in range(i + 1, min(len(sides), i + 1 + NEIGHBOURS)):
                total = self._play(first, sides[j], seed).total
                points[i, j], points[j, i] = total.wins + 0.5 * total.ties, total.losses + 0.5 * total.ties
            tell(f"{i + 1} of {len(sides)}")
        return bradley_terry([side.name for side in sides], points)

    def _play(self, first: Contestant, second: Contestant, seed: int) -> Evaluation:
        game = self._kind.build(self._config, min(self._matches, ROWS))
        try:
            return evaluate(game, first, second, self._matches, seed)
        finally:
            game.close()
