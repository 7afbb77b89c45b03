"""The heads' share of a policy's loss as one compiled step on the CPU: what torch needs a dozen passes for.

Equal to `actions.masked_log_probs`, `joint_log_prob` and `head_entropies` on one linear layer with a pick table; a test
holds the two together. Networks with a layer per head, their anchors and GPUs take torch's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pvp_ml.match import IntArray
from pvp_ml.rl.kernels.heads import heads_backward, heads_forward, table_backward


class FusedHeads(torch.autograd.Function):
    """(logits [B,A], table [A,A] or [0,0], legal [B,A], actions [B,H], offset [H+1]) → log_prob [B], entropy [B,H]."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, table: Tensor, legal: Tensor, actions: Tensor, offset: IntArray
    ) -> tuple[Tensor, Tensor]:
        """Choices that are not legal have probability 0, whatever their logit."""
        rows, heads = actions.shape
        probability = torch.empty_like(logits)
        log_prob, entropy = logits.new_empty(rows), logits.new_empty(rows, heads)
        heads_forward(
            offset, logits.detach().numpy(), table.detach().numpy(), legal.numpy(), actions.numpy(),
            probability.numpy(), log_prob.numpy(), entropy.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(probability, entropy, legal, actions)
        ctx.offset, ctx.table_shape = offset, table.shape
        return log_prob, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """By logits and by the table."""
        probability, entropy, legal, actions = ctx.saved_tensors
        by_logits = torch.empty_like(probability)
        by_table = probability.new_zeros(ctx.table_shape)
        heads_backward(
            ctx.offset, probability.numpy(), entropy.numpy(), legal.numpy(), actions.numpy(),
            *(np.ascontiguousarray(g.numpy()) for g in gradients), by_logits.numpy(),
        )  # fmt: skip
        table_backward(ctx.offset, actions.numpy(), by_logits.numpy(), by_table.numpy())
        return by_logits, by_table, None, None, None


def fused_heads(logits: Tensor, table: Tensor | None, legal: Tensor, actions: Tensor, offset: IntArray) -> Any:
    """log_prob [B] and entropy [B,H] of actions [B,H]; CPU only."""
    return FusedHeads.apply(  # type: ignore[no-untyped-call]
        logits, logits.new_zeros(0, 0) if table is None else table, legal, actions, offset
    )
