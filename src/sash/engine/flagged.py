"""Flagged: booleans that go to their places in the lowest bit of numbers that go there anyway.

To move a byte to its place takes as long as to move a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fixed import cells_of, column_of, is_fixed, room
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


def scatter_flagged(memory: Memory, begin: int, end: int, offset: int) -> int:
    """Row i goes to its place, with its flag, which is bit i + offset, in the lowest bit."""
    q = attach(memory)
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(q.to, q.places[i + AHEAD])
        flag = (q.flags[(i + offset) >> 3] >> ((i + offset) & 7)) & 1
        q.to[q.places[i]] = 2 * q.source[i] + flag
    return 0


class Split(NamedTuple):
    """The columns that `split_flagged` reads and writes."""

    cells: Int64
    flags: Int8
    held: int


def split_flagged(memory: Memory, begin: int, end: int) -> int:
    """Numbers without their flags, and the flags, a bit each; `begin` is the first of a byte."""
    q = attach(memory)
    for first in range(begin, end, 8):
        bits = 0
        for i in range(first, min(first + 8, end)):
            cell = q.cells[i]
            bits |= (cell & 1) << (i - first)
            q.cells[i] = cell >> 1
        q.flags[first >> 3] = bits
    return 0


def clear_marked(memory: Memory, begin: int, end: int, mark: int) -> int:
    """Clears the flags, a bit each, of numbers that are `mark`, which are few, and counts them;
    `begin` is the first of a byte."""
    q = attach(memory)
    count = 0
    for i in range(begin, end):
        if q.cells[i] == mark:
            q.flags[i >> 3] &= ~(1 << (i & 7))
            count += 1
    return count


def unmarked(cells: np.ndarray, mark: int, team: Team) -> tuple[np.ndarray, int]:
    """Which cells are not `mark`, as Arrow's bits, and how many are."""
    n = len(cells)
    bits, clear = room(-(-n // 8), np.uint8), kernel(clear_marked, Split, INT64)
    bits[:] = 255
    memory = (cells.ctypes.data, 0, bits.ctypes.data, 0, 0)
    return bits, sum(team.over_bytes(n, lambda begin, end: clear(memory, begin, end, mark)))


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
    n, given, offset = len(column), flags.buffers()[1], flags.offset
    cells, to, found = cells_of(column), room(n, INT64), room(-(-n // 8), np.uint8)
    scatter = kernel(scatter_flagged, Flagged, INT64)
    split = kernel(split_flagged, Split, INT64)
    addresses = cells.ctypes.data, given.address, to.ctypes.data, places.ctypes.data
    memory = (*(number for address in addresses for number in (address, 0)), 0)
    team.over(n, lambda begin, end: scatter(memory, begin, end, offset))
    parts = (to.ctypes.data, 0, found.ctypes.data, 0, 0)
    team.over_bytes(n, lambda begin, end: split(parts, begin, end))
    booleans = pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(found)])
    return column_of(column.type, to, None), booleans
