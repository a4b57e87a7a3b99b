"""Windows of items, both ends moving on: Two-Stacks with all bounds known.

Cost    three combines per item at most, and one per window.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.kernel.words import (
    Address,
    InputColumns,
    Memory,
    Outputs,
    Partials,
    Windows,
    attach,
    combine,
    get,
    give,
    item,
    lift,
    lower,
    numbers,
    one,
    put,
)


class Columns(NamedTuple):
    """The column that the loop writes besides answers: the suffixes of the front list."""

    suffix: Partials
    held: int


class At(NamedTuple):
    """Nothing is kept from call to call."""

    done: int


def answer_items(
    memory: Memory,
    at: At,
    xs: InputColumns,
    windows: Windows,
    known: Address,
    out: Outputs,
) -> At:
    """For windows of items how many rows are in, and the answer.

    Items from `lo` up to the anchor are kept as suffixes, combined up to it; those after it
    are combined as they come. A window that begins at the anchor or later makes a new one.
    """
    q = attach(memory)
    begins, ends, rows = numbers(windows.lo), numbers(windows.hi), numbers(known)
    anchor = end = 0
    back = one(q)
    for i in range(windows.n):
        rows[i] = 0
        if begins[i] < ends[i]:
            if begins[i] >= anchor:
                anchor = end = ends[i]
                back = one(q)
                total = one(q)
                j = anchor - 1
                while j >= begins[i]:
                    total = put(q.suffix, j, combine(lift(q, item(xs, j)), total))
                    j -= 1
            while end < ends[i]:
                back = combine(back, lift(q, item(xs, end)))
                end += 1
            total = combine(get(q.suffix, begins[i]), back)
            rows[i] = total[0]
            if total[0] > 0:
                give(out, i, lower(total))
    return at
