"""What an anchor of a plain policy would have chosen, and the pull towards it, without autograd: see `mlp`."""

from __future__ import annotations

import numpy as np

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.sampling.heads import NO_TABLE
from pvp_ml.rl.kernels.heads import pull_to_anchor
from pvp_ml.rl.policy.layers import Layers
from pvp_ml.rl.policy.plain_input import CHUNK, Ints, PlainInput, PlainRows
from pvp_ml.rl.policy.policy import Anchor, Policy


class PlainAnchor:
    """The actor's half of the same network with other weights and statistics, forwards only."""

    def __init__(self, policy: Policy, anchor: Anchor) -> None:
        network, interface = policy.network, policy.interface
        self._anchor = anchor
        self._weights = {name: view.numpy() for name, view in policy.views(anchor.flat).items()}
        unused = self._weights  # nothing is learned here
        self._input = PlainInput(self._weights, unused, network, interface, with_privileged=False)
        self._layers = Layers(self._weights, unused, "actor", len(network.trunk), CHUNK)
        self._logits = np.zeros((CHUNK, interface.mask_size), np.float32)
        self._offset = np.concatenate([[0], np.cumsum(interface.head_sizes)]).astype(np.int32)

    def begin(self) -> None:
        """A minibatch starts."""
        self._input.begin(self._anchor.normalizer)

    def pull(
        self,
        rows: PlainRows,
        index: Ints,
        legal: BoolArray,
        actions: IntArray,
        probability: FloatArray,
        weight: float,
        by_logits: FloatArray,
    ) -> float:
        """Add weight · d KL(policy ‖ anchor)/d logits [B,A]; returns the KL, summed over rows and heads."""
        logits = self._logits[: len(index)]
        features = self._layers.forward(self._input.read(rows, index))
        np.dot(features, self._weights["head/weight"].T, out=logits)
        logits += self._weights["head/bias"]
        table = self._weights.get("table", NO_TABLE)
        scale = np.float32(weight)
        return float(pull_to_anchor(self._offset, logits, table, legal, actions, probability, scale, by_logits))
