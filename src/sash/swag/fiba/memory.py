"""TreeMemory: the columns of a tree, enlarged between operations.

They grow in place, by a part in 32 at a time once they are large, so that there are
never an old and a new one, and little of them is empty.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from sash.kernel.layout import Layout
from sash.kernel.words import dtype_of
from sash.memory.columns import Table, fitting, held_rows
from sash.memory.growing import GrowingArray
from sash.swag.fiba.sound import Arrays, counts
from sash.swag.fiba.tree import (
    BLOCK,
    BLOCK_END,
    CURSORS,
    DEFERRED,
    FREE_INNER,
    FREE_LEAF,
    FRONT,
    HEAD,
    HEIGHT,
    KID_ROWS,
    LEFT_LEAF,
    LEVELS,
    MIN,
    PLACES,
    RIGHT_LEAF,
    ROOT,
    ROWS,
    RUN,
    SKIP,
    STEP,
    TIMES,
    TOP_LEFT,
    TOP_RIGHT,
    TREELETS,
    USED,
    USED_KIDS,
    WORDS,
    Tree,
)

OF_NODES = ("time", "val", "agg", "node", "mark")
OF_KIDS = ("child",)
OF_TREELETS = ("new_time", "new_val", "new_node", "new_target", "run")
DTYPES = {n: dtype_of(kind) for n, kind in inspect.get_annotations(Tree).items() if n != "held"}
SMALL = 256  # up to this many rows, half as many again are added


class Column:
    """Numbers, partials or objects, one after the other."""

    def __init__(self, dtype: np.dtype | None, layout: Layout | None, objects: bool) -> None:
        self.layout = layout if dtype is None else Layout(dtype)
        self.is_partials = dtype is None
        wanted = None if objects or self.layout is None else self.layout.array_dtype
        self._cells: GrowingArray | list[Any] = [] if wanted is None else GrowingArray(0, wanted)

    @property
    def cells(self) -> Any:
        """The array, or the list; not to be kept while it grows."""
        return self._cells.array if isinstance(self._cells, GrowingArray) else self._cells

    def resize(self, count: int) -> None:
        """Have `count` cells, in place."""
        if isinstance(self._cells, GrowingArray):
            self._cells.resize(count)
        elif count > len(self._cells):
            self._cells.extend([None] * (count - len(self._cells)))
        else:
            del self._cells[count:]

    def view(self) -> Any:
        """The object that plain Python indexes; for plain numbers a memoryview, the fastest."""
        if isinstance(self._cells, list):
            return self._cells
        assert self.layout is not None
        if self.layout.parts is None and self.layout.length is None:
            return memoryview(self._cells.array)
        table = Table(self.layout, 0)
        table.array = self._cells.array
        return table

    @property
    def address(self) -> tuple[int, int]:
        """The address and the mask, for compiled code."""
        data = self._cells.array.ctypes.data if isinstance(self._cells, GrowingArray) else 0
        return data, -1 if self.is_partials else 0

    @property
    def nbytes(self) -> int:
        """How much memory it takes; objects are counted by their pointers."""
        cells = self.cells
        return 8 * len(cells) if isinstance(cells, list) else int(cells.nbytes)


class TreeMemory:
    """All columns of one tree: `plain` for steps in plain Python, `address` for compiled ones."""

    def __init__(
        self, layout: Layout | None, identity: Any, min_arity: int, object_times: bool
    ) -> None:
        self.layout, self.object_times = layout, object_times
        self.held = held_rows(layout, identity, PLACES)
        b = TIMES * min_arity
        self._a_row = {"time": b - 1, "val": b - 1, "node": WORDS, "child": b, "run": RUN}
        self._a_row |= dict.fromkeys(("new_time", "new_val", "new_node", "new_target"), 2)
        self.columns = {name: self._new(name) for name in DTYPES}
        for name, count in (("head", HEAD), ("front", b), ("path", STEP * LEVELS)):
            self.columns[name].resize(count)
        self.head = self.columns["head"].view()
        self.head[MIN] = min_arity
        self.head[TOP_LEFT] = self.head[TOP_RIGHT] = -1
        self.head[USED] = self.head[USED_KIDS] = 1  # row 0 is where nodes are set aside
        self.enlarge(4, 2)
        self.enlarge_treelets(1)

    def _new(self, name: str) -> Column:
        objects = self.object_times and name in ("time", "new_time")
        return Column(DTYPES[name], self.layout, objects)

    def enlarge(self, rows: int, kid_rows: int) -> None:
        """Have room for that many nodes, and that many inner nodes among them."""
        for names, number, wanted in ((OF_NODES, ROWS, rows), (OF_KIDS, KID_ROWS, kid_rows)):
            have = self.head[number]
            if wanted > have:
                more = have // 2 if have < SMALL else have // 32
                self.head[number] = max(wanted, have + more)
                self._resize(names, self.head[number])

    def enlarge_treelets(self, count: int) -> None:
        """Have room for a bulk of `count` items."""
        if count > self.head[TREELETS]:
            self._resize_treelets(count)

    def shrink_treelets(self, count: int) -> None:
        """Have room for a bulk of at most `count` items."""
        if count < self.head[TREELETS]:
            self._resize_treelets(count)

    def _resize_treelets(self, count: int) -> None:
        self._resize(OF_TREELETS, count)
        self.head[TREELETS] = count

    def _resize(self, names: tuple[str, ...], count: int) -> None:
        self._plain: Any = None  # its views would keep the old memory
        for name in names:
            self.columns[name].resize(count * self._a_row.get(name, 1))
        self._take_addresses()

    def _take_addresses(self) -> None:
        self._plain = None
        pairs = [column.address for column in self.columns.values()]
        held = 0 if self.held is None else self.held.ctypes.data
        self._directory = np.array([x for pair in pairs for x in pair] + [held], np.int64)
        self.address: int = self._directory.ctypes.data

    @property
    def plain(self) -> Any:
        """The store of plain Python; to be read again after columns have grown."""
        if self._plain is None:
            self._plain = Tree._make([*(column.view() for column in self.columns.values()), 0])
        return self._plain

    @property
    def nbytes(self) -> int:
        """How much memory the columns take."""
        return sum(column.nbytes for column in self.columns.values())

    def set_times(self, times: Any) -> None:
        """Other times in all cells: an array of keys, or a list of objects."""
        self.object_times = isinstance(times, list)
        self._plain = None
        for name in ("time", "new_time"):
            count = len(self.columns[name].cells)
            self.columns[name] = self._new(name)
            self.columns[name].resize(count)
        self.columns["time"].cells[:] = times
        self._take_addresses()

    def dump(self) -> dict[str, Any]:
        """The cursors and the rows that are in use, by column."""
        head = self.columns["head"].cells[:CURSORS].tolist()
        columns = {n: self.columns[n].cells[:k] for n, k in counts(head, self.head[MIN]).items()}
        node = columns["node"].copy()
        node[WORDS * head[BLOCK] : WORDS * head[BLOCK_END]] = 0  # rows that were never used
        return {**columns, "head": head, "node": node}

    def load(self, columns: dict[str, Any]) -> None:
        """Take what `dump` gave, into memory that is new; ValueError if that is not a tree."""
        head, least = columns["head"], self.head[MIN]
        if len(head) != CURSORS or any(type(x) is not int for x in head):
            raise ValueError(f"the cursors are {head}")
        for name, count in counts(head, least).items():
            column = self.columns[name]
            layout = None if isinstance(column.cells, list) else column.layout
            fitting(columns[name], layout, count)
        tree = Arrays(head, columns["node"], columns["child"], least)
        tree.check()
        self.enlarge(head[USED], head[USED_KIDS])
        for name, count in counts(head, least).items():
            self.columns[name].cells[:count] = columns[name]
        for cursor in (ROOT, LEFT_LEAF, RIGHT_LEAF, HEIGHT, SKIP, USED, USED_KIDS):
            self.head[cursor] = head[cursor]
        for cursor, rows in zip((FREE_LEAF, FREE_INNER), tree.free()):
            self.head[cursor] = int(rows[0]) if len(rows) else 0
            self.columns["node"].cells[WORDS * rows + 1] = np.append(rows[1:], 0)
        for cursor in (FRONT, DEFERRED, BLOCK, BLOCK_END):
            self.head[cursor] = 0
