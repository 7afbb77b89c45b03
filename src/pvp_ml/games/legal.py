"""What may be chosen: a game's masks, rules and fallbacks applied to arrays of actions.

Games use it to refuse wrong actions by name; bots, adapters and the conformance check use it to choose legally.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.match import IDLE, ActionError, BoolArray
from pvp_ml.model.sampling.rules import rule_matrices
from pvp_ml.spec import GameSpec

Ints = npt.NDArray[np.integer]


class Legality:
    """The masks, rules and fallbacks of one spec, ready for arrays."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.offsets = np.concatenate([[0], np.cumsum(spec.head_sizes)]).astype(np.int64)
        self._has_rules = [bool(head.rules) for head in spec.heads]
        self._matrices = rule_matrices(spec.heads)
        self._is_plain = not any(head.rules or head.fallback for head in spec.heads)  # the mask alone decides
        self._fallbacks = [None if h.fallback is None else h.choices.index(h.fallback) for h in spec.heads]

    def legal(self, h: int, mask: BoolArray, picks: Ints) -> BoolArray:
        """Legal choices [N, size of head h], given masks [N,A] and the picks [N, ≥h] of the earlier heads.

        A row where mask and rules leave nothing gets the head's fallback; without a fallback it stays empty.
        """
        legal: BoolArray = mask[:, self.offsets[h] : self.offsets[h + 1]]
        if self._has_rules[h]:
            needs, wanted, anyone, has_any, bars = self._matrices
            own, before = slice(self.offsets[h], self.offsets[h + 1]), self.offsets[h]
            made = np.zeros((len(mask), before), np.float32)
            np.put_along_axis(made, picks[:, :h] + self.offsets[:h], 1.0, axis=1)
            legal = legal & (made @ needs[:before, own] == wanted[own]) & (made @ bars[:before, own] == 0.0)
            legal &= ~has_any[own] | (made @ anyone[:before, own] > 0.0)
        fallback = self._fallbacks[h]
        if fallback is not None:
            empty = ~legal.any(1)
            if empty.any():
                legal = legal.copy()
                legal[empty, fallback] = True
        return legal

    def choose(self, mask: BoolArray, uniforms: npt.NDArray[np.floating]) -> npt.NDArray[np.int32]:
        """Uniformly random legal actions [N,H] from masks [N,A] and numbers in [0, 1) [N,H]."""
        picks = np.zeros((len(mask), len(self.spec.heads)), np.int32)
        for h, head in enumerate(self.spec.heads):
            legal = self.legal(h, mask, picks)
            counts = legal.sum(1)
            if not counts.all():
                raise ActionError(
                    f"game '{self.spec.name}', head '{head.name}': nothing is legal", "give the head a fallback"
                )
            wanted = (uniforms[:, h] * counts).astype(np.int64)
            picks[:, h] = (np.cumsum(legal, axis=1) > wanted[:, None]).argmax(1)
        return picks

    def check(self, actions: Ints, acting: BoolArray, mask: BoolArray) -> None:
        """Refuse actions [M,S,H] whose shape, range, mask or rules are wrong; names the first offender.

        `acting` [M,S] and `mask` [M,S,A] are the game's own, as last written. Seats that do not act are ignored, and
        so are acting seats with IDLE in every head.
        """
        check_actions(self.spec, actions, acting)
        rows, seats = np.nonzero(acting & (actions[:, :, 0] != IDLE))
        picks, masks = actions[rows, seats], mask[rows, seats]
        if self._is_plain and masks[np.arange(len(rows))[:, None], picks + self.offsets[:-1]].all():
            return
        for h, head in enumerate(self.spec.heads):
            legal = self.legal(h, masks, picks)
            allowed = np.take_along_axis(legal, picks[:, h : h + 1].astype(np.int64), axis=1)[:, 0]
            if not allowed.all():
                at = int(np.flatnonzero(~allowed)[0])
                choices = [c for c, ok in zip(head.choices, legal[at], strict=True) if ok]
                raise ActionError(
                    f"match {rows[at]}, seat {seats[at]}: head '{head.name}' may not pick "
                    f"'{head.choices[int(picks[at, h])]}' now",
                    f"legal are: {', '.join(choices[:12])}"
                    if choices
                    else "nothing is legal: the game's mask is empty",
                )


def check_actions(spec: GameSpec, actions: Ints, acting: BoolArray) -> None:
    """Refuse an action array of the wrong shape or type, half-idle seats and choices outside their head.

    `actions` [M,S,H] whole numbers; only seats that act ([M,S]) are looked at. Raises ActionError, changes nothing.
    """
    wanted = (*acting.shape, len(spec.heads))
    if not isinstance(actions, np.ndarray) or actions.dtype.kind not in "iu":
        got = getattr(actions, "dtype", type(actions).__name__)
        raise ActionError(f"game '{spec.name}': actions are {got}", "give a numpy array of int32")
    if actions.shape != wanted:
        raise ActionError(
            f"game '{spec.name}': actions have shape {actions.shape}, expected {wanted}", "matches × seats × heads"
        )
    idle = actions == IDLE
    wrong = (actions < 0) | (actions >= np.asarray(spec.head_sizes))
    wrong &= ~idle.all(-1, keepdims=True) & acting[:, :, None]
    if wrong.any():
        match, seat, h = (int(i) for i in np.argwhere(wrong)[0])
        head, value = spec.heads[h], int(actions[match, seat, h])
        hint = f"IDLE ({IDLE}) must be in every head of a seat or in none" if value == IDLE else "count from 0"
        raise ActionError(
            f"match {match}, seat {seat}: head '{head.name}' has {head.size} choices, got {value}",
            f"{hint}; see `pvp-ml game show {spec.name} --actions`",
        )
