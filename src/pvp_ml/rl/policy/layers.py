"""Hidden layers with ReLU, forwards and backwards, in buffers that are made once: the body of `mlp` and `blocks`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pvp_ml.match import FloatArray
from pvp_ml.model.kernels import add_bias_relu
from pvp_ml.rl.kernels.mlp import relu_backward

Layer = tuple[FloatArray, FloatArray]


class Layers:
    """The layers `name/0`, `name/1`, … for at most `rows` rows at a time."""

    def __init__(
        self, weights: Mapping[str, FloatArray], slopes: Mapping[str, FloatArray], name: str, count: int, rows: int
    ) -> None:
        """Weights and slopes by tensor name; the slopes are what `backward` adds to."""

        def pairs(of: Mapping[str, FloatArray]) -> list[Layer]:
            return [(of[f"{name}/{i}/weight"], of[f"{name}/{i}/bias"]) for i in range(count)]

        self._layers, self._slopes = pairs(weights), pairs(slopes)
        widths = [len(bias) for _, bias in self._layers]
        self._outputs = [np.zeros((rows, width), np.float32) for width in widths]
        self._by_inputs = [np.zeros((rows, width), np.float32) for width in widths[:-1]]
        self._by_weights = [np.zeros_like(weight) for weight, _ in self._layers]

    def forward(self, x: FloatArray) -> FloatArray:
        """[B,W]: the last layer's output; the input itself when there are no layers."""
        for (weight, bias), buffer in zip(self._layers, self._outputs, strict=True):
            y = buffer[: len(x)]
            np.dot(x, weight.T, out=y)
            add_bias_relu(y, bias)
            x = y
        return x

    def output(self, rows: int) -> FloatArray:
        """What `forward` returned last, [B,W]."""
        return self._outputs[-1][:rows]

    def backward(self, x: FloatArray, by_output: FloatArray, by_input: FloatArray | None = None) -> None:
        """Add the gradient of every layer, given the input of `forward` and the slope of its output (overwritten).

        The slope of the input is written into `by_input` [B,N], where somebody wants it.
        """
        for i in reversed(range(len(self._layers))):
            by_weight, by_bias = self._slopes[i]
            relu_backward(by_output, self._outputs[i][: len(x)], by_bias)
            np.dot(by_output.T, x if i == 0 else self._outputs[i - 1][: len(x)], out=self._by_weights[i])
            by_weight += self._by_weights[i]
            if i:
                below = self._by_inputs[i - 1][: len(x)]
                np.dot(by_output, self._layers[i][0], out=below)
                by_output = below
            elif by_input is not None:
                np.dot(by_output, self._layers[0][0], out=by_input)
        if by_input is not None and not self._layers:
            by_input[:] = by_output
