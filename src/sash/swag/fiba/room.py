"""Room: the arrays that the tree's columns are, enlarged between operations.

They grow in place, by a sixteenth at a time once they are large: where the system can
remap memory, nothing is copied and no old and new array exist at the same time.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from sash.kernel.cells import Table, held_rows
from sash.kernel.layout import Layout
from sash.kernel.room import as_bytes, from_bytes
from sash.kernel.words import dtype_of
from sash.swag.fiba.tree import (
    CURSORS,
    FRONT,
    HEAD,
    KID_ROWS,
    LEVELS,
    MIN,
    PLACES,
    ROWS,
    RUN,
    STEP,
    TIMES,
    TOP_LEFT,
    TOP_RIGHT,
    TREELETS,
    USED,
    USED_KIDS,
    Tree,
)

OF_NODES = ("time", "val", "agg", "arity", "parent", "kids", "side", "mark")
OF_KIDS = ("child", "weight")
OF_TREELETS = ("new_time", "new_val", "new_node", "new_target", "run")
DTYPES = {n: dtype_of(kind) for n, kind in inspect.get_annotations(Tree).items() if n != "held"}
SMALL = 4096  # up to so many rows, half as many again are added


class Room:
    """The columns of one tree. `plain` is the store that steps take in plain Python;
    `address` is what a compiled driver is given instead."""

    def __init__(
        self, layout: Layout | None, identity: Any, min_arity: int, object_times: bool = False
    ) -> None:
        self.layout, self.object_times = layout, object_times
        self.held = held_rows(layout, identity, PLACES)
        b = TIMES * min_arity
        self._cells = {"time": b - 1, "val": b - 1, "child": b, "run": RUN}
        self._cells |= {"new_time": 2, "new_val": 2, "new_node": 2, "new_target": 2}
        once = {"head": HEAD, "front": b, "path": STEP * LEVELS}
        self.columns = {name: self._new(name, once.get(name, 0)) for name in DTYPES}
        self.head = memoryview(self.columns["head"])
        self.head[MIN] = min_arity
        self.head[TOP_LEFT] = self.head[TOP_RIGHT] = -1
        self.head[USED] = self.head[USED_KIDS] = 1  # row 0 is where nodes are set aside
        self.enlarge(4, 2)
        self.enlarge_treelets(1)

    def _new(self, name: str, count: int) -> Any:
        if DTYPES[name] is None:
            return Table(self.layout, count)
        if name in ("time", "new_time") and self.object_times:
            return [None] * count
        return np.zeros(count, DTYPES[name])

    def enlarge(self, rows: int, kid_rows: int) -> None:
        """Have room for so many nodes, and so many of them inner ones."""
        for names, number, wanted in ((OF_NODES, ROWS, rows), (OF_KIDS, KID_ROWS, kid_rows)):
            have = self.head[number]
            if wanted > have:
                more = have // 2 if have < SMALL else have // 16
                self._resize(names, max(wanted, have + more))
                self.head[number] = max(wanted, have + more)

    def enlarge_treelets(self, count: int) -> None:
        """Have room for a bulk of `count` items."""
        if count > self.head[TREELETS]:
            self._resize(OF_TREELETS, count)
            self.head[TREELETS] = count

    def shrink_treelets(self, count: int) -> None:
        """Have room for a bulk of at most `count` items."""
        if count < self.head[TREELETS]:
            self._resize(OF_TREELETS, count)
            self.head[TREELETS] = count

    def _resize(self, names: tuple[str, ...], count: int) -> None:
        self._plain = None  # its views must not keep the old memory
        for name in names:
            column = self.columns[name]
            resize(getattr(column, "array", column), count * self._cells.get(name, 1))
        self._take_addresses()

    def _take_addresses(self) -> None:
        self._plain = None  # views of the old memory
        pairs = [self._address_of(column) for column in self.columns.values()]
        held = 0 if self.held is None else self.held.ctypes.data
        self._directory = np.array([x for pair in pairs for x in pair] + [held], np.int64)
        self.address: int = self._directory.ctypes.data

    def set_times(self, times: Any) -> None:
        """Other times in all cells: keys, or a list of objects."""
        self.object_times = isinstance(times, list)
        self.columns["time"] = times
        self.columns["new_time"] = self._new("new_time", 2 * self.head[TREELETS])
        self._take_addresses()

    def dump(self) -> dict[str, bytes]:
        """The bytes of the rows that are in use, by column."""
        counts = {name: self.head[USED] for name in OF_NODES if name != "mark"}
        counts |= dict.fromkeys(OF_KIDS, self.head[USED_KIDS])
        parts = {"head": as_bytes(self.columns["head"])}
        for name, count in counts.items():
            cells = getattr(self.columns[name], "array", self.columns[name])
            parts[name] = as_bytes(cells[: count * self._cells.get(name, 1)])
        return parts

    def load(self, parts: dict[str, bytes]) -> None:
        """Take what `dump` gave, into a room that is new."""
        head = np.frombuffer(parts["head"], np.int64)
        self.enlarge(int(head[USED]), int(head[USED_KIDS]))
        for name, blob in parts.items():
            if name == "head":
                continue
            column = self.columns[name]
            cells = getattr(column, "array", column)
            table = isinstance(column, Table)
            if isinstance(cells, list) or table:
                values = from_bytes(blob, self.layout if table else None)
            else:
                values = np.frombuffer(blob, cells.dtype)
            cells[: len(values)] = values
        self.head[:CURSORS] = memoryview(head[:CURSORS])
        self.head[FRONT] = 0

    @staticmethod
    def _address_of(column: Any) -> tuple[int, int]:
        if isinstance(column, Table):
            return column.address if isinstance(column.array, np.ndarray) else (0, 0)
        return (column.ctypes.data, 0) if isinstance(column, np.ndarray) else (0, 0)

    @property
    def plain(self) -> Any:
        """The store of plain Python; taken anew after the columns have grown."""
        if self._plain is None:
            views = (
                memoryview(c) if isinstance(c, np.ndarray) else c for c in self.columns.values()
            )
            self._plain = Tree(*views, 0)
        return self._plain

    @property
    def nbytes(self) -> int:
        """How much memory the columns take; objects are counted by their pointers."""
        arrays = (getattr(c, "array", c) for c in self.columns.values())
        return sum(a.nbytes if isinstance(a, np.ndarray) else 8 * len(a) for a in arrays)


def resize(array: Any, count: int) -> None:
    """Make an array, or a list, longer or shorter in place."""
    if isinstance(array, np.ndarray):
        array.resize((count, *array.shape[1:]), refcheck=False)
    elif count > len(array):
        array.extend([None] * (count - len(array)))
    else:
        del array[count:]
