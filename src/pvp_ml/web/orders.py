"""Clicks become one multi-head action: what was picked, and 'nothing' in every other head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, IntArray
from pvp_ml.sampling import Choice, Heads, choose
from pvp_ml.spec import GameSpec

Picks = Sequence[tuple[str, str]]
_PICKED, _NOTHING = 2.0, 1.0


class Orders:
    """Turns picks into legal actions of one game. Heads without a pick take their fallback, else their first choice."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._heads = Heads.compile(spec.heads)
        self._column = {
            (head.name, choice): int(self._heads.offset[h]) + i
            for h, head in enumerate(spec.heads)
            for i, choice in enumerate(head.choices)
        }
        self._wish = np.zeros((1, spec.mask_size), np.float32)
        for head in spec.heads:
            if head.fallback is not None:
                self._wish[0, self._column[head.name, head.fallback]] = _NOTHING
        self._still = np.zeros((1, spec.mask_size), np.float32)
        self._out = Choice.allocate(self._heads, 1)

    @property
    def can_wait(self) -> bool:
        """Whether doing nothing is always possible: then the game need not wait for anybody."""
        return all(head.fallback is not None for head in self._spec.heads)

    def read(self, picks: Picks, mask: BoolArray) -> IntArray:
        """The action [H] with these picks under mask [A]; raises UserError for what is unknown, double or illegal."""
        chosen: dict[str, str] = {}
        wish = self._wish.copy()
        for head, choice in picks:
            if (head, choice) not in self._column:
                raise UserError(f"there is no choice '{choice[:40]}' in a head '{head[:40]}'", "see `pvp-ml game show`")
            if chosen.setdefault(head, choice) != choice:
                raise UserError(f"'{chosen[head]}' and '{choice}' are both '{head}'", "choose one")
            if not mask[self._column[head, choice]]:
                raise UserError(f"'{choice}' is not legal now")
            wish[0, self._column[head, choice]] = _PICKED
        if choose(self._heads, wish, mask[None], self._still, np.ones(1, np.bool_), self._out) >= 0:
            raise UserError("these picks leave a head without a choice", "pick in every head")
        for head, index in zip(self._spec.heads, self._out.actions[0].tolist(), strict=True):
            if chosen.get(head.name, head.choices[index]) != head.choices[index]:
                raise UserError(f"'{chosen[head.name]}' is not legal with the other picks")
        return self._out.actions[0].copy()
