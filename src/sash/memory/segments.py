"""Segments: local memory for the two ends of each level of a tree, and a few nodes between.

    tail   the youngest nodes of a level, a ring: what is written (the write buffer)
    head   the oldest ones, a ring: what is read next (the read cache)
    spare  single nodes in between that a step asked for, until the next `settle`

All are in one column of partials; the column `levels` says where, and `cell` looks there.
Steps are the ones of the tree in memory, with this meaning of `cell`.

Legend  a level has its tail from node `young` on, its head from `old` up to `read`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.kernel.words import dtype_of, word
from sash.memory.columns import Table, held_rows, new_cells

FIELDS = 3  # the logarithm of how many numbers a level has in the column `levels`
LEVELS = 128
NEVER = 1 << 62
SPARE = 4096

Place = tuple[int, int]  # a level and a node, or a level and a page

fetch = word("fetch", "fetch(q, level, j): the cell of a node that is neither in head nor tail")


def cell(q: Any, level: int, j: int) -> int:
    """Where node j of a level lies: in its tail, in its head, or where `fetch` puts it."""
    k = level << FIELDS
    if j >= q.levels[k]:
        return q.levels[k + 1] + (j & q.levels[k + 2])
    if j < q.levels[k + 3]:
        return q.levels[k + 4] + (j & q.levels[k + 5])
    return fetch(q, level, j)


def recent(q: Any, level: int, j: int) -> int:
    """Where a node lies that is in the tail, as the youngest are."""
    k = level << FIELDS
    return q.levels[k + 1] + (j & q.levels[k + 2])


class Level:
    """One level: where its tail and its head begin, in nodes and in cells."""

    __slots__ = ("head", "head_size", "old", "read", "tail", "tail_size", "young")

    def __init__(self, young: int) -> None:
        self.young = self.old = self.read = young
        self.tail = self.head = self.tail_size = self.head_size = 0


class Segments:
    """The columns that steps take, and what is in them."""

    chunked = False
    cap = NEVER  # there is always room

    def __init__(self, columns: type, layout: Layout | None, identity: Any, places: int) -> None:
        self.layout, self._record, self._identity = layout, columns, identity
        self.held = held_rows(layout, identity, places)
        self.levels: list[Level] = []
        self.fixed = False  # compiled code is running: the cells must stay where they are
        self._spare: dict[Place, int] = {}
        self._first_spare = 0
        self._journal: list[tuple[int, Any]] = []
        self._callback: Any = None
        self._addresses: tuple[Any, tuple[int, ...]] | None = None  # of the part that it is for
        self._new_columns()
        self.lay_out([])

    def memory(self) -> tuple[int, ...]:
        """The addresses, for a driver."""
        if self._callback is None:
            from sash.kernel.callback import address_of

            self._callback, self.columns["fetch"][0] = address_of(self.fetch_compiled)
        part = self.columns["part"].array
        if self._addresses is None or self._addresses[0] is not part:
            columns = self.columns.values()
            pairs = (c.address if isinstance(c, Table) else (c.ctypes.data, 0) for c in columns)
            held = 0 if self.held is None else self.held.ctypes.data
            self._addresses = part, (*(number for pair in pairs for number in pair), held)
        return self._addresses[1]

    def fetch_compiled(self, level: int, j: int) -> int:
        """The function that compiled code calls for a node that is neither in head nor tail."""
        raise NotImplementedError

    def save(self, nodes: bool = False) -> dict[str, Any]:
        """The columns that steps change, for `undo`; with `nodes`, those of before too.

        Compiled code says nothing of the nodes it changes, so all that are here are copied.
        Plain Python keeps a journal of them.
        """
        self._journal = []
        tables = {n: c.array for n, c in self.columns.items() if isinstance(c, Table)}
        if not (nodes and self.fixed):
            del tables["part"]
        return {name: array.copy() for name, array in tables.items()}

    def undo(self, saved: dict[str, Any]) -> None:
        """Back to what `save` gave; nodes that were made since lie beyond the window's end."""
        part = self.columns["part"]
        for i, v in reversed(self._journal):
            part[i] = v
        for name, array in saved.items():
            self.columns[name].array[:] = array

    def put(self, part: Any, i: int, v: Any) -> Any:
        """The word `put` in plain Python, of an algorithm that changes nodes."""
        if part is self.columns["part"]:
            self._journal.append((i, part[i]))
        part[i] = v
        return v

    @property
    def nbytes(self) -> int:
        """Local memory, objects at the size of a pointer."""
        width = 8 if self.layout is None else self.layout.width
        return width * sum(len(c) for c in self.columns.values() if isinstance(c, Table))

    def text(self, at: Any) -> str:
        """Where the levels are, for a person."""
        ends = ((s.old, s.read, s.young, s.tail_size, s.head_size) for s in self.levels)
        return "old, read, young, tail, head of each level\n" + "\n".join(map(str, ends))

    def lay_out(self, sizes: list[tuple[int, int]]) -> None:
        """Tails and heads of these sizes, the nodes moved; cell 0 is anyone's."""
        begins = [1]
        for n in (n for pair in sizes for n in pair):
            begins.append(begins[-1] + n)
        spare = SPARE if any(head for _, head in sizes) else 0
        first, taken = begins[-1], len(self._spare)
        part = Table(self.layout, first + max(spare, taken))
        part.array[0] = self._identity
        old, self.columns["part"] = self.columns["part"], part
        if taken:
            start = self._first_spare
            part.array[first : first + taken] = old.array[start : start + taken]
            self._spare = {place: first + i for i, place in enumerate(self._spare)}
        self._first_spare = first
        for k, (level, (tail, head)) in enumerate(zip(self.levels, sizes)):
            a, b = begins[2 * k], begins[2 * k + 1]
            _move(old.array, level.tail, level.tail_size, part.array, a, tail, level.young)
            _move(old.array, level.head, level.head_size, part.array, b, head, level.old)
            level.tail, level.tail_size, level.head, level.head_size = a, tail, b, head
            i = k << FIELDS
            self._view[i + 1], self._view[i + 2] = a, max(0, tail - 1)
            self._view[i + 4], self._view[i + 5] = b, max(0, head - 1)
        views = (c if isinstance(c, Table) else memoryview(c) for c in self.columns.values())
        self.plain = self._record(*views, 0)
        self.note()

    def note(self) -> None:
        """Tell `cell` what the tails and heads have."""
        view, k = self._view, 0
        for level in self.levels:
            view[k], view[k + 3] = level.young, level.read if level.head_size else 0
            k += 1 << FIELDS

    def run(self, level: Level, lo: int, hi: int) -> Any:
        """Nodes lo to hi - 1 of a tail, copied."""
        array, i, n = raw(self.columns["part"].array), lo & (level.tail_size - 1), hi - lo
        if i + n <= level.tail_size:
            return array[level.tail + i : level.tail + i + n].copy()
        run, fits = raw(new_cells(self.layout, n)), level.tail_size - i
        run[:fits] = array[level.tail + i : level.tail + level.tail_size]
        run[fits:] = array[level.tail : level.tail + n - fits]
        return run

    def put_run(self, level: Level, lo: int, run: Any) -> None:
        """Set nodes of a tail."""
        array, i = raw(self.columns["part"].array), lo & (level.tail_size - 1)
        run = raw(run)
        fits = min(len(run), level.tail_size - i)
        array[level.tail + i : level.tail + i + fits] = run[:fits]
        array[level.tail : level.tail + len(run) - fits] = run[fits:]

    def put_head(self, level: Level, lo: int, run: Any) -> None:
        """Set nodes of a head, a page's share of it."""
        start = level.head + (lo & (level.head_size - 1))
        raw(self.columns["part"].array)[start : start + len(run)] = raw(run)

    def spare(self, level: int, j: int) -> int | None:
        """The cell of a spare node, if it is here."""
        return self._spare.get((level, j))

    def add_spare(self, level: int, j: int, v: Any) -> int | None:
        """Put a node in a spare cell; None if there is none."""
        part, there = self.columns["part"], self._first_spare + len(self._spare)
        if there == len(part):
            if self.fixed:
                return None
            part.enlarge(2 * len(part))
        part.array[there] = v
        self._spare[level, j] = there
        return there

    def keep_spares(self) -> None:
        """Nodes that steps may have set: what is in the head now is as they left it."""
        array = self.columns["part"].array
        for (k, j), there in self._spare.items():
            level = self.levels[k]
            if level.old <= j < level.read:
                array[level.head + (j & (level.head_size - 1))] = array[there]
        self.drop_spares()

    def drop_spares(self) -> None:
        self._spare.clear()
        part, most = self.columns["part"], self._first_spare + SPARE
        if len(part) > most:  # a check has read all there is
            part.array = part.array[:most].copy()

    def _new_columns(self) -> None:
        self.columns: dict[str, Any] = {}
        for name, kind in inspect.get_annotations(self._record).items():
            if name == "held":
                continue
            dtype = dtype_of(kind)
            self.columns[name] = (
                Table(self.layout, LEVELS)
                if dtype is None
                else np.zeros(LEVELS << FIELDS if name == "levels" else 1, dtype)
            )
        self.columns["levels"][:: 1 << FIELDS] = NEVER  # no level is here yet
        self._view = memoryview(self.columns["levels"])


def raw(cells: Any) -> Any:
    """Cells to be copied: NumPy copies tuples number by number, but bytes at once."""
    if isinstance(cells, np.ndarray) and cells.dtype.names is not None:
        return cells.view(f"V{cells.dtype.itemsize}")
    return cells


def _move(old: Any, a: int, size: int, new: Any, b: int, to: int, first: int) -> None:
    """A ring of `size` cells at a, from node `first` on, to one of `to` cells at b."""
    old, new = raw(old), raw(new)
    lo, hi = first, first + min(size, to)
    while lo < hi:
        i, j = lo & (size - 1), lo & (to - 1)
        n = min(hi - lo, size - i, to - j)
        new[b + j : b + j + n] = old[a + i : a + i + n]
        lo += n
