"""A policy as one torch module that decides: what `pvp-ml model export` writes, and what tests hold the actor against.

Noise is an input, so the exported model chooses exactly like `model.actor`. Rules become matrices over
the one-hot of earlier picks. Shape letters as in `spec`; N stacked observation, G memory.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from pvp_ml.match import FloatArray
from pvp_ml.model.actor import Array, check_tensors
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.model.sampling.rules import rule_matrices
from pvp_ml.rl.policy.actions import ILLEGAL, HeadLayout
from pvp_ml.rl.policy.torch_network import Network, scaling
from pvp_ml.spec import Interface

CPU = torch.device("cpu")


class DecidingModule(nn.Module):
    """obs [B,N] float32, mask [B,A] bool, noise [B,A] float32 (zeros: greedy), memory [B,G] → actions [B,H] int64,
    log_prob [B], memory after the decision [B,G]. Memory appears only in networks that have one.
    """

    def __init__(
        self,
        network: NetworkConfig,
        interface: Interface,
        tensors: Mapping[str, FloatArray],
        normalizer: Mapping[str, Array],
        device: torch.device = CPU,
    ) -> None:
        super().__init__()
        check_tensors(network, interface, tensors)
        self.network = network
        self.interface = interface
        layout = HeadLayout.of(interface.head_sizes, device)
        self._device = device
        self._net = Network(network, interface, layout)
        self._scaling = scaling(network, interface, normalizer, device)
        self._weights = {name: torch.tensor(array, device=device) for name, array in tensors.items()}
        self._table = self._weights["table"] * layout.later if network.heads == "table" else None
        self._needs, self._wanted, self._any, self._has_any, self._bars = (
            torch.as_tensor(a, device=device) for a in rule_matrices(interface.heads)
        )
        self._offset = [int(start) for start in np.concatenate([[0], np.cumsum(interface.head_sizes)])]

    def forward(self, obs: Tensor, mask: Tensor, noise: Tensor, memory: Tensor | None = None) -> tuple[Tensor, ...]:
        """Head after head: logits given the picks so far, what is legal given them, the best of logit + noise."""
        net, p = self._net, self._weights
        x = net.inputs(p, obs, self._scaling)
        features = net.features(p, x, memory)
        plain = None
        if self.network.heads != "mlp":
            plain = net.plain_logits(p, x, features)
        picks = torch.zeros_like(noise)
        actions, total = [], torch.zeros_like(noise[:, 0])
        for h in range(len(self.interface.heads)):
            columns = slice(self._offset[h], self._offset[h + 1])
            logits = self._head(h, features, plain, picks)
            legal = self._legal(h, mask[:, columns], picks)
            masked = torch.where(legal, logits, ILLEGAL)
            pick = torch.where(legal, logits + noise[:, columns], ILLEGAL).argmax(dim=1)
            hot = nn.functional.one_hot(pick, columns.stop - columns.start).to(noise.dtype)
            total = total + (torch.log_softmax(masked, dim=1) * hot).sum(1)
            picks = torch.cat([picks[:, : columns.start], hot, picks[:, columns.stop :]], dim=1)
            actions.append(pick)
        decided = torch.stack(actions, dim=1)
        return (decided, total, features) if self.network.memory else (decided, total)

    def _head(self, h: int, features: Tensor, plain: Tensor | None, picks: Tensor) -> Tensor:
        start, stop = self._offset[h], self._offset[h + 1]
        if plain is None:
            seen = self._net.normal_picks(picks, self._scaling)[:, :start]
            return self._net.head_logits(self._weights, h, features, seen)
        logits = plain[:, start:stop]
        return logits if self._table is None or h == 0 else logits + picks @ self._table[:, start:stop]

    def _legal(self, h: int, mask: Tensor, picks: Tensor) -> Tensor:
        """[B, size]; where nothing is left the fallback, or the first choice, as the compiled sampler does."""
        start, stop = self._offset[h], self._offset[h + 1]
        legal = mask
        if self.interface.heads[h].rules:
            legal = legal & (picks @ self._needs[:, start:stop] >= self._wanted[start:stop])
            legal = legal & ((picks @ self._any[:, start:stop] > 0) | ~self._has_any[start:stop])
            legal = legal & (picks @ self._bars[:, start:stop] == 0)
        head = self.interface.heads[h]
        last_resort = 0 if head.fallback is None else head.choices.index(head.fallback)
        only = torch.arange(stop - start, device=self._device) == last_resort
        return legal | (only & ~legal.any(dim=1, keepdim=True))  # no `where` on booleans: ONNX runtimes lack it


def example_inputs(network: NetworkConfig, interface: Interface, rows: int = 2) -> tuple[Tensor, ...]:
    """Zeros of the right shapes; everything legal."""
    obs = torch.zeros(rows, len(network.frames) * interface.obs_size)
    mask = torch.ones(rows, interface.mask_size, dtype=torch.bool)
    noise = torch.zeros(rows, interface.mask_size)
    return (obs, mask, noise, torch.zeros(rows, network.memory)) if network.memory else (obs, mask, noise)


def torch_program(module: DecidingModule) -> bytes:
    """The module as a file that `torch.export.load` reads, for any number of rows."""
    inputs = example_inputs(module.network, module.interface)
    rows = torch.export.Dim("rows", min=1)
    with torch.no_grad():
        program = torch.export.export(module, inputs, dynamic_shapes=tuple({0: rows} for _ in inputs))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()
