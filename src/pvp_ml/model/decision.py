"""What a policy decides: one type for the trainer, matches, the server and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pvp_ml.match import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Decision:
    """Arrays that a policy writes for B rows: preallocate once, reuse every step. None = not asked for."""

    actions: IntArray  # [B,H]
    log_prob: FloatArray  # [B] joint, over all heads
    legal: BoolArray  # [B,A] mask after rules, fallbacks and the picks made: what learning needs
    value: FloatArray | None = None  # [B]
    win: FloatArray | None = None  # [B] chance to win; needs a network with a win head
    probs: FloatArray | None = None  # [B,A] of each head's choices, given the picks before it

    @classmethod
    def allocate(
        cls, heads: int, columns: int, rows: int, *, value: bool = False, win: bool = False, probs: bool = False
    ) -> Self:
        """Zeroed arrays for `rows` rows of `heads` heads with `columns` choices in all."""
        return cls(
            np.zeros((rows, heads), np.int32),
            np.zeros(rows, np.float32),
            np.zeros((rows, columns), np.bool_),
            np.zeros(rows, np.float32) if value else None,
            np.zeros(rows, np.float32) if win else None,
            np.zeros((rows, columns), np.float32) if probs else None,
        )

    def part(self, rows: slice) -> Decision:
        """A view of some rows."""
        return Decision(
            self.actions[rows],
            self.log_prob[rows],
            self.legal[rows],
            None if self.value is None else self.value[rows],
            None if self.win is None else self.win[rows],
            None if self.probs is None else self.probs[rows],
        )
