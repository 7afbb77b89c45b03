"""A policy as an ONNX program, written from its weights: needs the library onnx, and no torch.

The program decides like `actor`, with noise as an input: the same noise gives the same choices.
The only module that imports onnx. Shape letters as in `spec`; N stacked observation, G memory, B rows (any number).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.match import FloatArray
from pvp_ml.model.actor import Array, check_tensors, inverse_deviation
from pvp_ml.model.network_config import BlockLayout, NetworkConfig, block_layouts, encoder_name, is_plain
from pvp_ml.model.pointers import pointers
from pvp_ml.model.sampling.rules import rule_matrices
from pvp_ml.spec import Interface

OPSET, IR = 18, 9
INPUTS = ("obs", "mask", "noise", "memory")
OUTPUTS = ("actions", "log_prob", "memory_after")
_ILLEGAL = np.float32(-1e9)


def onnx_program(
    network: NetworkConfig,
    interface: Interface,
    tensors: Mapping[str, FloatArray],
    normalizer: Mapping[str, Array],
) -> bytes:
    """The policy as an ONNX model: inputs obs [B,N], mask [B,A], noise [B,A] (zeros: preferred choices) and, with a
    memory, memory [B,G]; outputs actions [B,H] int64, log_prob [B] and memory_after [B,G].
    """
    check_tensors(network, interface, tensors)
    graph = _Graph()
    _Writer(graph, network, interface, tensors, normalizer).decide()
    widths = {"obs": len(network.frames) * interface.obs_size, "mask": interface.mask_size,
              "noise": interface.mask_size, "memory": network.memory}  # fmt: skip
    return graph.serialise(widths, len(interface.heads), network.memory)


def _library() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise UserError("ONNX programs need the library onnx", pip_install("onnx")) from error
    return onnx


class _Graph:
    """Nodes and constants in the making; values are known by their names."""

    def __init__(self) -> None:
        self._onnx = _library()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, array: npt.ArrayLike) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def op(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """The name of what this operation gives."""
        name = result or f"v{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def columns(self, x: str, start: int, stop: int) -> str:
        """x[:, start:stop]."""
        ends = (self.constant(np.array([i], np.int64)) for i in (start, stop, 1))
        return self.op("Slice", x, *ends)

    def cast(self, x: str, kind: str) -> str:
        return self.op("Cast", x, to=getattr(self._onnx.TensorProto, kind))

    def axis(self, number: int) -> str:
        return self.constant(np.array([number], np.int64))

    def joined(self, parts: list[str], axis: int = 1) -> str:
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def serialise(self, widths: Mapping[str, int], heads: int, memory: int) -> bytes:
        """The model as bytes."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        names = INPUTS if memory else INPUTS[:3]
        inputs = [
            helper.make_tensor_value_info(n, kinds.BOOL if n == "mask" else kinds.FLOAT, ["rows", widths[n]])
            for n in names
        ]
        outputs = [
            helper.make_tensor_value_info("actions", kinds.INT64, ["rows", heads]),
            helper.make_tensor_value_info("log_prob", kinds.FLOAT, ["rows"]),
        ]
        if memory:
            outputs.append(helper.make_tensor_value_info("memory_after", kinds.FLOAT, ["rows", memory]))
        graph = helper.make_graph(self._nodes, "policy", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, producer_name="pvp-ml", opset_imports=opsets, ir_version=IR)
        data: bytes = model.SerializeToString()
        return data


class _Writer:
    """Writes one network into a graph, in the order in which it decides."""

    def __init__(self, graph: _Graph, network: NetworkConfig, interface: Interface,
                 tensors: Mapping[str, FloatArray], normalizer: Mapping[str, Array]) -> None:  # fmt: skip
        self._g = graph
        self._network = network
        self._interface = interface
        self._tensors = tensors
        self._normalizer = normalizer
        self._rules = rule_matrices(interface.heads)
        self._offset = [int(start) for start in np.concatenate([[0], np.cumsum(interface.head_sizes)])]

    def decide(self) -> None:
        """Head after head: logits given the picks so far, what is legal given them, the best of logit + noise."""
        g = self._g
        x = self._inputs()
        features = self._features(x)
        plain = "" if self._network.heads == "mlp" else self._plain(x, features)
        illegal = g.constant(_ILLEGAL)
        hots: list[str] = []
        actions: list[str] = []
        log_probs: list[str] = []
        for h in range(len(self._interface.heads)):
            start, stop = self._offset[h], self._offset[h + 1]
            picks = g.joined(hots) if hots else ""
            logits = self._head(h, features, plain, picks)
            legal = self._legal(h, picks)
            noisy = g.op("Add", logits, g.columns("noise", start, stop))
            pick = g.op("ArgMax", g.op("Where", legal, noisy, illegal), axis=1, keepdims=1)
            is_pick = g.op("Equal", pick, g.constant(np.arange(stop - start, dtype=np.int64)))
            hots.append(g.cast(is_pick, "FLOAT"))
            probable = g.op("LogSoftmax", g.op("Where", legal, logits, illegal), axis=1)
            log_probs.append(g.op("ReduceSum", g.op("Mul", probable, hots[-1]), g.axis(1), keepdims=1))
            actions.append(pick)
        g.op("Identity", g.joined(actions), result="actions")
        g.op("ReduceSum", g.joined(log_probs), g.axis(1), result="log_prob", keepdims=0)

    def _inputs(self) -> str:
        """Normalised, clipped, ids embedded, blocks encoded."""
        frames = len(self._network.frames)
        is_id = np.array([f.kind == "id" for f in self._interface.features])
        mean = np.where(is_id, 0.0, self._normalizer["obs/mean"])
        scale = np.where(is_id, 1.0, inverse_deviation(self._normalizer["obs/var"]))
        limit = np.where(is_id, np.inf, self._network.clip)
        x = self._standardised("obs", *(np.tile(a, frames).astype(np.float32) for a in (mean, scale, limit)))
        if is_plain(self._network, self._interface):
            return x
        layouts = block_layouts(self._network, self._interface)
        width = self._interface.obs_size
        return self._g.joined([self._block(x, f * width, layout) for f in range(frames) for layout in layouts])

    def _standardised(self, x: str, mean: Array, scale: Array, limit: Array) -> str:
        g = self._g
        x = g.op("Mul", g.op("Sub", x, g.constant(mean)), g.constant(scale))
        return g.op("Min", g.op("Max", x, g.constant(-limit)), g.constant(limit))

    def _block(self, x: str, start: int, layout: BlockLayout) -> str:
        g, block = self._g, layout.block
        start += layout.start
        shape = g.constant(np.array([-1, block.count, len(block.features)], np.int64))
        items = g.op("Reshape", g.columns(x, start, start + block.width), shape)
        parts = []
        if layout.reals:
            parts.append(g.op("Gather", items, g.constant(np.array(layout.reals, np.int64)), axis=2))
        for i, name in layout.ids:
            ids = g.cast(g.op("Gather", items, g.constant(np.array(i, np.int64)), axis=2), "INT64")
            parts.append(g.op("Gather", g.constant(self._tensors[name]), ids, axis=0))
        joined = g.joined(parts, axis=2)
        if self._network.encoder and block.count > 1:
            for i in range(len(self._network.encoder)):
                name = f"{encoder_name(block)}/{i}"
                product = g.op("MatMul", joined, g.constant(self._tensors[f"{name}/weight"].T))
                joined = self._activated(g.op("Add", product, g.constant(self._tensors[f"{name}/bias"])))
            if self._network.pooling == "mean_max":
                kinds = ("ReduceMean", "ReduceMax")
                return g.joined([g.op(kind, joined, g.axis(1), keepdims=0) for kind in kinds])
        return g.op("Reshape", joined, g.constant(np.array([-1, layout.width], np.int64)))

    def _features(self, x: str) -> str:
        """What the heads read: the trunk's output, or the memory after it."""
        g, units = self._g, self._network.memory
        for i in range(len(self._network.trunk)):
            x = self._activated(self._linear(f"actor/{i}", x))
        if not units:
            return x
        new, old = (
            g.op("Gemm", source, *(g.constant(self._tensors[f"memory/{n}"]) for n in (kind, f"{kind}_bias")), transB=1)
            for source, kind in ((x, "input"), ("memory", "hidden"))
        )
        new_parts, old_parts = (
            [g.columns(value, i * units, (i + 1) * units) for i in range(3)] for value in (new, old)
        )
        reset, update = (g.op("Sigmoid", g.op("Add", new_parts[i], old_parts[i])) for i in (0, 1))
        candidate = g.op("Tanh", g.op("Add", new_parts[2], g.op("Mul", reset, old_parts[2])))
        rest = g.op("Mul", g.op("Sub", g.constant(np.float32(1.0)), update), candidate)
        return g.op("Add", rest, g.op("Mul", update, "memory"), result="memory_after")

    def _plain(self, x: str, features: str) -> str:
        """[B,A] logits before any picks."""
        g, logits = self._g, self._linear("head", features)
        for pointer in pointers(self._network, self._interface):
            count, width = pointer.high - pointer.low, self._network.encoder[-1]
            rows = g.columns(x, pointer.start, pointer.start + count * width)
            rows = g.op("Reshape", rows, g.constant(np.array([-1, count, width], np.int64)))
            weights = {name: self._tensors[f"{name}/weight"].T for name in (pointer.row, pointer.context, pointer.role)}
            context = g.op("Unsqueeze", g.op("MatMul", features, g.constant(weights[pointer.context])), g.axis(1))
            hidden = g.op("MatMul", rows, g.constant(weights[pointer.row]))
            hidden = g.op("Add", hidden, g.constant(self._tensors[f"{pointer.row}/bias"]))
            said = g.op("MatMul", self._activated(g.op("Add", hidden, context)), g.constant(weights[pointer.role]))
            flat = g.op("Reshape", said, g.constant(np.array([-1, len(pointer.places)], np.int64)))
            places = np.zeros((len(pointer.places), self._interface.mask_size), np.float32)
            places[:, pointer.columns] = pointer.places
            logits = g.op("Add", logits, g.op("MatMul", flat, g.constant(places)))
        return logits

    def _head(self, h: int, features: str, plain: str, picks: str) -> str:
        """[B, size] logits given the picks before."""
        g, (start, stop) = self._g, (self._offset[h], self._offset[h + 1])
        if plain:
            logits = g.columns(plain, start, stop)
            if self._network.heads == "independent" or not picks:
                return logits
            return g.op("Add", logits, g.op("MatMul", picks, g.constant(self._tensors["table"][:start, start:stop])))
        x = features
        if picks:
            mean, scale = self._normalizer["pick/mean"], inverse_deviation(self._normalizer["pick/var"])
            limit = np.full(start, self._network.clip)
            facts = (a[:start].astype(np.float32) for a in (mean, scale, limit))
            x = g.joined([features, self._standardised(picks, *facts)])
        name = f"head/{self._interface.heads[h].name}"
        for i in range(len(self._network.head_layers)):
            x = self._activated(self._linear(f"{name}/{i}", x))
        return self._linear(f"{name}/{len(self._network.head_layers)}", x)

    def _legal(self, h: int, picks: str) -> str:
        """[B, size]; where nothing is left the fallback, or the first choice, as the compiled sampler does."""
        g, head, (start, stop) = self._g, self._interface.heads[h], (self._offset[h], self._offset[h + 1])
        legal = g.columns("mask", start, stop)
        needs, wanted, anyone, has_any, bars = self._rules
        here = (slice(0, start), slice(start, stop))
        has_any, wanted = has_any[start:stop], wanted[start:stop]
        if not picks:
            legal = g.op("And", legal, g.constant(~has_any & (wanted <= 0)))
        if picks and wanted.any():
            met = g.op("MatMul", picks, g.constant(needs[here]))
            legal = g.op("And", legal, g.op("GreaterOrEqual", met, g.constant(wanted)))
        if picks and has_any.any():
            met = g.op("Greater", g.op("MatMul", picks, g.constant(anyone[here])), g.constant(np.float32(0.0)))
            legal = g.op("And", legal, g.op("Or", met, g.constant(~has_any)))
        if picks and bars[here].any():
            hits = g.op("MatMul", picks, g.constant(bars[here]))
            legal = g.op("And", legal, g.op("Less", hits, g.constant(np.float32(0.5))))
        last_resort = 0 if head.fallback is None else head.choices.index(head.fallback)
        some = g.op("ReduceMax", g.cast(legal, "FLOAT"), g.axis(1), keepdims=1)
        nothing = g.op("Less", some, g.constant(np.float32(0.5)))
        return g.op("Or", legal, g.op("And", nothing, g.constant(np.arange(head.size) == last_resort)))

    def _linear(self, name: str, x: str) -> str:
        weight, bias = (self._g.constant(self._tensors[f"{name}/{part}"]) for part in ("weight", "bias"))
        return self._g.op("Gemm", x, weight, bias, transB=1)

    def _activated(self, x: str) -> str:
        match self._network.activation:
            case "relu":
                return self._g.op("Relu", x)
            case "tanh":
                return self._g.op("Tanh", x)
            case "silu":
                return self._g.op("Mul", x, self._g.op("Sigmoid", x))
