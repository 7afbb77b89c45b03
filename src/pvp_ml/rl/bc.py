"""Behaviour cloning: the very same network that PPO trains, fitted to recorded decisions.

One match in ten is kept apart, and agreement is measured on those alone. Where the player said what it expected, a win
head learns that too. The critic is not touched: a run that starts from a clone warms it up first. Shape letters as in
`spec`; B rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field

from pvp_ml.errors import UserError
from pvp_ml.match import FloatArray, IntArray
from pvp_ml.model.frame_memory import is_forgetful
from pvp_ml.model.recording import Recording
from pvp_ml.model.sampling.heads import legal_given
from pvp_ml.rl.normalize import moments, update
from pvp_ml.rl.policy.policy import Policy, PolicyOutput
from pvp_ml.rl.policy.sequences import Cuts, Sequences, cut_chains, gather

Ints = npt.NDArray[np.int64]

NEVER_VARIED = 1e-16
"""A variance below this: the feature was the same number in every row."""


class CloneConfig(BaseModel):
    """Options of cloning."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: Annotated[int, Field(ge=1, le=10_000)] = Field(10, description="passes over the recording")
    batch_size: Annotated[int, Field(ge=1)] = Field(1024, description="rows of a minibatch")
    learning_rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="step size of Adam; falls to a tenth")
    held_out: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(0.1, description="share of matches that only measure")
    sequence_length: Annotated[int, Field(ge=1, le=4096)] = Field(64, description="rows of a memory's sequence")
    smoothing: dict[str, Annotated[float, Field(ge=0.0, lt=1.0)]] = Field(
        {}, description="by head: share of the target that is spread over all legal choices"
    )
    seed: int = Field(0, description="split and order follow from it")


@dataclass(frozen=True, slots=True)
class CloneReport:
    """What came of it; `agreement` is the share of rows whose preferred action is the recorded one, in all heads."""

    rows: int
    held_out_rows: int
    loss: float  # mean cross-entropy of the last epoch, to the smoothed target
    held_out_loss: float
    agreement: float
    head_agreement: tuple[float, ...]
    win_error: float = math.nan  # mean distance of the win head's chance from what the player expected; NaN: none


def clone(policy: Policy, recording: Recording, config: CloneConfig, keep_statistics: bool = False) -> CloneReport:
    """Fit the policy; its observation statistics become those of the recording, unless it brings its own."""
    if policy.device.type != "cpu":
        raise UserError("cloning runs on the CPU", "clone first, then train on the GPU")
    rng = np.random.default_rng(config.seed)
    lane_of = np.unique(recording.lane, return_inverse=True)[1]
    is_held = held_out_rows(recording, config.held_out, rng)
    taught, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
    if not len(taught):
        count = len(np.unique(recording.matches))
        raise UserError(f"the recording holds {count} matches, none is left to learn from", "record more")
    if not keep_statistics:
        take_statistics(policy, recording.obs[taught], recording.actions[taught])
    data = _Rows(policy, recording, lane_of, _shares(policy, config.smoothing))
    loss = _fit(policy, data, taught, config, rng)
    measured = held if len(held) else taught
    held_loss, agreement, by_head = _measure(policy, data, measured, config)
    return CloneReport(len(taught), len(held), loss, held_loss, agreement, by_head, _win_error(policy, data, measured))


def held_out_rows(recording: Recording, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """[B] rows that only measure: whole matches, both seats, and at least one match of several."""
    matches, match_of = np.unique(recording.matches, return_inverse=True)
    is_held = rng.random(len(matches)) < share
    if len(matches) > 1 and share > 0:
        is_held[int(rng.integers(len(matches)))] = True
    return np.asarray(is_held[match_of])


def _shares(policy: Policy, smoothing: dict[str, float]) -> torch.Tensor:
    """[H] smoothing of each head."""
    names = [head.name for head in policy.interface.heads]
    if unknown := sorted(set(smoothing) - set(names)):
        raise UserError(f"smoothing: there is no head '{unknown[0]}'", f"heads: {', '.join(names)}")
    return torch.tensor([smoothing.get(name, 0.0) for name in names])


class _Rows:
    """The recording as the network reads it: earlier observations of the same lane stacked beside the newest."""

    def __init__(self, policy: Policy, recording: Recording, lane_of: Ints, smoothing: torch.Tensor) -> None:
        self.recording, self.smoothing = recording, smoothing
        self.weights, self.chance = recording.weights, (1.0 + recording.values) / 2.0
        self.teaches_chance = policy.network.win_head and bool(np.isfinite(self.chance).any())
        if recording.weight is not None and (recording.weight < 1.0).any() and not is_forgetful(policy.network):
            raise UserError(
                "the recording holds mixed decisions, and the network has memory or stacked frames",
                "clone into a network without them",
            )
        self.legal = legal_given(policy.actor().heads, recording.mask, recording.actions)
        order = np.argsort(lane_of, kind="stable")
        first = np.flatnonzero(np.diff(lane_of[order], prepend=-1) != 0)
        age = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        parts = [recording.obs]
        for back in policy.network.frames[1:]:
            past = np.zeros_like(recording.obs)
            has = np.flatnonzero(age >= back)
            past[order[has]] = recording.obs[order[has - back]]
            parts.append(past)
        self.obs: FloatArray = np.concatenate(parts, axis=1)
        self.lane_of = lane_of
        self.memory = policy.network.memory

    def cuts(self, rows: Ints, length: int) -> Cuts:
        """Sequences of these rows; single rows when the network has no memory."""
        if not self.memory:
            return Cuts(np.arange(len(rows)), np.arange(len(rows) + 1))
        order = np.argsort(self.lane_of[rows], kind="stable")
        return cut_chains(order, self.lane_of[rows][order], length)

    def batch(self, rows: Ints, cuts: Cuts, chosen: Ints) -> tuple[Ints, Sequences | None]:
        """Row numbers of the chosen sequences, and how they follow each other; a memory starts empty."""
        if not self.memory:
            return rows[chosen], None
        picked, steps, place = gather(cuts, chosen)
        empty = torch.zeros(steps.shape[1], self.memory)
        return rows[picked], Sequences(torch.from_numpy(steps), torch.from_numpy(place), empty)


def take_statistics(policy: Policy, obs: FloatArray, actions: IntArray) -> None:
    """Make the policy's observation statistics those of obs [B,D], and of the picks where heads read earlier ones."""
    for key, array in policy.normalizer.items():
        array[:] = 1.0 if key.endswith("/var") else 0.0
    update(policy.normalizer, "obs", moments(obs))
    if "pick/mean" in policy.normalizer:
        picks = policy.layout.one_hot(torch.from_numpy(actions).long())
        update(policy.normalizer, "pick", moments(picks.numpy()))


def take_new_statistics(policy: Policy, obs: FloatArray) -> None:
    """Give features that never varied before the statistics of obs [B,D]; the others keep theirs."""
    mean, var = policy.normalizer["obs/mean"], policy.normalizer["obs/var"]
    is_new, seen = var < NEVER_VARIED, moments(obs)
    mean[is_new], var[is_new] = seen.mean[is_new], seen.squares[is_new] / seen.count


def _fit(policy: Policy, data: _Rows, rows: Ints, config: CloneConfig, rng: np.random.Generator) -> float:
    """All epochs; returns the mean loss of the last."""
    actor_size = policy.critic_start
    weights = torch.nn.Parameter(policy.flat[:actor_size])
    gradient = torch.zeros(policy.size)
    policy.bind_gradients(gradient)
    weights.grad = gradient[:actor_size]
    adam = torch.optim.Adam([weights], lr=config.learning_rate)
    cuts = data.cuts(rows, config.sequence_length)
    per_batch = max(1, round(config.batch_size * (len(cuts.start) - 1) / len(rows)))
    total = 0.0
    for epoch in range(config.epochs):
        adam.param_groups[0]["lr"] = config.learning_rate * (1.0 - 0.9 * epoch / config.epochs)
        order, total = rng.permutation(len(cuts.start) - 1), 0.0
        for low in range(0, len(order), per_batch):
            picked, memory = data.batch(rows, cuts, order[low : low + per_batch])
            gradient.zero_()
            loss, win_loss = _losses(policy, data, picked, memory)
            torch.autograd.backward((loss + win_loss) / float(data.weights[picked].sum()))
            adam.step()
            total += float(loss.detach())
    return total / float(data.weights[rows].sum())


def _evaluate(
    policy: Policy, data: _Rows, rows: Ints, memory: Sequences | None, with_log_probs: bool = False
) -> PolicyOutput:
    actions = torch.from_numpy(data.recording.actions[rows]).long()
    hidden = torch.zeros(len(rows), policy.interface.privileged_size) if policy.network.privileged else None
    obs, legal = torch.from_numpy(data.obs[rows]), torch.from_numpy(data.legal[rows])
    return policy.evaluate(obs, hidden, legal, actions, memory, with_log_probs)


def _losses(
    policy: Policy, data: _Rows, rows: Ints, memory: Sequences | None
) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Weighted sums of cross-entropies: to the recorded choices of all heads, mixed with all legal ones where asked;
    and of the win head to what the player expected.
    """
    weights, is_smooth = torch.from_numpy(data.weights[rows]), bool(data.smoothing.any())
    evaluated = _evaluate(policy, data, rows, memory, with_log_probs=is_smooth)
    win_loss: torch.Tensor | float = 0.0
    if data.teaches_chance:
        assert evaluated.win_logit is not None
        chance = torch.from_numpy(data.chance[rows])
        cross = torch.nn.functional.binary_cross_entropy_with_logits(
            evaluated.win_logit, chance.nan_to_num(0.5), reduction="none"
        )
        win_loss = (cross * weights * ~chance.isnan()).sum()
    if not is_smooth:
        return -(evaluated.log_prob * weights).sum(), win_loss
    assert evaluated.log_probs is not None
    actions = torch.from_numpy(data.recording.actions[rows]).long()
    chosen = evaluated.log_probs.gather(2, actions.unsqueeze(2)).squeeze(2)
    legal = policy.layout.pad_legal(torch.from_numpy(data.legal[rows]))
    spread = torch.where(legal, evaluated.log_probs, 0.0).sum(2) / legal.sum(2)
    return -(torch.lerp(chosen, spread, data.smoothing) * weights[:, None]).sum(), win_loss


def _measure(policy: Policy, data: _Rows, rows: Ints, config: CloneConfig) -> tuple[float, float, tuple[float, ...]]:
    """Mean loss, joint agreement and agreement per head of greedy play on these rows."""
    actor, heads = policy.actor(), len(policy.interface.heads)
    cuts, total = data.cuts(rows, config.sequence_length), 0.0
    same, weights = np.zeros((len(rows), heads), np.bool_), np.zeros(len(rows))
    done = 0
    for low in range(0, len(cuts.start) - 1, 4096):
        picked, memory = data.batch(rows, cuts, np.arange(low, min(low + 4096, len(cuts.start) - 1)))
        with torch.no_grad():
            lost = _evaluate(policy, data, picked, memory).log_prob * torch.from_numpy(data.weights[picked])
            total -= float(lost.sum())
        out = actor.heads.decision(len(picked))
        state = None if memory is None else _states(policy, data, picked, memory)
        actor.act(data.obs[picked], data.recording.mask[picked].copy(), np.zeros(len(picked), np.uint64),
                  np.ones(len(picked), np.bool_), out, memory=state)  # fmt: skip
        same[done : done + len(picked)] = out.actions == data.recording.actions[picked]
        weights[done : done + len(picked)] = data.weights[picked]
        done += len(picked)
    shares = weights / weights.sum()
    return total / float(weights.sum()), float(shares @ same.all(axis=1)), tuple(float(x) for x in shares @ same)


def _win_error(policy: Policy, data: _Rows, rows: Ints) -> float:
    """Mean distance of the win head's chance from what the player expected, over the rows where it said so."""
    said = rows[np.isfinite(data.chance[rows])]
    if not data.teaches_chance or not len(said) or policy.network.memory:
        return math.nan
    found = np.asarray(policy.actor().evaluate(data.obs[said])[1], np.float64)
    return float(np.average(np.abs(found - data.chance[said]), weights=data.weights[said]))


def _states(policy: Policy, data: _Rows, rows: Ints, memory: Sequences) -> FloatArray:
    """[B,G]: the memory before each row."""
    with torch.no_grad():
        after = policy.memory_after(torch.from_numpy(data.obs[rows]), memory)
    padded = torch.cat([after, after.new_zeros(1, after.shape[1])])
    before = torch.cat([memory.memory[None], padded[memory.steps[:-1]]]) if len(memory.steps) else memory.memory[None]
    states: FloatArray = before.reshape(-1, after.shape[1])[memory.place].numpy().copy()
    return states
