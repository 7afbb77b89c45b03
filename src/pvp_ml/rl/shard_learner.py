"""The learning half of a shard: rows of one rollout, their advantages, and the gradients of minibatches.

It sees a rollout and weights and no game, so it runs beside the game (local shards) or in the trainer's process, on a
rollout that came over the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.chance import scramble
from pvp_ml.match import FloatArray
from pvp_ml.rl import win_head
from pvp_ml.rl.accelerator import Accelerator, accelerator_for, backward, judge
from pvp_ml.rl.kernels.returns import discounted_returns
from pvp_ml.rl.loss import SUMS, LossWeights, Minibatch, PpoConfig
from pvp_ml.rl.normalize import Moments, moments
from pvp_ml.rl.novelty import add_novelty
from pvp_ml.rl.policy.mlp import PlainBatch, PlainGradient, is_plain_policy
from pvp_ml.rl.policy.plain_input import PlainRows
from pvp_ml.rl.policy.policy import Anchor, Policy
from pvp_ml.rl.policy.sequences import Cuts, Sequences, cut, gather
from pvp_ml.rl.rollout import ReturnTerms, Rollout, Rows

MAX_CORRECTION = 2.0
"""Largest weight of a row that an older policy acted."""

CORRECTION_ROWS = 4096
"""Rows, or sequences of a memory, whose log-probabilities are computed again at once."""

STATISTICS_SHARE = 0.25
"""Share of rows from which observation statistics are taken: neighbouring rows are nearly the same."""
_STATISTICS_CHANNEL = 7003


class Piece(NamedTuple):
    """Which rows of the rollout: minibatch `part` of `parts` in this epoch; `clock` is the rollout's number."""

    clock: int
    epoch: int
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class RowStats:
    """What the trainer must know of a shard's rows before learning."""

    rows: int
    advantage: tuple[float, float]  # sum, sum of squares
    returns: tuple[float, float]  # sum, sum of squares
    obs: Moments
    privileged: Moments
    picks: Moments
    limited: tuple[int, int]  # steps whose reward was cut, all steps of its seats
    ended: tuple[float, float] = (0.0, 0.0)  # matches that the win head learns the result of, sum of their decisions


@dataclass(slots=True)
class ShardTrainee:
    """A trainee as one shard sees it: same weights, its own gradient."""

    name: str
    policy: Policy
    config: PpoConfig
    gradient: torch.Tensor  # [size], what this shard adds
    anchors: dict[str, Anchor]
    rows: Rows | None = None
    cuts: Cuts | None = None
    chains: win_head.Chains | None = None  # rows by match, when there is a win head
    lessons: win_head.Lessons | None = None
    win_weight: FloatArray | None = None  # [B]
    win_logit: FloatArray | None = None  # [B] of the last pass over the rows
    order: npt.NDArray[np.int64] | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    log_prob: FloatArray | None = None  # [B] under the present weights, where the rows were acted by older ones
    accelerator: Accelerator | None = None  # judges minibatches elsewhere or in another precision
    plain: PlainGradient | None = None  # judges those of a plain network, without torch
    correction: FloatArray | None = None  # [B] what such a row's advantage is multiplied by


class ShardLearner:
    """Gives gradients of one rollout, minibatch by minibatch."""

    def __init__(self, rank: int, seed: int, rollout: Rollout, shares: list[ShardTrainee]) -> None:
        self.rank = rank
        self.rollout = rollout
        self.shares = {share.name: share for share in shares}
        self._order = [share.name for share in shares]
        self._seed = seed
        self.running = np.zeros(rollout.reward.shape[1:], np.float32)  # [M,S] discounted reward so far
        self._returns = np.zeros_like(rollout.reward)
        self.waiting = np.zeros((self.running.size, len(win_head.WAITING)))  # [M·S,4] predictions of unfinished matches
        for share in shares:
            share.policy.bind_gradients(share.gradient)
            share.accelerator = accelerator_for(share.policy, share.config.device, share.config.precision)
            if share.accelerator is None and is_plain_policy(share.policy):
                share.plain = PlainGradient(share.policy, share.gradient, share.anchors)

    def add_novelty(self, coefficients: FloatArray) -> float:
        """Pay each trainee for the unusual: see `novelty`. Returns the sum paid."""
        rollout, paid = self.rollout, 0.0
        for k, share in enumerate(self.shares.values()):
            if coefficients[k] > 0.0:
                paid += add_novelty(rollout, k, share.policy, float(coefficients[k]))
        return paid

    def reward_moments(self, gamma: FloatArray) -> list[Moments]:
        """Per trainee: moments of the discounted reward that its lanes had collected at each step; gamma [trainees]."""
        rollout = self.rollout
        discounted_returns(
            1, rollout.length, rollout.seated, rollout.reward, rollout.end, gamma, self.running, self._returns
        )
        seated = rollout.played()
        return [moments(self._returns[1:][seated == k][:, None]) for k in range(len(self._order))]

    def forget_returns(self) -> None:
        """What was collected so far in running matches was paid for something else."""
        self.running[:] = 0.0

    def finish(self, terms: ReturnTerms, clock: int = 0) -> list[RowStats]:
        """Advantages of all rows; `clock` is the rollout's number."""
        self.rollout.advantages(terms)
        return [self._facts(share, k, terms, clock) for k, share in enumerate(self.shares.values())]

    def _facts(self, share: ShardTrainee, k: int, terms: ReturnTerms, clock: int) -> RowStats:
        rollout = self.rollout
        rows = share.rows = rollout.rows(k)
        share.log_prob = share.correction = None
        network = share.policy.network
        if network.memory:
            share.cuts = cut(rows.index, rollout.end, rollout.shape.seats, share.config.sequence_length)
        ended = self._lessons(share, k) if network.win_head else (0.0, 0.0)
        paid = np.abs(rollout.reward[1:][rollout.played() == k]) * terms.scale[k]
        picked = self._sample(rows.index, k, clock)
        return RowStats(
            rows=len(rows.index),
            advantage=_sums(rows.advantage),
            returns=_sums(rows.returns),
            obs=moments(rollout.flat("obs"), picked),
            privileged=moments(rollout.flat("privileged"), picked),
            picks=self._pick_moments(share, picked),
            limited=(int((paid > terms.limit[k]).sum()), len(paid)),
            ended=ended,
        )

    def _lessons(self, share: ShardTrainee, k: int) -> tuple[float, float]:
        """Label the rows for the win head; returns the matches that have ended and the sum of their decisions."""
        rollout, rows = self.rollout, share.rows
        assert rows is not None
        found = share.chains = win_head.chains(rollout, rows.index)
        lane, last = win_head.last_decisions(rollout, k)
        at_cut = np.full(self.running.size, np.nan, np.float32)
        with torch.no_grad():
            memory = torch.from_numpy(rollout.flat("memory")[last]) if share.policy.network.memory else None
            at_cut[lane] = torch.sigmoid(share.policy.win_logits(self._seen(last), memory)).numpy()
        share.lessons = win_head.lessons(found, self.waiting, at_cut)
        share.win_logit = np.full(len(rows.index), np.nan, np.float32)
        share.win_weight = None
        return share.lessons.ended

    def _seen(self, index: npt.NDArray[np.int64]) -> torch.Tensor:
        """[B,N] stacked observations of rows."""
        obs = torch.from_numpy(self.rollout.flat("obs")[index])
        past = self.rollout.flat("past")
        return torch.cat([obs, torch.from_numpy(past[index])], dim=1) if past.shape[1] else obs

    def _sample(self, index: npt.NDArray[np.int64], k: int, clock: int) -> npt.NDArray[np.int64]:
        """A share of the rows, drawn again for every rollout: a fixed stride would repeat seats and matches."""
        rng = np.random.default_rng(scramble(self._seed, _STATISTICS_CHANNEL, self.rank, clock, k))
        count = math.ceil(STATISTICS_SHARE * len(index))
        return index[np.sort(rng.choice(len(index), count, replace=False))]

    def _pick_moments(self, share: ShardTrainee, picked: npt.NDArray[np.int64]) -> Moments:
        if share.policy.network.heads != "mlp":
            return moments(np.zeros((0, 1)))
        actions = torch.as_tensor(self.rollout.flat("actions")[picked], dtype=torch.int64)
        return moments(share.policy.layout.one_hot(actions).numpy())

    def correct(self) -> float:
        """The rows were acted by older weights: judge them by the present ones; returns the mean correction.

        Ratios then start at 1, as PPO wants, and a row's advantage counts by how much likelier its choice has become
        (decoupled PPO), at most MAX_CORRECTION. Call it after `finish`.
        """
        total = weight = 0.0
        for share in self.shares.values():
            assert share.rows is not None, "finish() comes first"
            acted = self.rollout.flat("log_prob")[share.rows.index]
            share.log_prob = self._log_probs(share, acted)
            share.correction = np.minimum(np.exp(share.log_prob - acted), np.float32(MAX_CORRECTION))
            total += len(acted)
            weight += float(share.correction.sum(dtype=np.float64))
        return weight / total if total else 1.0

    def _log_probs(self, share: ShardTrainee, acted: FloatArray) -> FloatArray:
        """[B] log-probability of every row's choices under the present weights."""
        known = acted.copy()
        units = np.arange(len(acted) if share.cuts is None else len(share.cuts.start) - 1)
        for low in range(0, len(units), CORRECTION_ROWS):
            chosen = units[low : low + CORRECTION_ROWS]
            batch = self._minibatch(share, chosen)
            with torch.no_grad():
                log_prob = (
                    share.accelerator.log_prob(batch) if share.accelerator else judge(share.policy, batch).log_prob
                )
            known[chosen if share.cuts is None else gather(share.cuts, chosen)[0]] = log_prob.numpy()
        return known

    def normalise_advantages(self, name: str, mean: float, deviation: float) -> None:
        """Use (advantage − mean) / deviation from now on."""
        self.shares[name].scale = (mean, 1.0 / deviation)

    def gradient(
        self, name: str, clock: int, epoch: int, part: int, parts: int, weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """Write the summed gradient of this shard's rows of a minibatch; returns the loss's sums."""
        share = self.shares[name]
        assert share.rows is not None, "finish() comes first"
        if part == 0:
            rng = np.random.default_rng(scramble(self._seed, self.rank, clock, epoch, self._order.index(name)))
            share.order = rng.permutation(len(share.rows.index) if share.cuts is None else len(share.cuts.start) - 1)
            if share.lessons is not None:
                share.win_weight = win_head.row_weights(share.lessons, weights.win_length)
        assert share.order is not None
        total = len(share.order)
        low, high = total * part // parts, total * (part + 1) // parts
        share.gradient.zero_()
        if low == high:
            return np.zeros(len(SUMS) + len(share.policy.interface.heads))
        accelerator = share.accelerator
        chosen = share.order[low:high]
        if share.plain is not None:
            sums, win_logit = share.plain.add(self._plain_rows(), self._plain_batch(share, chosen), weights)
            if win_logit is not None and share.win_logit is not None:
                share.win_logit[chosen] = win_logit
            return sums
        if accelerator is None:
            judged = backward(share.policy, self._minibatch(share, chosen), share.anchors, weights)
        else:
            if accelerator.is_mixed and share.log_prob is None:  # ratios start at 1 in the precision that they end in
                share.log_prob = self._log_probs(share, self.rollout.flat("log_prob")[share.rows.index])
            batch = self._minibatch(share, chosen)
            judged = accelerator.backward(batch, share.anchors, weights, share.gradient)
        if judged.win_logit is not None and share.win_logit is not None:
            rows = chosen if share.cuts is None else gather(share.cuts, chosen)[0]
            share.win_logit[rows] = judged.win_logit.numpy()
        return judged.sums.double().numpy()

    def _minibatch(self, share: ShardTrainee, order: npt.NDArray[np.int64]) -> Minibatch:
        rollout, rows = self.rollout, share.rows
        assert rows is not None
        memory = None
        if share.cuts is not None:
            order, steps, place = gather(share.cuts, order)
            first = rollout.flat("memory")[rows.index[order[steps[0]]]]
            memory = Sequences(torch.from_numpy(steps), torch.from_numpy(place), torch.from_numpy(first))
        index = rows.index[order]

        def pick(name: str) -> torch.Tensor:
            return torch.from_numpy(rollout.flat(name)[index])

        return Minibatch(
            obs=self._seen(index),
            privileged=pick("privileged") if share.policy.network.privileged else None,
            legal=pick("mask"),
            actions=pick("actions").long(),
            log_prob=pick("log_prob") if share.log_prob is None else torch.from_numpy(share.log_prob[order]),
            value=pick("value"),
            advantage=torch.from_numpy(self._advantages(share, order)),
            returns=torch.from_numpy(rows.returns[order]),
            won=None if share.lessons is None else torch.from_numpy(share.lessons.won[order]),
            win_weight=None if share.win_weight is None else torch.from_numpy(share.win_weight[order]),
            memory=memory,
        )

    def _plain_rows(self) -> PlainRows:
        return PlainRows(*(self.rollout.flat(field.name) for field in fields(PlainRows)))

    def _plain_batch(self, share: ShardTrainee, order: npt.NDArray[np.int64]) -> PlainBatch:
        rows = share.rows
        assert rows is not None
        index = rows.index[order]
        return PlainBatch(
            index=index,
            log_prob=self.rollout.flat("log_prob")[index] if share.log_prob is None else share.log_prob[order],
            advantage=self._advantages(share, order),
            returns=rows.returns[order],
            won=None if share.lessons is None else share.lessons.won[order],
            win_weight=None if share.win_weight is None else share.win_weight[order],
        )

    def _advantages(self, share: ShardTrainee, order: npt.NDArray[np.int64]) -> FloatArray:
        """[B] normalised, to the configured power, and corrected where older weights acted."""
        assert share.rows is not None
        mean, scale = share.scale
        advantage = (share.rows.advantage[order] - np.float32(mean)) * np.float32(scale)
        if share.config.advantage_power != 1.0:
            advantage = np.copysign(np.abs(advantage) ** np.float32(share.config.advantage_power), advantage)
        return advantage if share.correction is None else advantage * share.correction[order]

    def carry(self) -> list[npt.NDArray[np.float64]]:
        """Learning is over: keep the rows whose next decision has not come.

        Returns per trainee how well its win head foresaw the matches that ended, as `win_head.measure` does.
        """
        after = self.waiting.copy()
        after[np.repeat((self.rollout.end != 0).any(axis=0), self.rollout.shape.seats)] = 0.0
        found = [self._foreseen(share, after) for share in self.shares.values()]
        self.waiting[:] = after
        self.rollout.carry()
        return found

    def _foreseen(self, share: ShardTrainee, after: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if share.chains is None or share.win_logit is None:
            return np.zeros((2, len(win_head.MEASURES)))
        return win_head.measure(share.chains, share.win_logit, self.waiting, after)

    def drop(self) -> None:
        """Discard the rollout without learning from it; matches continue."""
        self.rollout.drop()
        self.waiting[:] = 0.0


def _sums(values: FloatArray) -> tuple[float, float]:
    wide = values.astype(np.float64)
    return float(wide.sum()), float(np.square(wide).sum())
