"""Heap: the memory of a flat tree as FlatFAT's, in which node v has children 2v and 2v + 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernel import Layout
from sash.memory.arena import Arena
from sash.memory.columns import Table

POSITIVE = (1 << 63) - 1


def log2(x: int) -> int:
    """The largest k with 2^k <= x.

    Compiled it is one instruction: LLVM knows such a loop over a number that it sees is
    not negative.
    """
    x = (x & POSITIVE) >> 1
    k = 0
    while x != 0:
        x >>= 1
        k += 1
    return k


def zeros(x: int) -> int:
    """How many zeros x ends with, in base two."""
    return log2(x & -x)


class Heap(Arena):
    """Room for one flat tree of any capacity up to `rows`: two partials per row.

    `lists` names the columns that do not grow with it, and their lengths.
    """

    def __init__(
        self,
        columns: type,
        layout: Layout | None,
        identity: Any,
        places: int,
        rows: int,
        **lists: int,
    ) -> None:
        super().__init__(columns, {"part": 2}, layout, identity, places, rows)
        self._lists = tuple(lists)
        for name, length in lists.items():
            self.columns[name] = np.zeros(length, np.int64)

    def enlarge(self, rows: int) -> bool:
        """Have at least `rows` rows; whether that was needed."""
        lists = {name: self.columns[name] for name in self._lists}
        self.columns.update({name: np.zeros(0, np.int64) for name in lists})
        enlarged = super().enlarge(rows)
        self.columns.update(lists)
        return enlarged

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions; give back what a window that shrank left."""
        rows = max(at.capacity, 1 << (at.e - at.f + more - 1).bit_length())
        if rows > self.rows:
            self.enlarge(rows)
        elif self.rows >= 4 * rows:
            self._cut(rows)

    def reserve_ring(self, at: Any, most: int) -> None:
        """Make room for `most` items."""
        rows = max(at.capacity, 1 << max(0, most - 1).bit_length())
        if rows > self.rows:
            self.enlarge(rows)

    def holds(self, capacity: int) -> bool:
        """Whether there are cells for a tree of this capacity, a power of two."""
        return 0 < capacity <= self.rows and capacity & (capacity - 1) == 0

    def set_work(self, leaves: np.ndarray) -> int:
        """Let W hold these leaves, which are sorted; how many pairs it has now."""
        lo = leaves[np.diff(leaves, prepend=-1) != 1]
        hi = leaves[np.diff(leaves, append=-1) != 1]
        pairs = np.stack([lo, hi], axis=1)
        if pairs.size > len(self.columns["work"]):
            self.columns["work"] = np.zeros(pairs.size, np.int64)
        self.columns["work"][: pairs.size] = pairs.ravel()
        return len(pairs)

    def dump(self, at: Any) -> dict[str, Any]:
        """The contents by name, without the work list, which is empty between steps, and without
        what is fixed, which the window knows."""
        left_out = {"work", "fixed"}
        return {name: c for name, c in super().dump(at).items() if name not in left_out}

    def load(self, at: Any, columns: dict[str, Any]) -> None:
        """Take what `dump` gave."""
        super().load(at, {**{name: self.columns[name] for name in self._lists}, **columns})

    def _count(self, name: str) -> int:
        return len(self.columns[name]) if name in self._lists else super()._count(name)

    def _cut(self, rows: int) -> None:
        self.rows = rows
        for name, column in self.columns.items():
            if isinstance(column, Table):
                column.array = column.array[: 2 * rows].copy()
            elif name not in self._lists:
                self.columns[name] = column[:rows].copy()
