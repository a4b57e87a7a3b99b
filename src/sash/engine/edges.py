"""Edges: ends of windows at a distance in time, without a branch that cannot be predicted.

Where the ends of windows move by another number of rows each time, a loop that asks "is the
next row in?" loses more to wrong guesses than to work. Instead, each row counts how many of
the next few rows are before its edge: no guess is wrong unless all of them are.
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import BELOW, below, get, outlined, straight

WORTH_PARTS = 64
"""Rows of a key from which on four parts of them are worth their start."""


@outlined
def counted(q: Any, row: int, by: Any, run: Any) -> int:
    """Ends at the first row whose time is t + by or later; the last of them.

    Four parts of the rows take turns, so that their loads overlap. No row is compared beyond
    the key's last one: rows whose ends are so near to it are found one by one.
    """
    times = straight(q.time, 0)
    last = first_over(times, run.row, run.last, by, get(times, run.stop - 1 - BELOW))
    part = (last - run.row) // 4
    i0, i1, i2, i3 = run.row, run.row + part, run.row + 2 * part, run.row + 3 * part
    r0, r1 = row, first_from(times, row, run.stop, get(times, i1) + by)
    r2 = first_from(times, row, run.stop, get(times, i2) + by)
    r3 = first_from(times, row, run.stop, get(times, i3) + by)
    for _ in range(part):
        r0 = end_from(times, r0, get(times, i0) + by)
        r1 = end_from(times, r1, get(times, i1) + by)
        r2 = end_from(times, r2, get(times, i2) + by)
        r3 = end_from(times, r3, get(times, i3) + by)
        q.out[i0 - run.begin], q.out[i1 - run.begin] = r0, r1
        q.out[i2 - run.begin], q.out[i3 - run.begin] = r2, r3
        i0, i1, i2, i3 = i0 + 1, i1 + 1, i2 + 1, i3 + 1
    for i in range(i3, run.last):
        edge = get(times, i) + by
        while r3 < run.stop and get(times, r3) < edge:
            r3 += 1
        q.out[i - run.begin] = r3
    return r3


def end_from(times: Any, row: int, edge: Any) -> int:
    """The first row from `row` on whose time is `edge` or later; BELOW rows follow it."""
    moves = below(times, row, edge)
    row += moves
    while moves == BELOW:
        moves = below(times, row, edge)
        row += moves
    return row


def first_over(times: Any, a: int, z: int, by: Any, time: Any) -> int:
    """The first of rows a to z - 1 whose time + by is past `time`, or z."""
    while a < z:
        m = (a + z) // 2
        if time < get(times, m) + by:
            z = m
        else:
            a = m + 1
    return a


def first_from(times: Any, a: int, z: int, edge: Any) -> int:
    """The first of rows a to z - 1 whose time is `edge` or later, or z."""
    while a < z:
        m = (a + z) // 2
        if get(times, m) < edge:
            a = m + 1
        else:
            z = m
    return a


def fill_with(q: Any, end: int, row: int, run: Any) -> int:
    """The same end for all rows from `row` on."""
    for i in range(row, run.last):
        q.out[i - run.begin] = end
    return end
