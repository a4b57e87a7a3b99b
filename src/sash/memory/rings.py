"""Rings: rooms whose rows are used round and round, and doubled or halved when need be.

    Rings   columns of `cap` rows; row i lies at i & (cap - 1)
    Levels  a binary tree over `cap` leaves, level by level; node j of level l lies at
            s + (j & (s - 1)), where s = cap >> l: the leaves last, the root first

`cap` is a power of two, and the only row of the column of that name. What
lies in the rows is addressed by ever-growing index, so moving to a larger or a
smaller ring changes no index and no distance between two.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.kernel.words import dtype_of
from sash.memory.columns import Table, fitting, held_rows

LEAST, MOST = 16, 1 << 31


class Rings:
    """Room for a queue with several columns; the cursors f and e bound its rows.

    Enlarged before a batch to the next power of two, halved when three quarters are
    free: amortized O(1) moves per operation, at most 4 n + LEAST rows.
    """

    chunked = False

    def __init__(
        self, columns: type, layout: Layout | None, identity: Any, places: int, spare: int = 1
    ) -> None:
        """`spare`: have that many times as many rows as items."""
        self.layout, self._record, self._spare = layout, columns, spare
        self.held = held_rows(layout, identity, places)
        self.take(self._new_columns(LEAST))

    @property
    def cap(self) -> int:
        return int(self.columns["cap"][0])

    def reserve(self, at: Any, more: int) -> None:
        """Make room for `more` insertions."""
        self.reserve_ring(at, at.e - at.f + more)

    def reserve_ring(self, at: Any, most: int) -> None:
        """Make room for `most` items."""
        if self._spare * most > self.cap:
            self._resize(at, power_of_two(self._spare * most))

    def reach(self, at: Any, evicts: int) -> None:
        """Have what that many evictions read: all of it is here."""

    def release(self, at: Any) -> None:
        """Give back what is not needed, after evictions."""
        needed = self._spare * (at.e - at.f)
        if self.cap > LEAST and 4 * needed <= self.cap:
            self._resize(at, max(LEAST, power_of_two(2 * needed)))

    def memory(self) -> tuple[int, ...]:
        pairs = (
            c.address if isinstance(c, Table) else (c.ctypes.data, 0) for c in self.columns.values()
        )
        held = 0 if self.held is None else self.held.ctypes.data
        return (*(number for pair in pairs for number in pair), held)

    def text(self, at: Any) -> str:
        """The columns, for a person."""
        return "\n".join(f"{name}: {list(_array(c))}" for name, c in self.columns.items())

    def dump(self, at: Any) -> dict[str, Any]:
        """The contents, as arrays or lists by name, in as few rows as possible."""
        least = self._moved(at, power_of_two(self._spare * (at.e - at.f)))
        return {name: _array(column) for name, column in least.items()}

    def load(self, at: Any, columns: dict[str, Any]) -> None:
        """Take what `dump` gave; ValueError if that does not fit the cursors."""
        cap = int(fitting(columns["cap"], Layout(np.dtype(np.int64)), 1)[0])
        if cap != power_of_two(self._spare * (at.e - at.f)):
            raise ValueError(f"{cap} rows for {at.e - at.f} items")
        taken = self._new_columns(cap)
        for name, column in taken.items():
            if isinstance(column, Table):
                column.array = fitting(columns[name], self.layout, len(column))
            else:
                taken[name] = fitting(columns[name], Layout(column.dtype), len(column))
        self.take(taken)

    def copied(self) -> dict[str, Any]:
        """The columns, copied, for `take`."""
        copies: dict[str, Any] = {}
        for name, column in self.columns.items():
            copies[name] = column.copy() if not isinstance(column, Table) else Table(self.layout, 0)
            if isinstance(column, Table):
                copies[name].array = column.array.copy()
        return copies

    def take(self, columns: dict[str, Any]) -> None:
        """Have these columns from now on."""
        self.columns = columns
        views = (c if isinstance(c, Table) else memoryview(c) for c in columns.values())
        self.plain = self._record(*views, 0)

    def _resize(self, at: Any, cap: int) -> None:
        if cap > MOST:
            raise OverflowError(f"room for {cap} items; a window has at most {MOST}")
        self.take(self._moved(at, cap))

    def _moved(self, at: Any, cap: int) -> dict[str, Any]:
        columns = self._new_columns(cap)
        for name, column in columns.items():
            if name != "cap":
                self._move(name, at, _array(self.columns[name]), _array(column))
        return columns

    def _move(self, name: str, at: Any, old: Any, new: Any) -> None:
        move(old, len(old), 0, new, len(new), 0, at.f, at.e)

    def _new_columns(self, cap: int) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for name, kind in inspect.get_annotations(self._record).items():
            if name in ("cap", "held"):
                continue
            dtype = dtype_of(kind)
            count = self._count(name, cap)
            columns[name] = Table(self.layout, count) if dtype is None else np.zeros(count, dtype)
        return {**columns, "cap": np.array([cap], np.int64)}

    def _count(self, name: str, cap: int) -> int:
        return cap


class Levels(Rings):
    """Room for a tree, in the column `part`; other columns have a row per level.

    `extent(at, l)` says which nodes of level l are in use: from, and up to.
    """

    def __init__(
        self,
        columns: type,
        layout: Layout | None,
        identity: Any,
        places: int,
        extent: Callable[[Any, int], tuple[int, int]],
        spare: int = 1,
    ) -> None:
        self._extent = extent
        super().__init__(columns, layout, identity, places, spare)

    def _count(self, name: str, cap: int) -> int:
        return 2 * cap if name == "part" else MOST.bit_length()

    def _move(self, name: str, at: Any, old: Any, new: Any) -> None:
        if name != "part":
            new[:] = old
            return
        a, b, level = len(old) // 2, len(new) // 2, 0
        while min(a, b) > 0:
            move(old, a, a, new, b, b, *self._extent(at, level))
            a, b, level = a // 2, b // 2, level + 1


def power_of_two(least: int) -> int:
    """The smallest power of two that is at least `least`."""
    return 1 << (least - 1).bit_length() if least > 1 else 1


def move(old: Any, a: int, at_a: int, new: Any, b: int, at_b: int, lo: int, hi: int) -> None:
    """Copy rows lo to hi - 1 from a ring of `a` rows at `at_a` to one of `b` rows at `at_b`."""
    while lo < hi:
        i, j = lo & (a - 1), lo & (b - 1)
        n = min(hi - lo, a - i, b - j)
        new[at_b + j : at_b + j + n] = old[at_a + i : at_a + i + n]
        lo += n


def _array(column: Any) -> Any:
    return column.array if isinstance(column, Table) else column
