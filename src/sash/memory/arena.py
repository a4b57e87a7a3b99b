"""Arena: the memory of a tree, columns of numbers and of partials, linked by row number."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.kernel.words import dtype_of
from sash.memory.columns import Table, fitting, held_rows


class Arena:
    """Memory of a tree: row r has `cells[name]` entries of each column."""

    chunked = False

    def __init__(
        self,
        columns: type,
        cells: Mapping[str, int],
        layout: Layout | None,
        identity: Any,
        places: int,
        rows: int = 16,
    ) -> None:
        self.layout, self._record, self._cells = layout, columns, dict(cells)
        self.rows = rows
        self.held = held_rows(layout, identity, places)
        self.columns: dict[str, Any] = {}
        for name, kind in inspect.get_annotations(columns).items():
            if name == "held":
                continue
            count = rows * self._cells.get(name, 1)
            dtype = dtype_of(kind)
            partials = dtype is None
            self.columns[name] = Table(layout, count) if partials else np.zeros(count, dtype)

    @property
    def plain(self) -> Any:
        views = (c if isinstance(c, Table) else memoryview(c) for c in self.columns.values())
        return self._record(*views, 0)

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
        """The contents, as arrays or lists by name."""
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
