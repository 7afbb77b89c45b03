"""Proximal policy optimisation: its loss as a pure function; its options are in `ppo_config`.

Shape letters as in `spec`; B rows of a minibatch. Everything that is averaged is returned as a sum over rows, so that
shards can add theirs and the result does not depend on how rows were split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pvp_ml.rl.policy.policy import PolicyOutput
from pvp_ml.rl.policy.sequences import Sequences
from pvp_ml.rl.ppo_config import PpoConfig as PpoConfig
from pvp_ml.rl.schedule.schedule import Progress


@dataclass(frozen=True, slots=True)
class LossWeights:
    """The options of the loss as numbers, at one moment of the run."""

    clip: float
    value_clip: float | None
    value_coef: float
    entropy: tuple[float, ...]  # per head
    win_coef: float
    teacher: float
    magnet: float
    policy: float = 1.0  # 0 while only the critic learns
    win_length: float = 1.0  # mean decisions of the matches that ended, see `win_head.row_weights`

    @classmethod
    def at(cls, config: PpoConfig, heads: tuple[str, ...], progress: Progress) -> LossWeights:
        """Read the schedules."""
        warm = progress.rollouts >= config.critic_warmup
        default = config.entropy_coef.at(progress)
        by_head = {name: schedule.at(progress) for name, schedule in config.entropy_by_head.items()}
        return cls(
            clip=config.clip.at(progress),
            value_clip=config.value_clip.at(progress) if config.value_clip else None,
            value_coef=config.value_coef.at(progress),
            entropy=tuple(by_head.get(name, default) if warm else 0.0 for name in heads),
            win_coef=config.win_coef.at(progress),
            teacher=config.teacher.weight.at(progress) if warm else 0.0,
            magnet=config.magnet.weight.at(progress) if warm else 0.0,
            policy=1.0 if warm else 0.0,
        )


class Minibatch(NamedTuple):
    """Rows as they were acted."""

    obs: Tensor  # [B,N]
    privileged: Tensor | None  # [B,P]
    legal: Tensor  # [B,A]
    actions: Tensor  # [B,H]
    log_prob: Tensor  # [B]
    value: Tensor  # [B]
    advantage: Tensor  # [B], normalised
    returns: Tensor  # [B]
    won: Tensor | None = None  # [B] 1 won, ½ tied, 0 lost, a guess between them; NaN: the win head learns nothing
    win_weight: Tensor | None = None  # [B] how much such a label counts
    memory: Sequences | None = None


SUMS = ("rows", "policy", "value", "kl", "clipped", "entropy", "teacher", "magnet")
"""What `ppo_loss` adds up over rows, in this order; entropies per head follow."""


def ppo_loss(
    new: PolicyOutput,
    batch: Minibatch,
    weights: LossWeights,
    teacher: Tensor | None = None,
    magnet: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Summed loss over the rows, and the sums to report [len(SUMS)+H]. Anchors are given as log-probs [B,H,X]."""
    log_ratio = new.log_prob - batch.log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - weights.clip, 1.0 + weights.clip)
    policy_loss = -torch.minimum(ratio * batch.advantage, clipped * batch.advantage)
    value_loss = (new.value - batch.returns).square()
    if weights.value_clip is not None:
        near = batch.value + (new.value - batch.value).clamp(-weights.value_clip, weights.value_clip)
        value_loss = torch.maximum(value_loss, (near - batch.returns).square())
    bonus = new.entropy @ new.entropy.new_tensor(weights.entropy)
    loss = weights.policy * policy_loss + weights.value_coef * value_loss - bonus
    zero = loss.new_zeros(())
    win = win_loss(new.win_logit, batch)
    kl_teacher, kl_magnet = (
        anchor_kl(new.log_probs, anchor).sum() if anchor is not None and new.log_probs is not None else zero
        for anchor in (teacher, magnet)
    )
    total = loss.sum() + weights.win_coef * win + weights.teacher * kl_teacher + weights.magnet * kl_magnet
    with torch.no_grad():
        sums = torch.stack([
            zero + len(batch.log_prob), policy_loss.sum(), value_loss.sum(), (ratio - 1.0 - log_ratio).sum(),
            ((ratio - 1.0).abs() > weights.clip).sum(), new.entropy.sum(), kl_teacher, kl_magnet,
        ])  # fmt: skip
        return total, torch.cat([sums, new.entropy.sum(0)])


def win_loss(logit: Tensor | None, batch: Minibatch) -> Tensor:
    """Summed, weighted cross entropy of the rows that have a label."""
    if logit is None or batch.won is None or batch.win_weight is None:
        return batch.advantage.new_zeros(())
    is_known = ~batch.won.isnan()
    cross = torch.nn.functional.binary_cross_entropy_with_logits(
        logit, torch.where(is_known, batch.won, 0.5), reduction="none"
    )
    return (cross * batch.win_weight * is_known).sum()


def anchor_kl(log_probs: Tensor, anchor: Tensor) -> Tensor:
    """[B] KL(policy ‖ anchor), summed over heads given the picks made; both [B,H,X] over the same legal choices."""
    return (log_probs.exp() * (log_probs - anchor)).sum((-1, -2))
