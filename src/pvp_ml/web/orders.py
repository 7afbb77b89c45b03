"""Clicks become one multi-head action: what was picked, and nothing in every other head.

A person may always do nothing with a head, even where the mask makes an agent choose: nobody is made to attack because
they ate. Whatever is picked must be legal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, IntArray
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.spec import GameSpec

Picks = Sequence[tuple[str, str]]


class Orders:
    """Turns picks into actions of one game."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._heads = Heads.compile(spec.heads)
        self._index = {
            (head.name, choice): (h, i) for h, head in enumerate(spec.heads) for i, choice in enumerate(head.choices)
        }
        self._nothing = [None if h.fallback is None else h.choices.index(h.fallback) for h in spec.heads]

    @property
    def can_wait(self) -> bool:
        """Whether doing nothing is always possible: then the game need not wait for anybody."""
        return None not in self._nothing

    def read(self, picks: Picks, mask: BoolArray) -> IntArray | None:
        """The action [H] with these picks under mask [A], None for no picks at all.

        Raises UserError for what is unknown, double or illegal.
        """
        chosen: dict[int, int] = {}
        for head, choice in picks:
            if (head, choice) not in self._index:
                raise UserError(f"there is no choice '{choice[:40]}' in a head '{head[:40]}'", "see `pvp-ml game show`")
            h, i = self._index[head, choice]
            if chosen.setdefault(h, i) != i:
                raise UserError(f"'{self._spec.heads[h].choices[chosen[h]]}' and '{choice}' are both '{head}'")
            if not mask[self._heads.offset[h] + i]:
                raise UserError(f"'{choice}' is not legal now")
        if not chosen and self.can_wait:
            return None
        action = np.array([self._pick(h, chosen) for h in range(len(self._nothing))], np.int32)
        legal = legal_given(self._heads, mask[None], action[None])[0]
        for h, i in chosen.items():
            if not legal[self._heads.offset[h] + i]:
                raise UserError(f"'{self._spec.heads[h].choices[i]}' is not legal with the other picks")
        return action

    def _pick(self, head: int, chosen: dict[int, int]) -> int:
        pick = chosen.get(head, self._nothing[head])
        if pick is None:
            raise UserError(f"nothing is picked in '{self._spec.heads[head].name}'", "this game waits for your choice")
        return pick

    def is_legal(self, action: IntArray, mask: BoolArray) -> bool:
        """Whether an agent could have chosen the whole action [H]."""
        legal = legal_given(self._heads, mask[None], action[None])[0]
        return bool(legal[self._heads.offset[:-1] + action].all())
