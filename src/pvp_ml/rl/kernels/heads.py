"""Log-probabilities and entropies of multi-head actions with their gradients, compiled: see `fused`."""

import numpy as np

from pvp_ml.compiled.kernel_set import CORE

ILLEGAL = np.float32(-1e9)


@CORE.kernel
def heads_forward(offset, logits, table, legal, actions, probability, log_prob, entropy):
    """logits, legal [B,A], actions [B,H], table [A,A] or [0,0] → probability [B,A], log_prob [B], entropy [B,H].

    Row p of the table is added to the logits of the heads after the one that picked column p.
    """
    rows, heads = actions.shape
    columns = offset[heads]
    has_table = table.shape[0] > 0
    score = np.zeros(columns, np.float32)
    for b in range(rows):
        for a in range(columns):
            score[a] = logits[b, a]
        total = 0.0  # float64, as in the sampler: ratios of the first update are 1 to the last digit
        for h in range(heads):
            low, high = offset[h], offset[h + 1]
            pick = low + actions[b, h]
            top = np.float32(-np.inf)
            count = 0
            for a in range(low, high):
                if legal[b, a]:
                    count += 1
                    if score[a] > top:
                        top = score[a]
            if count <= 1:
                for a in range(low, high):
                    probability[b, a] = np.float32(1.0) if legal[b, a] else np.float32(0.0)
                entropy[b, h] = 0.0
            else:
                mass = np.float32(0.0)
                weighted = np.float32(0.0)
                for a in range(low, high):
                    if legal[b, a]:
                        shifted = score[a] - top
                        weight = np.exp(shifted)
                        probability[b, a] = weight
                        mass += weight
                        weighted += weight * shifted
                    else:
                        probability[b, a] = np.float32(0.0)
                log_mass = np.log(mass)
                scale = np.float32(1.0) / mass
                for a in range(low, high):
                    probability[b, a] *= scale
                entropy[b, h] = log_mass - weighted * scale
                total += score[pick] - top - log_mass
            if not legal[b, pick]:
                total += ILLEGAL
            if has_table:
                for a in range(high, columns):
                    score[a] += table[pick, a]
        log_prob[b] = total


@CORE.kernel
def heads_backward(offset, probability, entropy, legal, actions, by_log_prob, by_entropy, by_logits):
    """Gradients by log_prob [B] and entropy [B,H] → by logits [B,A]."""
    rows, heads = actions.shape
    for b in range(rows):
        for h in range(heads):
            low, high = offset[h], offset[h + 1]
            for a in range(low, high):
                p = probability[b, a]
                slope = -by_log_prob[b] * p
                if p > 0.0 and p < 1.0:
                    slope -= by_entropy[b, h] * p * (np.log(p) + entropy[b, h])
                by_logits[b, a] = slope
            pick = low + actions[b, h]
            if legal[b, pick]:
                by_logits[b, pick] += by_log_prob[b]


@CORE.kernel
def pull_to_anchor(offset, logits, table, legal, actions, probability, weight, by_logits):
    """Adds weight · d KL(policy ‖ anchor)/d logits to by_logits [B,A]; returns the KL, summed over rows and heads.

    logits [B,A] and table are the anchor's, probability [B,A] the policy's; both are given the picks before them.
    """
    rows, heads = actions.shape
    columns = offset[heads]
    has_table = table.shape[0] > 0
    score = np.zeros(columns, np.float32)
    total = 0.0
    for b in range(rows):
        for a in range(columns):
            score[a] = logits[b, a]
        for h in range(heads):
            low, high = offset[h], offset[h + 1]
            top = np.float32(-np.inf)
            for a in range(low, high):
                if legal[b, a] and score[a] > top:
                    top = score[a]
            mass = np.float32(0.0)
            for a in range(low, high):
                if legal[b, a]:
                    mass += np.exp(score[a] - top)
            log_mass = np.log(mass)
            divergence = np.float32(0.0)
            for a in range(low, high):
                p = probability[b, a]
                if p > 0.0:
                    score[a] = np.log(p) - (score[a] - top - log_mass)  # how far the policy is, choice by choice
                    divergence += p * score[a]
            for a in range(low, high):
                p = probability[b, a]
                if p > 0.0:
                    by_logits[b, a] += weight * p * (score[a] - divergence)
            total += divergence
            if has_table:
                pick = low + actions[b, h]
                for a in range(high, columns):
                    score[a] += table[pick, a]
    return total


@CORE.kernel
def table_backward(offset, actions, by_logits, by_table):
    """Gradients by logits [B,A] are added to by_table ([A,A] or [0,0])."""
    rows, heads = actions.shape
    columns = offset[heads]
    if by_table.shape[0] == 0:
        return
    for b in range(rows):
        for h in range(heads - 1):
            pick = offset[h] + actions[b, h]
            for a in range(offset[h + 1], columns):
                by_table[pick, a] += by_logits[b, a]
