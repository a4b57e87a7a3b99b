"""Flags: a column of booleans in the lowest bit of times, so that it goes where they go.

Moving a row's byte to its key takes as long as moving its 64 bits. Times mostly have a bit to
spare, and a condition in it costs half of a way of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.fixed import cells_of, column_of, conditions_of, room
from sash.engine.partition import AHEAD, kernel
from sash.engine.team import Team
from sash.kernel.words import Int8, Int32, Int64, Memory, attach, prefetch

SPAN = 1 << 62
"""Steps from the first time to the last up to which they have a bit to spare."""


class Columns(NamedTuple):
    """The columns that the loops read and write."""

    times: Int64
    flags: Int8  # eight in a byte as Arrow has them, and when split a byte each
    to: Int64
    places: Int32
    held: int


class WideColumns(NamedTuple):
    """The same for more rows than 32 bits can number."""

    times: Int64
    flags: Int8
    to: Int64
    places: Int64
    held: int


def scatter_both(memory: Memory, begin: int, end: int, zero: int, offset: int) -> int:
    """Time and flag of row i go to its place; the flag of row 0 is the bit `offset`."""
    q = attach(memory)
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(q.to, q.places[i + AHEAD])
        flag = q.flags[(offset + i) >> 3] >> ((offset + i) & 7) & 1
        q.to[q.places[i]] = (q.times[i] - zero) * 2 + flag
    return 0


def split(memory: Memory, begin: int, end: int, zero: int, offset: int) -> int:
    """Times and flags apart again."""
    q = attach(memory)
    for i in range(begin, end):
        both = q.times[i]
        q.flags[i] = both & 1
        q.to[i] = (both >> 1) + zero
    return 0


def go_together(flags: pa.Array, times: pa.Array) -> bool:
    """Whether booleans can go with times, which are in order."""
    kind = times.type
    if not pa.types.is_boolean(flags.type) or flags.null_count or times.null_count:
        return False
    if not (pa.types.is_timestamp(kind) or pa.types.is_int64(kind)) or not len(times):
        return False
    first, last = ends_of(times)
    return last - first < SPAN


def ends_of(times: pa.Array) -> tuple[int, int]:
    """The least and the largest of times that are in order, from either end."""
    cells = cells_of(times).view(np.int64)
    first, last = sorted((int(cells[0]), int(cells[-1])))
    return first, last


def moved_together(
    flags: pa.Array, times: pa.Array, places: np.ndarray, team: Team
) -> tuple[pa.Array, pa.Array]:
    """Booleans and times, those of each row at its place."""
    n, (zero, _) = len(times), ends_of(times)
    both, true = room(n, np.int64), room(n, np.uint8)
    bits = np.frombuffer(flags.buffers()[1], np.uint8)

    def over(driver: Callable[..., int], *arrays: np.ndarray) -> None:
        columns = Columns if places.dtype == np.int32 else WideColumns
        run = kernel(driver, columns, both.dtype)
        memory = (*(number for a in (*arrays, places) for number in (a.ctypes.data, 0)), 0)
        team.over(n, lambda begin, end: run(memory, begin, end, zero, flags.offset))

    over(scatter_both, cells_of(times), bits, both)
    over(split, both, true, both)
    return conditions_of(true, None), column_of(times.type, both, None)
