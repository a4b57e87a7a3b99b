"""Buffers: late rows, and the partials that they change, on their way into the tree.

Late rows come into many bulks and change many nodes, a few keys of each. They are written to one
page for all of them, in order of node, and go into the nodes' own pages when there are many.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.manifest import Node
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.sorted_keys import starts

NODE = "_node"
"""The column with the number of a node."""

T = TypeVar("T", KeyMap, Rows)


def number_of(node: Node) -> int:
    """A number for a node, in order of time."""
    return (node.first << 6) | node.level


def place_of(number: int) -> tuple[int, int]:
    """The level and the index of a node by its number."""
    level = number & 63
    return level, number >> 6 >> level


@dataclass
class Buffer(Generic[T]):
    """Rows or partials of nodes: the nodes' numbers, sorted, and where each node begins."""

    nodes: np.ndarray
    all: T
    places: dict[int, tuple[int, int]]
    slices: dict[int, T] = field(default_factory=dict)  # of nodes that were asked for

    @staticmethod
    def of(nodes: np.ndarray, given: T) -> Buffer[T]:
        first: list[int] = starts(nodes).tolist()
        spans = itertools.pairwise([*first, len(nodes)])
        return Buffer(nodes, given, dict(zip(nodes[first].tolist() if first else [], spans)))

    @staticmethod
    def read(table: pa.Table, decoded: Callable[[pa.Table], T]) -> Buffer[T]:
        """The buffer that a page is."""
        place = table.column_names.index(NODE)
        nodes = numbers(one_array(table.column(place)))
        return Buffer.of(nodes, decoded(table.remove_column(place)))

    def any_of(self, nodes: Container[tuple[int, int]]) -> bool:
        """Whether one of its nodes is among some, the youngest first."""
        return any(place_of(n) in nodes for n in reversed(self.places))

    def place(self, node: Node) -> tuple[int, int] | None:
        """Where a node begins and ends."""
        return self.places.get(number_of(node))

    def at(self, node: Node) -> T | None:
        """The part of a node, if it has one."""
        number = number_of(node)
        place = self.places.get(number)
        if place is None:
            return None
        if number not in self.slices:
            self.slices[number] = self.all.slice(*place)
        return self.slices[number]
