"""A Connect 4 player that likes the middle."""

from __future__ import annotations

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.players import PlayerType, uniform
from pvp_ml.spec import GameSpec

COLUMNS = 7


class CentrePlayer:
    """Remembers nothing, so one object may hold any number of seats."""

    def __init__(self, spec: GameSpec) -> None:
        if spec.head_sizes != (COLUMNS,):
            raise UserError(f"player 'centre' needs {COLUMNS} columns, game '{spec.name}' has {spec.head_sizes}")
        self._distance = np.abs(np.arange(COLUMNS) - COLUMNS // 2)

    def begin(self, serials: np.ndarray) -> None:
        """Matches start: nothing to forget."""

    def end(self, serials: np.ndarray) -> None:
        """Matches are over: nothing to forget."""

    def decide(
        self, serials: np.ndarray, seats: np.ndarray, obs: np.ndarray, mask: np.ndarray, keys: np.ndarray
    ) -> np.ndarray:
        """The legal column nearest to the middle; chance decides between two of the same distance."""
        cost = self._distance + 0.5 * uniform(keys, COLUMNS) + 100.0 * ~mask
        return cost.argmin(1).astype(np.int32)[:, None]


PLAYER = PlayerType("centre", "the column nearest to the middle", CentrePlayer, games=("connect4",))
