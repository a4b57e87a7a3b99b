"""Filters: the rows for which a condition is true, numbered among themselves."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.fixed import cells_of, column_of, is_fixed, room, true_of
from sash.engine.frames import time_target
from sash.engine.lengths import Lengths
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.kernel.compiled import compiled
from sash.kernel.words import Int8, Int64, Memory, attach


class Columns(NamedTuple):
    """The columns that `keep` reads and writes."""

    passes: Int8
    values: Int64
    kept: Int64
    held: int


def keep(memory: Memory, n: int) -> int:
    """Move the values of rows that pass to the front: each is written, and few stay."""
    q = attach(memory)
    count = 0
    for i in range(n):
        q.kept[count] = q.values[i]
        count += q.passes[i]
    return count


@functools.cache
def keeper() -> Any:
    """The loop, compiled."""
    return compiled(keep, time_target(np.dtype(np.int64), Lengths, Columns)).run


def kept_of(passes: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The cells of rows that pass."""
    kept = room(len(cells) + 1, np.int64)
    places = (array.ctypes.data for array in (passes, cells, kept))
    memory = (*(number for place in places for number in (place, 0)), 0)
    return kept[: keeper()(memory, len(cells))]


class Passing:
    """The rows that pass a condition; windows of rows become windows of those that pass.

    So whatever is aggregated never sees the others, and the bounds of a frame are found once
    for all conditions.
    """

    def __init__(self) -> None:
        self._ranks = Ranks()
        self._found: dict[int, tuple[Bounds, Bounds]] = {}  # of the block at work

    def take(self, condition: pa.Array, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        """Take the condition of a batch's rows; give the rows of the columns that pass.

        The first column is kept while they are counted.
        """
        mask = pc.fill_null(condition, False) if condition.null_count else condition
        passes, found, counted = true_of(mask), {}, False
        for name, column in columns.items():
            if column.null_count or not is_fixed(column.type) or column.type.bit_width != 64:
                found[name] = column.filter(mask)
                continue
            cells = cells_of(column)
            kept = kept_of(passes, cells) if counted else self._ranks.mark_keeping(passes, cells)
            counted = True
            found[name] = column_of(column.type, kept, None)
        if not counted:
            self._ranks.mark(passes)
        return found

    def of(self, bounds: Bounds | Pieces) -> Bounds | Pieces:
        """The same windows among the rows that pass; kept for the next caller."""
        if isinstance(bounds, Pieces):
            return bounds.each(self._of)
        return self._of(bounds)

    def _of(self, bounds: Bounds) -> Bounds:
        known = self._found.get(id(bounds))
        if known is None or known[0] is not bounds:
            known = (bounds, self._ranks.of(bounds))
            self._found[id(bounds)] = known
        return known[1]

    def before(self, row: int) -> int:
        """How many rows before this one pass."""
        return self._ranks.before(row)

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""
        self._found = {}
        self._ranks.forget(row)
