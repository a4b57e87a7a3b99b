"""Room: the memory of one window, as plain Python and compiled code see it.

    Queue   the cells of a first-in-first-out window, by ever-growing index
    Arena   the rows of a tree: columns of numbers and of partials, linked by row number

`plain` is the store that steps take in plain Python; `memory()` is what a
compiled driver is given instead, and `attach` turns it into the same store.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sash.kernel.cells import Chunks, Ring, Table, fitting, held_rows
from sash.kernel.layout import Layout
from sash.kernel.words import Partials, dtype_of


class Store(NamedTuple):
    """The store of a queue."""

    part: Partials
    held: int


class Queue:
    """Room for a queue whose cells are f to e - 1, the cursors' own names.

    In chunks, so that no step copies it all; in a ring while it is being slid over
    at least as many items as it holds, which is faster.
    """

    def __init__(self, layout: Layout | None, identity: Any, places: int, an_item: int = 1) -> None:
        """`an_item`: how many cells an item takes."""
        self.layout, self._an_item = layout, an_item
        self.cells: Ring | Chunks = Chunks(layout)
        self.held = held_rows(layout, identity, places)

    @property
    def plain(self) -> Store:
        return Store(self.cells, 0)

    @property
    def chunked(self) -> bool:
        return self.cells.chunked

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions."""
        lo, hi = at.f * self._an_item, (at.e + more) * self._an_item
        if isinstance(self.cells, Ring):
            if hi - lo <= len(self.cells):
                return
            self._fill(at, self._read(at))
        assert isinstance(self.cells, Chunks)
        self.cells.reserve(lo, hi)

    def reserve_ring(self, at: Any, most: int) -> None:
        """Make room for `most` items, in a ring."""
        if isinstance(self.cells, Ring) and most * self._an_item <= len(self.cells):
            return
        ring = Ring(self.layout, most * self._an_item)
        ring.write(at.f * self._an_item, self._read(at))
        self.cells = ring

    def memory(self) -> tuple[int, ...]:
        held = 0 if self.held is None else self.held.ctypes.data
        return (*self.cells.address, held)

    def dump(self, at: Any) -> dict[str, Any]:
        """What is in it, as arrays or lists by name."""
        return {"part": self._read(at)}

    def load(self, at: Any, columns: dict[str, Any]) -> None:
        """Take what `dump` gave; ValueError if that does not fit the cursors."""
        self._fill(at, fitting(columns["part"], self.layout, (at.e - at.f) * self._an_item))

    def text(self, at: Any) -> str:
        """The cells, for a person."""
        return f"cells from {at.f * self._an_item} on: {list(self._read(at))}"

    def _read(self, at: Any) -> Any:
        return self.cells.read(at.f * self._an_item, at.e * self._an_item)

    def _fill(self, at: Any, values: Any) -> None:
        self.cells = Chunks(self.layout)
        self.cells.reserve(at.f * self._an_item, (at.e + 1) * self._an_item)
        self.cells.write(at.f * self._an_item, values)


class Arena:
    """Room for a tree: row r has `cells[name]` entries of each field of the store."""

    chunked = False

    def __init__(
        self,
        store: type,
        cells: Mapping[str, int],
        layout: Layout | None,
        identity: Any,
        places: int,
        rows: int = 16,
    ) -> None:
        self.layout, self._store, self._cells = layout, store, dict(cells)
        self.rows = rows
        self.held = held_rows(layout, identity, places)
        self.columns: dict[str, Any] = {}
        for name, kind in inspect.get_annotations(store).items():
            if name == "held":
                continue
            count = rows * self._cells.get(name, 1)
            dtype = dtype_of(kind)
            partials = dtype is None
            self.columns[name] = Table(layout, count) if partials else np.zeros(count, dtype)

    @property
    def plain(self) -> Any:
        views = (c if isinstance(c, Table) else memoryview(c) for c in self.columns.values())
        return self._store(*views, 0)

    def enlarge(self, rows: int) -> bool:
        """Have at least `rows` rows, at least half as many again; whether that was needed."""
        if rows <= self.rows:
            return False
        self.rows = max(rows, self.rows + self.rows // 2)
        for name, column in self.columns.items():
            count = self.rows * self._cells.get(name, 1)
            if isinstance(column, Table):
                column.enlarge(count)
            else:
                larger = np.zeros(count, column.dtype)
                larger[: len(column)] = column
                self.columns[name] = larger
        return True

    def memory(self) -> tuple[int, ...]:
        pairs = (
            c.address if isinstance(c, Table) else (c.ctypes.data, 0) for c in self.columns.values()
        )
        held = 0 if self.held is None else self.held.ctypes.data
        return (*(number for pair in pairs for number in pair), held)

    def text(self, at: Any) -> str:
        """The columns, for a person."""
        columns = self.columns.items()
        return "\n".join(
            f"{name}: {list(c.array if isinstance(c, Table) else c)}" for name, c in columns
        )

    def dump(self, at: Any) -> dict[str, Any]:
        """What is in it, as arrays or lists by name."""
        return {n: c.array if isinstance(c, Table) else c for n, c in self.columns.items()}

    def load(self, at: Any, columns: dict[str, Any]) -> None:
        """Take what `dump` gave; ValueError if the columns are not of one length."""
        self.rows = len(columns["part"]) // self._cells.get("part", 1)
        for name, column in self.columns.items():
            if isinstance(column, Table):
                column.array = fitting(columns[name], self.layout, self._count(name))
            else:
                kind = Layout(column.dtype)
                self.columns[name] = fitting(columns[name], kind, self._count(name))

    def _count(self, name: str) -> int:
        """How many cells a column has."""
        return self.rows * self._cells.get(name, 1)
