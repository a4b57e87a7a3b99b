"""Adding pieces: loops that add the rows of a further piece to what windows have so far.

Each gives the answers, or leaves that to `give_all`.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
    IN_STEP,
    InputColumns,
    Int8,
    Int64,
    Memory,
    Outputs,
    Partials,
    Windows,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
    one,
    put,
    straight,
)

PEERS = FIRST_FREE


class Columns(NamedTuple):
    """The partials of windows so far and of a further piece; which windows have had some rows."""

    total: Partials
    younger: Partials
    some: Int8
    which: Int64  # windows whose rows have peers after them, the youngest first
    held: int


class At(NamedTuple):
    """What is known of all windows; nothing is kept from one to the next."""

    full: int = 0  # whether all have had rows
    named: int = 0  # how many `which` names
    last: int = 0  # how many peers the row of the last window has after it


def add_rows(memory: Memory, at: At, xs: InputColumns, windows: Windows, out: Outputs) -> At:
    """For each window the answer with its rows lo to hi - 1 too; none where it has no rows."""
    q = attach(memory)
    begins, ends, base = numbers(windows.lo), numbers(windows.hi), windows.base
    in_step = windows.shape == IN_STEP
    if in_step and at.full and windows.hi - windows.lo == 1:  # no row decides anything
        totals = straight(q.total, 0)
        for i in range(windows.n):
            own = lift(q, item(xs, windows.lo - base + i))
            give(out, i, lower(hold(q, ANSWER, combine(get(totals, i), own))))
        return at
    for i in range(windows.n):
        row = row_at(windows.lo, begins, i, in_step)
        end, v = row_at(windows.hi, ends, i, in_step), get(q.total, i)
        if not q.some[i] and row < end:
            v = hold(q, ANSWER, lift(q, item(xs, row - base)))
            row, q.some[i] = row + 1, 1
        while row < end:
            v = hold(q, ANSWER, combine(v, lift(q, item(xs, row - base))))
            row += 1
        if q.some[i]:
            give(out, i, lower(hold(q, ANSWER, v)))
    return at


def give_all(memory: Memory, at: At, windows: Windows, out: Outputs) -> At:
    """For each window the answer of what it has so far."""
    q = attach(memory)
    if at.full:
        totals = straight(q.total, 0)
        for i in range(windows.n):
            give(out, i, lower(hold(q, ANSWER, get(totals, i))))
        return at
    for i in range(windows.n):
        if q.some[i]:
            give(out, i, lower(hold(q, ANSWER, get(q.total, i))))
    return at


def add_peers(memory: Memory, at: At, xs: InputColumns, windows: Windows) -> At:
    """Combine the peers after a window's own row, of which lo is the first, to what the window
    has so far. No answers are given.

    Only windows that have some are looked at, the youngest first: their peers are one row more
    than those of the next window. So there are two combines however many peers there are.
    """
    q = attach(memory)
    begins, in_step = numbers(windows.lo), windows.shape == IN_STEP
    peers, before = one(q), windows.n
    if at.last > 1:
        last = row_at(windows.lo, begins, windows.n - 1, in_step) - windows.base
        for row in range(last + at.last - 1, last, -1):
            peers = hold(q, PEERS, combine(lift(q, item(xs, row)), peers))
    else:
        before += 1  # the last window's own peers are no more than one row
    for j in range(at.named):
        i = q.which[j]
        row = lift(q, item(xs, row_at(windows.lo, begins, i, in_step) - windows.base))
        peers = hold(q, PEERS, combine(row, peers) if i + 1 == before else row)
        before = i
        if q.some[i]:
            put(q.total, i, combine(get(q.total, i), peers))
        else:
            put(q.total, i, peers)
            q.some[i] = 1
    return at


def add_partials(memory: Memory, at: At, windows: Windows, out: Outputs) -> At:
    """For each window the answer with the partial of its rows lo to hi - 1 too."""
    q = attach(memory)
    begins, ends = numbers(windows.lo), numbers(windows.hi)
    for i in range(windows.n):
        more = begins[i] < ends[i]
        if more and q.some[i]:
            give(out, i, lower(hold(q, ANSWER, combine(get(q.total, i), get(q.younger, i)))))
        elif more:
            give(out, i, lower(hold(q, ANSWER, get(q.younger, i))))
            q.some[i] = 1
        elif q.some[i]:
            give(out, i, lower(hold(q, ANSWER, get(q.total, i))))
    return at


OVER_ROWS = (add_rows, add_peers)
"""The drivers that read rows."""
