"""The policy's likeliest joint choices, with their probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.vgc.actions import NO_PREVIEW, PASS, PREVIEWS, SLOT_SIZE
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.actor import Actor

PREVIEW_SIZE = 1 + len(PREVIEWS)
LEFT = slice(PREVIEW_SIZE, PREVIEW_SIZE + SLOT_SIZE)
RIGHT = slice(PREVIEW_SIZE + SLOT_SIZE, PREVIEW_SIZE + 2 * SLOT_SIZE)


@dataclass(frozen=True, slots=True)
class Candidates:
    """K joint choices, likeliest first."""

    actions: IntArray  # [K,3]
    prior: npt.NDArray[np.float64]  # [K] their probabilities; all that were left out make up the rest


def probabilities(actor: Actor, obs: FloatArray, mask: BoolArray) -> FloatArray:
    """[B,A]: probability of each choice of each head, given the greedy picks before it."""
    out = actor.heads.decision(len(obs), probs=True)
    actor.act(obs, mask, np.zeros(len(obs), np.uint64), np.ones(len(obs), np.bool_), out)
    assert out.probs is not None
    return out.probs


def candidates(actor: Actor, obs: FloatArray, mask: BoolArray, most: int) -> Candidates:
    """The likeliest joint choices of one observation [D] under its mask [A]."""
    if not mask[NO_PREVIEW]:
        chance = probabilities(actor, obs[None], mask[None])[0, :PREVIEW_SIZE].astype(np.float64)
        best = _best(chance, most)
        actions = np.stack([best, np.full(len(best), PASS), np.full(len(best), PASS)], axis=1)
        return Candidates(actions.astype(np.int32), chance[best])
    lefts = np.flatnonzero(mask[LEFT])
    masks = np.repeat(mask[None], len(lefts) + 1, axis=0)
    masks[1:, LEFT] = False
    masks[np.arange(1, len(lefts) + 1), PREVIEW_SIZE + lefts] = True
    chance = probabilities(actor, np.repeat(obs[None], len(masks), axis=0), masks).astype(np.float64)
    joint = chance[0, LEFT][lefts][:, None] * chance[1:, RIGHT]  # [lefts,47]
    best = _best(joint.ravel(), most)
    left, right = lefts[best // SLOT_SIZE], best % SLOT_SIZE
    actions = np.stack([np.full(len(best), NO_PREVIEW), left, right], axis=1)
    return Candidates(actions.astype(np.int32), joint.ravel()[best])


def _best(chance: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.intp]:
    """Places of the largest numbers above zero, largest first; ties by place."""
    order = np.argsort(-chance, kind="stable")[:most]
    return order[chance[order] > 0.0]
