"""Flagged: booleans that go to their places in the lowest bit of numbers that go there anyway.

To move a byte to its place takes as long as to move a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fixed import cells_of, column_of, conditions_of, is_fixed, room, true_of
from sash.engine.partition import AHEAD, kernel
from sash.engine.team import Team
from sash.kernel.words import Int8, Int32, Int64, Memory, attach, prefetch

INT64 = np.dtype(np.int64)

FURTHEST = 1 << 62
"""Numbers below it, and not below its negative, have a bit to spare."""


class Flagged(NamedTuple):
    """The columns that `scatter_flagged` reads and writes."""

    source: Int64
    flags: Int8
    to: Int64
    places: Int32
    held: int


def scatter_flagged(memory: Memory, begin: int, end: int) -> int:
    """Row i goes to its place, with its flag in the lowest bit."""
    q = attach(memory)
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(q.to, q.places[i + AHEAD])
        q.to[q.places[i]] = 2 * q.source[i] + q.flags[i]
    return 0


class Split(NamedTuple):
    """The columns that `split_flagged` reads and writes."""

    cells: Int64
    flags: Int8
    held: int


def split_flagged(memory: Memory, begin: int, end: int) -> int:
    """Numbers without their flags, and the flags."""
    q = attach(memory)
    for i in range(begin, end):
        cell = q.cells[i]
        q.flags[i] = cell & 1
        q.cells[i] = cell >> 1
    return 0


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
    scatter = kernel(scatter_flagged, Flagged, INT64)
    split = kernel(split_flagged, Split, INT64)
    arrays = (cells, given, to, places)
    memory = (*(number for a in arrays for number in (a.ctypes.data, 0)), 0)
    team.over(n, lambda begin, end: scatter(memory, begin, end))
    parts = (to.ctypes.data, 0, found.ctypes.data, 0, 0)
    team.over(n, lambda begin, end: split(parts, begin, end))
    return column_of(column.type, to, None), conditions_of(found, None)
