"""Flagged: booleans that go to their places in the lowest bit of numbers that go there anyway.

To move a byte to its place takes as long as to move a number.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.engine import partition as loops
from sash.engine.fixed import cells_of, column_of, conditions_of, is_fixed, room, true_of
from sash.engine.team import Team

INT64 = np.dtype(np.int64)

FURTHEST = 1 << 62
"""Numbers below it, and not below its negative, have a bit to spare."""


def takes_flags(column: pa.Array) -> bool:
    """Whether a sorted column has 64-bit integers, none of them null, with a bit to spare."""
    kind = column.type
    integers = pa.types.is_int64(kind) or (pa.types.is_temporal(kind) and is_fixed(kind))
    if not integers or kind.bit_width != 64 or column.null_count or not len(column):
        return False
    return all(-FURTHEST <= int(end) < FURTHEST for end in cells_of(column).view(INT64)[[0, -1]])


def scattered(
    column: pa.Array, flags: pa.BooleanArray, places: np.ndarray, team: Team
) -> tuple[pa.Array, pa.BooleanArray]:
    """A column that takes flags and one of booleans, without nulls, each row at its place."""
    n = len(column)
    cells, to = cells_of(column), room(n, INT64)
    given, found = np.ascontiguousarray(true_of(flags)), room(n, np.uint8)
    scatter = loops.kernel(loops.scatter_flagged, loops.Flagged, INT64)
    split = loops.kernel(loops.split_flagged, loops.Split, INT64)
    arrays = (cells, given, to, places)
    memory = (*(number for a in arrays for number in (a.ctypes.data, 0)), 0)
    team.over(n, lambda begin, end: scatter(memory, begin, end))
    parts = (to.ctypes.data, 0, found.ctypes.data, 0, 0)
    team.over(n, lambda begin, end: split(parts, begin, end))
    return column_of(column.type, to, None), conditions_of(found, None)
