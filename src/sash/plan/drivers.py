"""Loops over the rows and the firings of a plan; the same source, plain or compiled.

Rows are combined into the slice in progress, `live`; where a slice ends it is inserted
into the window, and where a query fires its answer is that of the window's slices and
of `live`, if that has begun. Columns, a row each:

    cut     the rows before which slices end, then a number beyond all rows
    hi      the row before which firing k is due
    first   the slice that the window of firing k begins with
    keep    the oldest slice that firing k, or a later one, still needs
    place   not a column: where `live` is held
"""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    Partial,
    attach,
    combine,
    evict,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    numbers,
    one,
    query,
)
from sash.swag.flat_fit import suffix


def fold(q: Any, xs: Any, live: Partial, since: int, row: int, end: int, place: int) -> Partial:
    """`live`, which began at row `since`, with the rows from `row` up to `end`."""
    if row < end and row == since:
        live = hold(q, place, lift(q, item(xs, row)))
        row += 1
    for i in range(row, end):
        live = hold(q, place, combine(live, lift(q, item(xs, i))))
    return live


def fire(
    memory: Any, at: Any, xs: Any, rows: int, cut: Any, n: int, hi: Any, first: Any, place: int,
    out: Any,
) -> Any:  # fmt: skip
    """Windows of one range: n firings among `rows` rows, then the rest of the rows."""
    q = attach(memory)
    cut, hi, first = numbers(cut), numbers(hi), numbers(first)
    live = hold(q, place, one(q))
    row = since = j = 0
    for k in range(n):
        end = hi[k]
        while cut[j] <= end:
            live = fold(q, xs, live, since, row, cut[j], place)
            at = insert(q, at, live)
            row = since = cut[j]
            j += 1
        live = fold(q, xs, live, since, row, end, place)
        row = end
        while at.f < first[k]:
            at = evict(q, at)
        if at.f == at.e:
            give(out, k, lower(live))
        else:
            total = hold(q, ANSWER, query(q, at))
            if row > since:
                total = hold(q, ANSWER, combine(total, live))
            give(out, k, lower(total))
    while since < rows:
        end = min(rows, cut[j])
        at = insert(q, at, fold(q, xs, live, since, row, end, place))
        row = since = end
        j += 1
    return at


def fire_many(
    memory: Any, at: Any, xs: Any, rows: int, cut: Any, n: int, hi: Any, first: Any, keep: Any,
    where: Any, place: int, out: Any,
) -> Any:  # fmt: skip
    """Windows of many ranges, on FlatFIT; the answer of firing k goes to `where`."""
    q = attach(memory)
    cut, hi, first, keep, where = (
        numbers(cut), numbers(hi), numbers(first), numbers(keep), numbers(where),
    )  # fmt: skip
    live = hold(q, place, one(q))
    row = since = j = 0
    for k in range(n):
        end = hi[k]
        while cut[j] <= end:
            live = fold(q, xs, live, since, row, cut[j], place)
            at = insert(q, at, live)
            row = since = cut[j]
            j += 1
        live = fold(q, xs, live, since, row, end, place)
        row = end
        while at.f < keep[k]:
            at = evict(q, at)
        if first[k] == at.e:
            give(out, where[k], lower(live))
        else:
            total = suffix(q, at, first[k])
            if row > since:
                total = hold(q, ANSWER, combine(total, live))
            give(out, where[k], lower(total))
    while since < rows:
        end = min(rows, cut[j])
        at = insert(q, at, fold(q, xs, live, since, row, end, place))
        row = since = end
        j += 1
    return at
