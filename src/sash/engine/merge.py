"""Merge: ends of windows over irregular times, without a branch that cannot be predicted.

Where the ends of windows move by another number of rows each time, a loop that asks "is the
next row in?" loses more to wrong guesses than to work. Rows and ends are merged instead: each
turn either a row has its end, or the end moves on, whichever it is by arithmetic alone.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import get, outlined

WORTH_MERGING = 64
"""Rows of a key from which on four parts of them are worth their start."""


@outlined
def merged(q: Any, row: int, by: Any, run: Any) -> int:
    """Ends at the first row whose time is t + by or later, without a branch to predict.

    Rows and ends are merged: each turn either a row has its end, or the end moves on. Four
    parts of the rows take turns, so that their loads overlap. No end is looked for where
    all rows are before the edge.
    """
    last = first_over(q, run.row, run.last, by, get(q.time, run.stop - 1))
    part = (last - run.row) // 4
    i0, i1, i2, i3 = run.row, run.row + part, run.row + 2 * part, run.row + 3 * part
    r0, r1 = row, first_from(q, row, run.stop, get(q.time, i1) + by)
    r2 = first_from(q, row, run.stop, get(q.time, i2) + by)
    r3 = first_from(q, row, run.stop, get(q.time, i3) + by)
    e0, e1, e2 = i1, i2, i3
    while (i0 < e0) & (i1 < e1) & (i2 < e2) & (i3 < last):
        i0, r0 = turn(q, i0, r0, by, run)
        i1, r1 = turn(q, i1, r1, by, run)
        i2, r2 = turn(q, i2, r2, by, run)
        i3, r3 = turn(q, i3, r3, by, run)
    while i0 < e0:
        i0, r0 = turn(q, i0, r0, by, run)
    while i1 < e1:
        i1, r1 = turn(q, i1, r1, by, run)
    while i2 < e2:
        i2, r2 = turn(q, i2, r2, by, run)
    while i3 < last:
        i3, r3 = turn(q, i3, r3, by, run)
    return fill_with(q, run.stop, last, run) if last < run.last else r3


def turn(q: Any, i: int, row: int, by: Any, run: Any) -> tuple[int, int]:
    """One turn of a merge: the end of row i is `row`, or it moves on."""
    q.out[i - run.begin] = row
    moves = int(get(q.time, row) < get(q.time, i) + by)
    return i + 1 - moves, row + moves


def first_over(q: Any, a: int, z: int, by: Any, time: Any) -> int:
    """The first of rows a to z - 1 whose time + by is past `time`, or z."""
    while a < z:
        m = (a + z) // 2
        if time < get(q.time, m) + by:
            z = m
        else:
            a = m + 1
    return a


def first_from(q: Any, a: int, z: int, edge: Any) -> int:
    """The first of rows a to z - 1 whose time is `edge` or later, or z."""
    while a < z:
        m = (a + z) // 2
        if get(q.time, m) < edge:
            a = m + 1
        else:
            z = m
    return a


def fill_with(q: Any, end: int, row: int, run: Any) -> int:
    """The same end for all rows from `row` on."""
    for i in range(row, run.last):
        q.out[i - run.begin] = end
    return end
