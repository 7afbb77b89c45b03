"""Choices judged by what they are about: the same weights for every move, every target, every team-mate.

A head's links say which row of which block a choice is about, and in which role. A row's encoding and the trunk's
output meet in one hidden layer, which gives a number for every role; a choice's logit is what the plain head says plus
the numbers of all its links. Weights belong to blocks and roles, not to places, so what is learned about one row holds
for all. Shape letters as in `spec`; E width of an encoded row, U units of the hidden layer, W of the trunk's output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pvp_ml.match import FloatArray
from pvp_ml.model.network_config import NetworkConfig, block_layouts, linked_blocks, pointer_name, roles_of
from pvp_ml.spec import Head, Interface, Link


@dataclass(frozen=True, slots=True)
class Pointer:
    """The links of one head to one block: rows `low`…`high` − 1 of it, at columns `start`… of the trunk's input."""

    block: str
    head: str
    start: int  # first column of row `low` in the trunk's input
    low: int
    high: int
    columns: slice  # of the head, among all logits
    places: FloatArray  # [(high − low) · roles, head size] 1 where a choice is about a row in a role

    @property
    def row(self) -> str:
        """Name of the layer that reads the block's rows."""
        return pointer_name(self.block, "row")

    @property
    def context(self) -> str:
        """Name of the layer that reads the trunk's output for this head."""
        return pointer_name(self.block, f"of-{self.head}")

    @property
    def role(self) -> str:
        """Name of the layer that gives a number for each role."""
        return pointer_name(self.block, "role")


def pointers(network: NetworkConfig, interface: Interface) -> tuple[Pointer, ...]:
    """All pairs of head and block that links connect; none without `pointer` units."""
    return tuple(_pointers(network, interface)) if network.pointer else ()


def _pointers(network: NetworkConfig, interface: Interface) -> Iterator[Pointer]:
    starts, column = {}, 0
    for layout in block_layouts(network, interface):
        starts[layout.block.name] = (column, layout.width // layout.block.count)
        column += layout.width
    offset = 0
    for head in interface.heads:
        for block in linked_blocks(head):
            links = [link for link in head.links if link.block == block]
            low, high = min(link.row for link in links), max(link.row for link in links) + 1
            start, width = starts[block]
            places = _places(head, links, roles_of(interface, block), low, high)
            yield Pointer(block, head.name, start + low * width, low, high, slice(offset, offset + head.size), places)
        offset += head.size


def _places(head: Head, links: list[Link], roles: tuple[str, ...], low: int, high: int) -> FloatArray:
    places = np.zeros(((high - low) * len(roles), head.size), np.float32)
    for link in links:
        places[(link.row - low) * len(roles) + roles.index(link.role), head.choices.index(link.choice)] += 1.0
    return places
