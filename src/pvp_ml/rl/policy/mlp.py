"""Gradients of a plain policy without autograd: matrix products into buffers that are made once, and little between.

A plain policy is an MLP with ReLU on the normalised observation, one linear layer to all logits (with a pick table or
without), a shared or separate critic, perhaps a win head. That is what the first minutes of a run spend their time on.
Before the trunk there may be an encoder over the repetitions of blocks (`blocks`), but no embedding and no pointer.
The function is that of `torch_network` and `loss`, anchors included, and a test holds the two together; other networks
and GPUs take torch's way. On one thread numpy's OpenBLAS was faster than torch's MKL here (80 against 70 GFLOP/s).

Rows are read straight out of the rollout and worked on CHUNK at a time, so that activations stay in the cache. The last
layer's outputs are laid side by side: A logits, then the value (of a shared critic), then the win logit; one product
serves all. Shape letters as in `spec`; N stacked observation, E what the trunk reads, B rows of a chunk, C outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.match import FloatArray
from pvp_ml.model.sampling.heads import NO_TABLE
from pvp_ml.rl.kernels.heads import heads_backward, heads_forward, table_backward
from pvp_ml.rl.kernels.mlp import add_rows, policy_rows, value_rows, win_rows
from pvp_ml.rl.loss import SUMS, LossWeights
from pvp_ml.rl.policy.layers import Layers
from pvp_ml.rl.policy.plain_anchor import PlainAnchor
from pvp_ml.rl.policy.plain_input import CHUNK, Ints, PlainInput, PlainRows
from pvp_ml.rl.policy.policy import Anchor, Policy

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """A minibatch: which rows, and what they are to teach."""

    index: Ints  # [B] into `PlainRows`
    log_prob: FloatArray  # [B] under which they were acted
    advantage: FloatArray  # [B], normalised
    returns: FloatArray  # [B]
    won: FloatArray | None  # [B] as in `loss.Minibatch`
    win_weight: FloatArray | None  # [B]

    def part(self, low: int, high: int) -> PlainBatch:
        """Some of its rows."""
        won, weight = (None if x is None else x[low:high] for x in (self.won, self.win_weight))
        return PlainBatch(
            self.index[low:high], self.log_prob[low:high], self.advantage[low:high], self.returns[low:high], won, weight
        )


def is_plain_policy(policy: Policy) -> bool:
    """Whether `PlainGradient` computes this policy."""
    network = policy.network
    return (
        all(feature.kind != "id" for feature in policy.interface.features)
        and network.activation == "relu"
        and network.heads != "mlp"
        and not network.pointer
        and not network.memory
        and policy.device.type == "cpu"
    )


class PlainGradient:
    """The gradient of one policy's loss, added to a flat vector."""

    def __init__(self, policy: Policy, gradient: torch.Tensor, anchors: Mapping[str, Anchor]) -> None:
        """`gradient` [size] is laid out as the policy's weights; anchors have the names of `LossWeights`."""
        network, interface = policy.network, policy.interface
        assert is_plain_policy(policy), "this network is torch's"
        self._policy = policy
        self._weights = policy.tensors()
        self._slopes = {name: view.numpy() for name, view in policy.views(gradient).items()}
        self._is_shared = network.critic == "shared"
        tensors = self._weights, self._slopes
        self._actor = Layers(*tensors, "actor", len(network.trunk), CHUNK)
        self._critic = Layers(*tensors, "critic", 0 if self._is_shared else len(network.critic_layers), CHUNK)
        self._last = ["head", *(["value"] if self._is_shared else []), *(["win"] if network.win_head else [])]
        self._logits = interface.mask_size
        self._taught = (
            self._logits + self._is_shared
        )  # outputs that the trunk learns from; a win head does not train it
        outputs = self._taught + network.win_head
        self._input = PlainInput(*tensors, network, interface, with_privileged=network.privileged)
        self._head = np.zeros((outputs, network.trunk[-1]), np.float32)
        self._head_bias = np.zeros(outputs, np.float32)
        self._by_head = np.zeros_like(self._head)
        self._by_head_bias = np.zeros_like(self._head_bias)
        has_blocks = self._input.blocks is not None
        self._by_input = np.zeros((CHUNK, self._input.width), np.float32) if has_blocks else None
        has_both = has_blocks and not self._is_shared
        self._by_critic_input = np.zeros_like(self._input.rows) if has_both else None
        self._anchors = {name: PlainAnchor(policy, anchor) for name, anchor in anchors.items()}
        self._output, self._by_output = (np.zeros((CHUNK, outputs), np.float32) for _ in range(2))
        self._probability = np.zeros_like(self._output)
        self._by_features = np.zeros((CHUNK, network.trunk[-1]), np.float32)
        self._offset = np.concatenate([[0], np.cumsum(interface.head_sizes)]).astype(np.int32)
        heads = len(interface.heads)
        self._legal, self._actions = np.zeros((CHUNK, self._logits), np.bool_), np.zeros((CHUNK, heads), np.int32)
        self._entropy, self._by_entropy = (np.zeros((CHUNK, heads), np.float32) for _ in range(2))
        self._log_prob, self._by_log_prob, self._by_value = (np.zeros(CHUNK, np.float32) for _ in range(3))

    @np.errstate(invalid="ignore", over="ignore")  # the trainee looks for what is not finite, and skips it
    def add(self, rows: PlainRows, batch: PlainBatch, weights: LossWeights) -> tuple[Sums, FloatArray | None]:
        """Add a minibatch's summed gradient; returns the loss's sums [len(SUMS)+H] and the win logits [B]."""
        self._begin(weights)
        sums = np.zeros(len(SUMS) + len(self._policy.interface.heads))
        win = np.empty(len(batch.index), np.float32) if "win" in self._last else None
        for low in range(0, len(batch.index), CHUNK):
            part = batch.part(low, low + CHUNK)
            sums += self._add_chunk(rows, part, weights, None if win is None else win[low : low + CHUNK])
        self._end()
        return sums, win

    def _begin(self, weights: LossWeights) -> None:
        """Read weights and statistics, which no one changes during a minibatch."""
        start = 0
        for name in self._last:
            weight, bias = self._weights[f"{name}/weight"], self._weights[f"{name}/bias"]
            self._head[start : start + len(bias)], self._head_bias[start : start + len(bias)] = weight, bias
            start += len(bias)
        self._by_head[:] = self._by_head_bias[:] = 0.0
        self._by_entropy[:] = np.negative(weights.entropy)
        self._input.begin(self._policy.normalizer)
        self._pulls = {name: weight for name in self._anchors if (weight := getattr(weights, name)) != 0.0}
        for name in self._pulls:
            self._anchors[name].begin()

    def _end(self) -> None:
        start = 0
        for name in self._last:
            size = len(self._slopes[f"{name}/bias"])
            self._slopes[f"{name}/weight"] += self._by_head[start : start + size]
            self._slopes[f"{name}/bias"] += self._by_head_bias[start : start + size]
            start += size

    def _add_chunk(self, rows: PlainRows, batch: PlainBatch, weights: LossWeights, win: FloatArray | None) -> Sums:
        count = len(batch.index)
        x, width = self._input.read(rows, batch.index), self._input.width
        features = self._actor.forward(x[:, :width])
        output, by_output = self._output[:count], self._by_output[:count]
        np.dot(features, self._head.T, out=output)
        output += self._head_bias
        sums = self._judge_actions(rows, batch, weights, output, by_output)
        critic_features = None if self._is_shared else self._critic.forward(x)
        value = output[:, self._logits] if critic_features is None else self._value(critic_features)
        by_value = self._by_value[:count]
        limit = np.inf if weights.value_clip is None else weights.value_clip
        before = rows.value[batch.index]
        sums[SUMS.index("value")] = value_rows(
            np.ascontiguousarray(value), before, batch.returns, limit, weights.value_coef, by_value
        )
        if critic_features is not None:
            self._value_backward(x, critic_features, by_value)
        else:
            by_output[:, self._logits] = by_value
        if win is not None:
            self._judge_results(batch, weights, output, by_output, win)
        self._by_head += np.dot(by_output.T, features)
        add_rows(by_output, self._by_head_bias)
        by_features = self._by_features[:count]
        np.dot(by_output[:, : self._taught], self._head[: self._taught], out=by_features)
        by_input = None if self._by_input is None else self._by_input[:count]
        self._actor.backward(x[:, :width], by_features, by_input)
        if self._input.blocks is not None and by_input is not None:
            if self._by_critic_input is not None:
                by_input += self._by_critic_input[:count, :width]
            self._input.blocks.backward(by_input)
        return sums

    def _judge_actions(
        self, rows: PlainRows, batch: PlainBatch, weights: LossWeights, output: FloatArray, by_output: FloatArray
    ) -> Sums:
        """Policy loss, entropy bonus and anchors: fills the logits' columns of by_output; returns the sums so far."""
        count = len(batch.index)
        legal, actions = self._legal[:count], self._actions[:count]
        np.take(rows.mask, batch.index, axis=0, out=legal, mode="clip")
        np.take(rows.actions, batch.index, axis=0, out=actions, mode="clip")
        probability, entropy = self._probability[:count], self._entropy[:count]
        log_prob, by_log_prob = self._log_prob[:count], self._by_log_prob[:count]
        table, by_table = self._weights.get("table", NO_TABLE), self._slopes.get("table", NO_TABLE)
        heads_forward(self._offset, output, table, legal, actions, probability, log_prob, entropy)
        found = np.zeros(3)
        policy_rows(log_prob, batch.log_prob, batch.advantage, weights.clip, weights.policy, by_log_prob, found)
        by_entropy = self._by_entropy[:count]
        heads_backward(self._offset, probability, entropy, legal, actions, by_log_prob, by_entropy, by_output)
        apart = {
            name: self._anchors[name].pull(rows, batch.index, legal, actions, probability, weight, by_output)
            for name, weight in self._pulls.items()
        }
        table_backward(self._offset, actions, by_output, by_table)
        entropies = entropy.sum(axis=0, dtype=np.float64)
        policy, kl, clipped = found
        known = [count, policy, 0.0, kl, clipped, entropies.sum(), apart.get("teacher", 0.0), apart.get("magnet", 0.0)]
        return np.array([*known, *entropies])

    def _judge_results(
        self, batch: PlainBatch, weights: LossWeights, output: FloatArray, by_output: FloatArray, win: FloatArray
    ) -> None:
        """The win head's cross entropy: fills the last column of by_output, and `win` [B] with the logits."""
        win[:] = output[:, -1]
        by_logit = np.zeros(len(win), np.float32)
        if batch.won is not None and batch.win_weight is not None:
            win_rows(win, batch.won, batch.win_weight, weights.win_coef, by_logit)
        by_output[:, -1] = by_logit

    def _value(self, features: FloatArray) -> FloatArray:
        """[B] of a separate critic."""
        return np.asarray(np.dot(features, self._weights["value/weight"][0]) + self._weights["value/bias"])

    def _value_backward(self, x: FloatArray, features: FloatArray, by_value: FloatArray) -> None:
        self._slopes["value/weight"][0] += np.dot(by_value, features)
        self._slopes["value/bias"] += by_value.sum()
        by_input = None if self._by_critic_input is None else self._by_critic_input[: len(x)]
        self._critic.backward(x, by_value[:, None] * self._weights["value/weight"], by_input)
