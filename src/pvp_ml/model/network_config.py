"""How a policy's network is described: its configuration, and the name and shape of every tensor that follows from it.

Both the torch network and the numpy one are built from `tensor_shapes`, so a bundle's tensors can be checked before any
of them is read. Shape letters as in `spec`; W is the width of the last trunk layer, F the number of stacked frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pvp_ml.spec import Block, Head, Interface

Width = Annotated[int, Field(ge=1, le=8192)]
Layers = Annotated[tuple[Width, ...], Field(max_length=8)]
Activation = Literal["relu", "tanh", "silu"]


class NetworkConfig(BaseModel):
    """The shape of a policy. The default is the fast one: shared trunk, one linear to all logits, a pick table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trunk: Layers = Field((256, 256), description="hidden layers of the actor")
    activation: Activation = Field("relu", description="between hidden layers")
    critic: Literal["shared", "separate"] = Field("shared", description="whether the value has its own trunk")
    critic_trunk: Layers | None = Field(None, description="hidden layers of a separate critic; empty = as the actor")
    privileged: bool = Field(False, description="the critic also sees privileged features; needs critic: separate")
    heads: Literal["table", "independent", "mlp"] = Field(
        "table", description="how a head depends on earlier picks: a pick → logit table, not at all, or an MLP per head"
    )
    head_layers: Layers = Field((128, 128), description="hidden layers of each head when heads: mlp")
    embedding: Annotated[int, Field(ge=1, le=256)] = Field(16, description="width of an id's embedding")
    encoder: Layers = Field((), description="layers shared by the repetitions of a block; empty = none")
    pooling: Literal["concat", "mean_max"] = Field("concat", description="how encoded repetitions are joined")
    pointer: Annotated[int, Field(ge=0, le=1024)] = Field(
        0,
        description="units that judge a choice by the rows it is about (links of the game); needs an encoder; 0 = none",
    )
    frames: Annotated[tuple[int, ...], Field(min_length=1, max_length=16)] = Field(
        (0,), description="stacked observations, 0 = now, 1 = one decision ago, …"
    )
    memory: Annotated[int, Field(ge=0, le=2048)] = Field(0, description="units of a GRU after the trunk; 0 = none")
    win_head: bool = Field(False, description="also predict the chance to win")
    clip: Annotated[float, Field(gt=0)] = Field(5.0, description="limit of a normalised observation")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.privileged and self.critic == "shared":
            raise ValueError("privileged: true needs critic: separate, or the actor would see what is hidden from it")
        if list(self.frames) != sorted(set(self.frames)) or self.frames[0] != 0:
            raise ValueError(f"frames {self.frames} must start with 0 and rise")
        if self.pointer and (not self.encoder or self.pooling != "concat" or self.heads == "mlp"):
            raise ValueError("pointer needs an encoder, pooling: concat and heads: table or independent")
        if not self.trunk:
            raise ValueError("trunk needs at least one layer")
        return self

    @property
    def critic_layers(self) -> tuple[int, ...]:
        """Hidden layers of a separate critic."""
        return self.trunk if self.critic_trunk is None else self.critic_trunk


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Where a block lies in the observation and what becomes of it."""

    block: Block
    start: int  # first column of the block in the observation
    reals: tuple[int, ...]  # feature indexes that are numbers or flags
    ids: tuple[tuple[int, str], ...]  # (feature index, name of its embedding table)
    tables: tuple[tuple[str, tuple[int, ...]], ...]  # the same, neighbours of one table together
    item_width: int  # numbers per repetition after embedding
    width: int  # numbers that the block gives to the trunk


def columns(numbers: tuple[int, ...]) -> slice | list[int]:
    """Neighbouring columns as a slice, which costs no copy; others as they are."""
    is_run = numbers == tuple(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    return slice(numbers[0] if numbers else 0, numbers[-1] + 1 if numbers else 0) if is_run else list(numbers)


def embedding_name(feature: str) -> str:
    """Features whose names differ only in a trailing number (`move1`, `move2`) share an embedding."""
    return "embedding/" + re.sub(r"_?\d+$", "", feature)


def block_layouts(network: NetworkConfig, interface: Interface) -> tuple[BlockLayout, ...]:
    """The blocks in order; without ids and encoder the trunk reads the observation as it is."""
    layouts, start = [], 0
    for block in interface.blocks:
        ids = tuple((i, embedding_name(f.name)) for i, f in enumerate(block.features) if f.kind == "id")
        reals = tuple(i for i, f in enumerate(block.features) if f.kind != "id")
        item = len(reals) + network.embedding * len(ids)
        width = item * block.count
        if network.encoder and block.count > 1:
            width = network.encoder[-1] * (2 if network.pooling == "mean_max" else block.count)
        tables = tuple((name, tuple(i for i, _ in group)) for name, group in groupby(ids, lambda pair: pair[1]))
        layouts.append(BlockLayout(block, start, reals, ids, tables, item, width))
        start += block.width
    return tuple(layouts)


def is_plain(network: NetworkConfig, interface: Interface) -> bool:
    """Whether the trunk reads the normalised observation directly."""
    return not network.encoder and all(f.kind != "id" for f in interface.features)


def input_width(network: NetworkConfig, interface: Interface) -> int:
    """Numbers that the actor's trunk reads."""
    return len(network.frames) * sum(layout.width for layout in block_layouts(network, interface))


def encoder_name(block: Block) -> str:
    """What the tensors of a block's encoder begin with; torch allows no dot in a parameter's name."""
    return f"encoder/{block.name.replace('.', '-')}"


def pointer_name(block: str, part: str) -> str:
    """What the tensors begin with that judge choices by rows of this block."""
    return f"pointer/{block.replace('.', '-')}/{part}"


def linked_blocks(head: Head) -> tuple[str, ...]:
    """Blocks that a head's choices are about, in the order in which links name them."""
    return tuple(dict.fromkeys(link.block for link in head.links))


def roles_of(interface: Interface, block: str) -> tuple[str, ...]:
    """Roles that rows of a block play in any head, in the order in which links name them."""
    return tuple(dict.fromkeys(link.role for head in interface.heads for link in head.links if link.block == block))


def tensor_shapes(network: NetworkConfig, interface: Interface) -> dict[str, tuple[int, ...]]:
    """Name → shape of every weight, actor first, then critic; linear weights are [out, in]."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layout in block_layouts(network, interface):
        for i, name in layout.ids:
            vocab = layout.block.features[i].vocab or 0
            shapes[name] = (max(vocab, shapes.get(name, (0, 0))[0]), network.embedding)
        if network.encoder and layout.block.count > 1:
            _mlp(shapes, encoder_name(layout.block), (layout.item_width, *network.encoder))
    width = input_width(network, interface)
    _mlp(shapes, "actor", (width, *network.trunk))
    last = network.trunk[-1]
    if network.memory:
        shapes["memory/input"] = (3 * network.memory, last)
        shapes["memory/hidden"] = (3 * network.memory, network.memory)
        shapes["memory/input_bias"] = shapes["memory/hidden_bias"] = (3 * network.memory,)
        last = network.memory
    _heads(shapes, network, interface, last)
    _pointers(shapes, network, interface, last)
    if network.win_head:
        _linear(shapes, "win", last, 1)
    if network.critic == "separate":
        extra = interface.privileged_size if network.privileged else 0
        _mlp(shapes, "critic", (width + extra, *network.critic_layers))
        last = network.critic_layers[-1] if network.critic_layers else width + extra
    _linear(shapes, "value", last, 1)
    return shapes


def normalizer_shapes(network: NetworkConfig, interface: Interface) -> dict[str, tuple[int, ...]]:
    """Name → shape of every running statistic that belongs to the weights (float64)."""
    sizes = {"obs": interface.obs_size}
    if network.privileged:
        sizes["privileged"] = interface.privileged_size
    if network.heads == "mlp":
        sizes["pick"] = interface.mask_size
    parts = {name: {"mean": (size,), "var": (size,), "count": (1,)} for name, size in sizes.items()}
    return {f"{name}/{part}": shape for name, shapes in parts.items() for part, shape in shapes.items()}


def is_critic(name: str) -> bool:
    """Whether a tensor belongs to the critic: it has its own learning rate and is not needed to act."""
    return name.startswith(("critic/", "value/"))


def _heads(shapes: dict[str, tuple[int, ...]], network: NetworkConfig, interface: Interface, width: int) -> None:
    if network.heads != "mlp":
        _linear(shapes, "head", width, interface.mask_size)
        if network.heads == "table":
            shapes["table"] = (interface.mask_size, interface.mask_size)
        return
    picked = 0
    for head in interface.heads:
        _mlp(shapes, f"head/{head.name}", (width + picked, *network.head_layers, head.size))
        picked += head.size


def _pointers(shapes: dict[str, tuple[int, ...]], network: NetworkConfig, interface: Interface, width: int) -> None:
    for head in interface.heads if network.pointer else ():
        for block in linked_blocks(head):
            _linear(shapes, pointer_name(block, "row"), network.encoder[-1], network.pointer)
            shapes[f"{pointer_name(block, f'of-{head.name}')}/weight"] = (network.pointer, width)
            shapes[f"{pointer_name(block, 'role')}/weight"] = (len(roles_of(interface, block)), network.pointer)


def _mlp(shapes: dict[str, tuple[int, ...]], name: str, sizes: tuple[int, ...]) -> None:
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        _linear(shapes, f"{name}/{i}", inputs, outputs)


def _linear(shapes: dict[str, tuple[int, ...]], name: str, inputs: int, outputs: int) -> None:
    shapes[f"{name}/weight"] = (outputs, inputs)
    shapes[f"{name}/bias"] = (outputs,)
