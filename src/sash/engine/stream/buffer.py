"""Buffers: late rows, and the partials that they change, on their way into the tree.

Late rows come into many bulks and change many nodes, a few keys of each. They are written to one
page for all of them, in order of node, and go into the nodes' own pages when there are many.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.stream.bulk_rows import Rows
from sash.engine.stream.manifest import Node, Trunk
from sash.engine.stream.map_pages import MapPages
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import Page, Pages
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


class Buffers:
    """The two buffers of a tree, pages that its trunk names; `time`: the rows' times."""

    def __init__(self, trunk: Trunk, pages: Pages, maps: MapPages, time: str) -> None:
        self._trunk, self._pages, self._maps, self.time = trunk, pages, maps, time
        self._read: list[tuple[Page | None, Any]] = [(None, None), (None, None)]

    @property
    def late_rows(self) -> Buffer[Rows] | None:
        """Late rows that are not yet in the pages of leaves."""
        return self._buffer(0, self._trunk.late, self.rows_of)

    @property
    def changed(self) -> Buffer[KeyMap] | None:
        """Partials that late rows have changed, not yet in the pages of nodes."""
        return self._buffer(1, self._trunk.changed, self._maps.decoded)

    def rows_of(self, table: pa.Table) -> Rows:
        """The rows that a table has."""
        return Rows(table, self.time)

    def _buffer(self, which: int, page: Page | None, decoded: Callable[[pa.Table], Any]) -> Any:
        if page is not self._read[which][0]:
            read = None if page is None else Buffer.read(self._pages.table(page), decoded)
            self._read[which] = page, read
        return self._read[which][1]

    def wait_rows(self, buffer: Buffer[Rows]) -> None:
        """Let late rows wait in the buffer, instead of those that are there."""
        self._pages.drop(self._trunk.late)
        self._trunk.late = self._written(0, buffer, buffer.all.table)

    def wait_partials(self, buffer: Buffer[KeyMap]) -> None:
        """Let partials that have changed wait in the buffer, instead of those that are there."""
        self._pages.drop(self._trunk.changed)
        self._trunk.changed = self._written(1, buffer, self._maps.encoded(buffer.all))

    def _written(self, which: int, buffer: Buffer[Any], table: pa.Table) -> Page | None:
        if not len(buffer.nodes):
            return None
        page = self._pages.add(table.append_column(NODE, pa.array(buffer.nodes)))
        self._read[which] = page, buffer
        return page

    def forget(self) -> None:
        """Drop the buffers all of whose nodes are gone."""
        nodes = self._trunk.nodes
        if self.late_rows is not None and not self.late_rows.any_of(nodes):
            self._pages.drop(self._trunk.late)
            self._trunk.late = None
        if self.changed is not None and not self.changed.any_of(nodes):
            self._pages.drop(self._trunk.changed)
            self._trunk.changed = None
