"""Log-probabilities and entropies of multi-head actions in torch, for learning. Acting uses `model.sampling`.

Heads have different sizes; they are laid side by side in a padded [B,H,X] tensor (X = largest head), so that one
log-softmax serves all of them. Shape letters as in `spec`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and 0·log p stays a number."""


@dataclass(frozen=True, slots=True)
class HeadLayout:
    """Where each column lands in the padded layout. Padding points at column A, which is always illegal."""

    columns: Tensor  # [H·X] int64, column or A for padding
    offset: Tensor  # [H] int64, first column of each head
    later: Tensor  # [A,A] 1 where the column's head comes after the row's head
    heads: int
    width: int

    @classmethod
    def of(cls, sizes: tuple[int, ...], device: torch.device) -> HeadLayout:
        """The layout of heads with these sizes."""
        total, width = sum(sizes), max(sizes)
        offset = np.concatenate([[0], np.cumsum(sizes)])
        columns = np.full((len(sizes), width), total)
        head_of = np.zeros(total, np.int64)
        for h, size in enumerate(sizes):
            columns[h, :size] = np.arange(offset[h], offset[h + 1])
            head_of[offset[h] : offset[h + 1]] = h
        later = (head_of[None, :] > head_of[:, None]).astype(np.float32)
        return cls(
            torch.as_tensor(columns.reshape(-1), device=device),
            torch.as_tensor(offset[:-1], device=device),
            torch.as_tensor(later, device=device),
            len(sizes),
            width,
        )

    def pad_rows(self, rows: Tensor) -> Tensor:
        """[A,…] → [H·X,…], zero where padded: weights laid out so that a linear layer gives padded logits at once."""
        padding = rows.new_zeros(1, *rows.shape[1:])
        return torch.cat([rows, padding])[self.columns]

    def pad_columns(self, logits: Tensor) -> Tensor:
        """[B,A] → [B,H·X], zero where padded."""
        return torch.cat([logits, logits.new_zeros(logits.shape[0], 1)], dim=1)[:, self.columns]

    def pad_legal(self, legal: Tensor) -> Tensor:
        """[B,A] bool → [B,H,X] bool, False where padded."""
        padding = legal.new_zeros(len(legal), 1)
        return torch.cat([legal, padding], dim=1)[:, self.columns].view(-1, self.heads, self.width)

    def one_hot(self, actions: Tensor) -> Tensor:
        """[B,H] → [B,A] with a 1 at each pick."""
        hot = torch.zeros(len(actions), len(self.later), device=actions.device)
        return hot.scatter_(1, actions + self.offset, 1.0)


def masked_log_probs(logits_BHX: Tensor, legal_BHX: Tensor) -> Tensor:
    """Log-softmax over what is legal; illegal choices get a probability of exactly 0 and no gradient."""
    return torch.log_softmax(torch.where(legal_BHX, logits_BHX, ILLEGAL), dim=-1)


def joint_log_prob(log_probs_BHX: Tensor, actions_BH: Tensor) -> Tensor:
    """[B] log-probability of the whole action, summed in float64 as the compiled sampler does."""
    picked = log_probs_BHX.gather(2, actions_BH.unsqueeze(2)).squeeze(2)
    return picked.sum(1, dtype=torch.float64).to(picked.dtype)


def head_entropies(log_probs_BHX: Tensor) -> Tensor:
    """[B,H] entropy of each head given the picks before it, in nats."""
    return -(log_probs_BHX.exp() * log_probs_BHX).sum(-1)
