"""From logits to a legal multi-head action: masks, rules, autoregression, and noise that is given, not drawn.

One compiled sampler serves training, leagues, evaluation and serving, so that all of them choose alike. Shapes: B rows,
H heads, A sum of head sizes. A *column* is a choice's index among all A choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.decision import Decision
from pvp_ml.model.sampling import kernels as kernels
from pvp_ml.spec import Head

NO_FALLBACK = -1
_RULE_CODE = {"all": kernels.ALL, "any": kernels.ANY, "none": kernels.NONE}


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of a game as arrays that the compiled sampler reads."""

    offset: IntArray  # [H+1] first column of each head
    fallback: IntArray  # [H] column that becomes legal when nothing is, or NO_FALLBACK
    rule_start: IntArray  # [A+1] rules of column a are rule_start[a]…rule_start[a+1]
    rule_kind: IntArray  # [rules]
    pick_start: IntArray  # [rules+1]
    pick_column: IntArray  # [picks] earlier columns that a rule speaks of

    @classmethod
    def compile(cls, heads: tuple[Head, ...]) -> Self:
        """Flatten the heads' rules; `check_spec` has already refused references to later heads."""
        offset = np.concatenate([[0], np.cumsum([head.size for head in heads])]).astype(np.int32)
        column = {
            (head.name, choice): int(offset[h]) + i
            for h, head in enumerate(heads)
            for i, choice in enumerate(head.choices)
        }
        fallback = [NO_FALLBACK if h.fallback is None else column[h.name, h.fallback] for h in heads]
        rule_start, pick_start = [0], [0]
        rule_kind: list[int] = []
        pick_column: list[int] = []
        for head in heads:
            for choice in head.choices:
                for rule in (r for r in head.rules if r.choice == choice):
                    rule_kind.append(_RULE_CODE[rule.when])
                    pick_column.extend(column[pick] for pick in rule.picks)
                    pick_start.append(len(pick_column))
                rule_start.append(len(rule_kind))
        ints = (np.array(x, np.int32) for x in (fallback, rule_start, rule_kind, pick_start, pick_column))
        return cls(offset, *ints)

    @property
    def count(self) -> int:
        """H."""
        return len(self.fallback)

    @property
    def columns(self) -> int:
        """A."""
        return int(self.offset[-1])

    def decision(self, rows: int, *, value: bool = False, win: bool = False, probs: bool = False) -> Decision:
        """Arrays for what a policy with these heads decides in `rows` rows."""
        return Decision.allocate(self.count, self.columns, rows, value=value, win=win, probs=probs)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """What the kernels take."""
        return (self.offset, self.fallback, self.rule_start, self.rule_kind, self.pick_start, self.pick_column)


NO_TABLE: FloatArray = np.zeros((0, 0), np.float32)


def choose(heads: Heads, logits: FloatArray, mask: BoolArray, noise: FloatArray, greedy: BoolArray, out: Decision,
           table: FloatArray = NO_TABLE) -> int:  # fmt: skip
    """Pick one choice per head by argmax(logit + noise) over what is legal (Gumbel noise = a sample of the softmax).

    logits, mask, noise [B,A]; greedy [B] ignores the noise. table [A,A]: row of a pick, added to the logits of later
    heads. Returns the first row with a head that has no legal choice and no fallback, or -1.
    """
    return int(
        kernels.choose(
            *heads.arrays, 0, heads.count, logits, table, mask, noise, greedy, out.actions, out.log_prob, out.legal
        )
    )


def choose_head(heads: Heads, head: int, logits: FloatArray, mask: BoolArray, noise: FloatArray, greedy: BoolArray,
                out: Decision, total: npt.NDArray[np.float64]) -> int:  # fmt: skip
    """Like `choose` for one head, once its earlier heads were chosen into `out`; logits [B,A], other columns unread.

    The log-probability of all heads so far is kept in total [B], not in `out`, so that sums are rounded once.
    """
    return int(
        kernels.choose(
            *heads.arrays, head, head + 1, logits, NO_TABLE, mask, noise, greedy, out.actions, total, out.legal
        )
    )


def legal_given(heads: Heads, mask: BoolArray, actions: IntArray) -> BoolArray:
    """[B,A]: what each head could choose from, given the picks that earlier heads made in `actions` [B,H]."""
    legal = np.zeros(mask.shape, np.bool_)
    kernels.legal_given(*heads.arrays, mask, actions, legal)
    return legal


def gumbel_noise(keys: npt.NDArray[np.uint64], mask: BoolArray, out: FloatArray) -> None:
    """Fill out [B,A] with Gumbel noise that depends on each row's key alone; masked-out columns get 0."""
    kernels.gumbel_noise(keys, mask, out)
