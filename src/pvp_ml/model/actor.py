"""A policy's network in numpy: acting, serving and evaluating need no torch.

`Actor` reads its weights through views and copies none of them: a trainer that updates them in place updates the actor.
Shape letters as in `spec`; B rows, F stacked frames (newest first), N = F·D numbers of a stacked observation, G memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.decision import Decision
from pvp_ml.model.kernels import add_bias_relu, normalise, pool
from pvp_ml.model.network_config import (
    BlockLayout,
    NetworkConfig,
    block_layouts,
    columns,
    encoder_name,
    input_width,
    is_plain,
    tensor_shapes,
)
from pvp_ml.model.pointers import Pointer, pointers
from pvp_ml.model.sampling.heads import NO_TABLE, Heads, choose, choose_head, gumbel_noise
from pvp_ml.spec import Interface

EPSILON = 1e-8
CHUNK = 512
"""Rows per matrix product: activations of a 256-wide trunk then stay in the cache."""

Array = npt.NDArray[Any]
Keys = npt.NDArray[np.uint64]
Program = Callable[
    [FloatArray, BoolArray, FloatArray, FloatArray | None], tuple[npt.NDArray[np.int64], FloatArray | None]
]
"""A policy elsewhere (ONNX, torch): obs [B,N], mask, noise [B,A], memory → actions [B,H] and the memory after them."""


def empty_normalizer(network: NetworkConfig, interface: Interface) -> dict[str, Array]:
    """Statistics before anything was seen: mean 0, variance 1."""
    tensors = _unit_statistics("obs", interface.obs_size)
    if network.privileged:
        tensors |= _unit_statistics("privileged", interface.privileged_size)
    if network.heads == "mlp":
        tensors |= _unit_statistics("pick", interface.mask_size)
    return tensors


def _unit_statistics(name: str, size: int) -> dict[str, Array]:
    return {
        f"{name}/mean": np.zeros(size, np.float64),
        f"{name}/var": np.ones(size, np.float64),
        f"{name}/count": np.array([EPSILON]),
    }


def inverse_deviation(var: Array) -> Array:
    """What a centred number is multiplied by to have variance 1 (float64)."""
    return np.asarray(1.0 / np.sqrt(var + EPSILON))


def check_tensors(network: NetworkConfig, interface: Interface, tensors: Mapping[str, Array]) -> None:
    """Refuse a set of weights that is not exactly what the network's configuration implies."""
    wanted = tensor_shapes(network, interface)
    if missing := sorted(set(wanted) - set(tensors)):
        raise UserError(
            f"weights lack {missing[0]!r} ({len(missing)} missing)", "was the file made by another version?"
        )
    if extra := sorted(set(tensors) - set(wanted)):
        raise UserError(f"weights have an unexpected tensor {extra[0]!r} ({len(extra)} extra)")
    for name, shape in wanted.items():
        if tensors[name].shape != shape or tensors[name].dtype != np.float32:
            raise UserError(f"tensor {name!r} is {tensors[name].dtype}{tensors[name].shape}, not float32{shape}")


class Actor:
    """Runs one policy for up to any number of rows; its buffers make it usable by one thread at a time."""

    def __init__(
        self,
        network: NetworkConfig,
        interface: Interface,
        tensors: Mapping[str, FloatArray],
        normalizer: Mapping[str, Array],
    ) -> None:
        check_tensors(network, interface, tensors)
        self.network = network
        self.interface = interface
        self.heads = Heads.compile(interface.heads)
        self._tensors = dict(tensors)
        self.statistics = dict(normalizer)
        self.temperature = 1.0  # of the noise: above 1 choices are flatter than the policy's own, 0 is greedy
        self._is_plain = is_plain(network, interface)
        self._layouts = block_layouts(network, interface)
        self._encoders = {
            block.name: self._layers(encoder_name(block), len(network.encoder))
            for block in interface.blocks
            if block.count > 1
        }
        self._trunk = self._layers("actor", len(network.trunk))
        self._critic = self._layers("critic", len(network.critic_layers) if network.critic == "separate" else 0)
        self._head_layers = (
            [self._layers(f"head/{h.name}", len(network.head_layers) + 1) for h in interface.heads]
            if network.heads == "mlp"
            else []
        )
        self._pointers = pointers(network, interface)
        self._table = self._tensors.get("table", NO_TABLE)
        self._buffers: dict[tuple[str, int], FloatArray] = {}
        self._noise = np.zeros((CHUNK, interface.mask_size), np.float32)
        self.refresh()

    def refresh(self) -> None:
        """Read the observation statistics again; call it whenever they changed."""
        mean, var = self.statistics["obs/mean"], self.statistics["obs/var"]
        is_id = np.array([f.kind == "id" for f in self.interface.features])
        frames = len(self.network.frames)
        self._mean = np.tile(np.where(is_id, 0.0, mean), frames).astype(np.float32)
        self._scale = np.tile(np.where(is_id, 1.0, inverse_deviation(var)), frames).astype(np.float32)
        self._limit = np.tile(np.where(is_id, np.inf, self.network.clip), frames).astype(np.float32)
        if self.network.privileged:
            self._privileged_mean = self.statistics["privileged/mean"].astype(np.float32)
            self._privileged_scale = inverse_deviation(self.statistics["privileged/var"]).astype(np.float32)
        if self.network.heads == "mlp":
            self._pick_scale = inverse_deviation(self.statistics["pick/var"]).astype(np.float32)
            self._pick_mean = self.statistics["pick/mean"].astype(np.float32)

    def act(self, obs: FloatArray, mask: BoolArray, keys: Keys, greedy: BoolArray, out: Decision,
            privileged: FloatArray | None = None, memory: FloatArray | None = None) -> int:  # fmt: skip
        """Decide for obs [B,N], mask [B,A], and move memory [B,G] on in place; a row's noise follows from its key [B].

        greedy [B], or [B,H] for each head, takes the preferred choice. Writes `out`: value, win and probs only where it
        has room for them (a privileged critic needs privileged [B,P]). Returns the first row whose mask left a head
        without a choice, or -1.
        """
        empty = -1
        for low in range(0, len(obs), CHUNK):
            rows = slice(low, min(low + CHUNK, len(obs)))
            part = out.part(rows)
            x = self._input(obs[rows])
            features = self._features(x, None if memory is None else memory[rows])
            self._judge(x, features, None if privileged is None else privileged[rows], part.value, part.win)
            noise, quiet = self._noise[: len(x)], greedy[rows]
            gumbel_noise(keys[rows], mask[rows], noise)
            if self.temperature != 1.0:
                noise *= np.float32(self.temperature)
            if quiet.ndim == 2:
                noise[np.repeat(quiet, self.interface.head_sizes, axis=1)] = 0.0
                quiet = np.asarray(quiet.all(axis=1))
            bad = self._choose(x, features, mask[rows], noise, quiet, part)
            if part.probs is not None:
                self._tell_probs(len(x), part.actions, part.legal, part.probs)
            if bad >= 0 and empty < 0:
                empty = low + bad
        return empty

    def evaluate(
        self, obs: FloatArray, privileged: FloatArray | None = None, memory: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Value [B] and, with a win head, chance to win [B] of obs [B,N]; memory [B,G] is read, never changed."""
        value = np.empty(len(obs), np.float32)
        win = np.empty(len(obs), np.float32) if self.network.win_head else None
        for low in range(0, len(obs), CHUNK):
            rows = slice(low, min(low + CHUNK, len(obs)))
            x = self._input(obs[rows])
            features = self._features(x, None if memory is None else memory[rows].copy())
            hidden = None if privileged is None else privileged[rows]
            self._judge(x, features, hidden, value[rows], None if win is None else win[rows])
        return value, win

    def features(self, obs: FloatArray) -> FloatArray:
        """[B,W]: what the heads read at obs [B,N]; for networks without memory."""
        if self.network.memory:
            raise UserError("a network with memory has no features of an observation alone")
        found = np.empty((len(obs), self.network.trunk[-1]), np.float32)
        for low in range(0, len(obs), CHUNK):
            rows = slice(low, min(low + CHUNK, len(obs)))
            found[rows] = self._features(self._input(obs[rows]), None)
        return found

    def win_logit(self, features: FloatArray) -> npt.NDArray[np.float64]:
        """[B]: log-odds of winning that the win head states for these features [B,W]."""
        if not self.network.win_head:
            raise UserError("this network has no win head", "train with --network.win-head true")
        return self._linear("win", features)[:, 0].astype(np.float64)

    def _judge(self, x: FloatArray, features: FloatArray, privileged: FloatArray | None, value: FloatArray | None,
               win: FloatArray | None) -> None:  # fmt: skip
        if value is not None:
            self._value(x, features, privileged, value)
        if win is not None:
            win[:] = _sigmoid(self._linear("win", features)[:, 0])

    def _tell_probs(self, rows: int, actions: IntArray, legal: BoolArray, out: FloatArray) -> None:
        """[B,A]: softmax within each head over what was legal, given the picks before it."""
        logits = self._buffer("logits" if self._head_layers else "head", rows, legal.shape[1]).copy()
        offset = self.heads.offset
        for h in range(self.heads.count):
            own = slice(offset[h], offset[h + 1])
            wide = np.where(legal[:, own], logits[:, own].astype(np.float64), -np.inf)
            top = wide.max(axis=1, keepdims=True)
            mass = np.exp(wide - np.where(np.isfinite(top), top, 0.0))  # a head without a choice has no mass
            out[:, own] = mass / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
            if len(self._table):
                logits[:, offset[h + 1] :] += self._table[offset[h] + actions[:, h], offset[h + 1] :]

    def _choose(self, x: FloatArray, features: FloatArray, mask: BoolArray, noise: FloatArray, greedy: BoolArray,
                out: Decision) -> int:  # fmt: skip
        if not self._head_layers:
            logits = self._linear("head", features)
            for pointer in self._pointers:
                self._point(pointer, x, features, logits)
            return choose(self.heads, logits, mask, noise, greedy, out, self._table)
        empty = -1
        logits = self._buffer("logits", len(features), self.interface.mask_size)
        picks = np.zeros((len(features), self.interface.mask_size), np.float32)
        offset = self.heads.offset
        total = np.zeros(len(features))
        for h, layers in enumerate(self._head_layers):
            seen = (picks[:, : offset[h]] - self._pick_mean[: offset[h]]) * self._pick_scale[: offset[h]]
            np.clip(seen, -self.network.clip, self.network.clip, out=seen)
            x = np.concatenate([features, seen], axis=1)
            for weight, bias in layers[:-1]:
                x = self._activate(x @ weight.T, bias)
            weight, bias = layers[-1]
            logits[:, offset[h] : offset[h + 1]] = x @ weight.T + bias
            bad = choose_head(self.heads, h, logits, mask, noise, greedy, out, total)
            empty = bad if empty < 0 else empty
            picks[np.arange(len(picks)), offset[h] + out.actions[:, h]] = 1.0
        out.log_prob[:] = total
        return empty

    def _input(self, obs: FloatArray) -> FloatArray:
        """Normalised and, where there are ids or encoders, encoded observation."""
        x = self._buffer("input", len(obs), obs.shape[1])
        normalise(np.ascontiguousarray(obs, np.float32), self._mean, self._scale, self._limit, x, 0)
        if self._is_plain:
            return x
        frames = x.reshape(len(x), len(self.network.frames), -1)
        encoded = self._buffer("encoded", len(x), input_width(self.network, self.interface))
        place = 0
        for f in range(frames.shape[1]):
            for layout in self._layouts:
                self._encode(frames[:, f], layout, encoded, place)
                place += layout.width
        return encoded

    def _encode(self, x: FloatArray, layout: BlockLayout, out: FloatArray, start: int) -> None:
        """A block, ids embedded, repetitions encoded by layers that they share, into `out` [B,…] from `start` on."""
        block, rows = layout.block, len(x) * layout.block.count
        items = x[:, layout.start : layout.start + block.width].reshape(len(x), block.count, len(block.features))
        joined = self._buffer(f"items/{block.name}", rows, layout.item_width)
        shaped, place = joined.reshape(len(x), block.count, -1), len(layout.reals)
        shaped[:, :, :place] = items[:, :, columns(layout.reals)]
        for name, features in layout.tables:
            width = len(features) * self.network.embedding
            found = self._tensors[name][items[:, :, columns(features)].astype(np.intp)]
            shaped[:, :, place : place + width] = found.reshape(len(x), block.count, width)
            place += width
        if self.network.encoder and block.count > 1:
            joined = self._run(encoder_name(block), self._encoders[block.name], joined)
            if self.network.pooling == "mean_max":
                pool(joined.reshape(len(x), block.count, -1), out, start)
                return
        out[:, start : start + layout.width] = joined.reshape(len(x), -1)

    def _point(self, pointer: Pointer, x: FloatArray, features: FloatArray, logits: FloatArray) -> None:
        """Add to a head's logits what the rows say that its choices are about."""
        weights, (count, units) = self._tensors, (pointer.high - pointer.low, self.network.pointer)
        width = self.network.encoder[-1]
        rows = x[:, pointer.start : pointer.start + count * width].reshape(len(x) * count, width)
        hidden = self._buffer(pointer.row, len(rows), units)
        np.dot(rows, weights[f"{pointer.row}/weight"].T, out=hidden)
        hidden.reshape(len(x), count, units)[:] += (features @ weights[f"{pointer.context}/weight"].T)[:, None]
        said = self._activate(hidden, weights[f"{pointer.row}/bias"]) @ weights[f"{pointer.role}/weight"].T
        logits[:, pointer.columns] += said.reshape(len(x), -1) @ pointer.places

    def _features(self, x: FloatArray, memory: FloatArray | None) -> FloatArray:
        """What the heads read: the trunk's output, or the memory after it."""
        features = self._run("actor", self._trunk, x)
        if not self.network.memory:
            return features
        assert memory is not None, "a network with memory needs its state"
        units, t = self.network.memory, self._tensors
        new = features @ t["memory/input"].T + t["memory/input_bias"]
        old = memory @ t["memory/hidden"].T + t["memory/hidden_bias"]
        reset, update = (
            _sigmoid(new[:, i * units : (i + 1) * units] + old[:, i * units : (i + 1) * units]) for i in (0, 1)
        )
        candidate = np.tanh(new[:, 2 * units :] + reset * old[:, 2 * units :])
        memory[:] = (1.0 - update) * candidate + update * memory
        return memory

    def _value(self, x: FloatArray, features: FloatArray, privileged: FloatArray | None, out: FloatArray) -> None:
        if self.network.critic == "separate":
            if self.network.privileged:
                if privileged is None:
                    raise UserError("this policy's value needs privileged features", "ask for actions only")
                seen = (privileged - self._privileged_mean) * self._privileged_scale
                x = np.concatenate([x, np.clip(seen, -self.network.clip, self.network.clip)], axis=1)
            features = self._run("critic", self._critic, x)
        out[:] = self._linear("value", features)[:, 0]

    def _layers(self, name: str, count: int) -> list[tuple[FloatArray, FloatArray]]:
        return [(self._tensors[f"{name}/{i}/weight"], self._tensors[f"{name}/{i}/bias"]) for i in range(count)]

    def _run(self, name: str, layers: list[tuple[FloatArray, FloatArray]], x: FloatArray) -> FloatArray:
        for i, (weight, bias) in enumerate(layers):
            y = self._buffer(f"{name}{i}", len(x), len(weight))
            np.dot(x, weight.T, out=y)
            x = self._activate(y, bias)
        return x

    def _linear(self, name: str, x: FloatArray) -> FloatArray:
        weight = self._tensors[f"{name}/weight"]
        y = self._buffer(name, len(x), len(weight))
        np.dot(x, weight.T, out=y)
        y += self._tensors[f"{name}/bias"]
        return y

    def _activate(self, x: FloatArray, bias: FloatArray) -> FloatArray:
        """The activation of x + bias, in place."""
        if self.network.activation == "relu":
            add_bias_relu(x, bias)
            return x
        x += bias
        return _ACTIVATIONS[self.network.activation](x)

    def _buffer(self, name: str, rows: int, width: int) -> FloatArray:
        buffer = self._buffers.get((name, width))
        if buffer is None or len(buffer) < rows:
            buffer = np.empty((max(rows, CHUNK) if rows > 1 else 1, width), np.float32)
            self._buffers[name, width] = buffer
        return buffer[:rows]


def _sigmoid(x: FloatArray) -> FloatArray:
    return (1.0 / (1.0 + np.exp(-x))).astype(np.float32, copy=False)


def _tanh(x: FloatArray) -> FloatArray:
    return np.tanh(x, out=x)


def _silu(x: FloatArray) -> FloatArray:
    x *= _sigmoid(x)
    return x


_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {"tanh": _tanh, "silu": _silu}
