"""Further: windows that have a further piece, which is combined before answers are given."""

from __future__ import annotations

from typing import Any

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
    IN_STEP,
    Partial,
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
from sash.swag.coming import GROUP, Coming

MORE = FIRST_FREE + 1  # after Two-Stacks Lite's own place


def answer_with_rows(q: Any, new: Coming, i: int, stop: int, out: Any) -> None:
    """The answers of rows i to stop - 1 whose windows have a further row each, in groups."""
    windows, shift = new.windows, new.shift
    begins, ends, step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    ahead = suffixes = straight(new.ahead, 0)
    prefixes = straight(new.ahead, GROUP)
    for k in range(i, stop, GROUP):
        n = min(GROUP, stop - k)
        for j in range(n):
            begin = row_at(windows.lo, begins, k + j, step) - shift
            end = row_at(windows.hi, ends, k + j, step) - shift
            if begin < end:
                put(suffixes, j, get(q.part, begin))
                put(prefixes, j, get(ahead, end - new.anchor))
            else:
                put(suffixes, j, one(q))
                put(prefixes, j, one(q))
        for j in range(n):
            total = hold(q, ANSWER, combine(get(suffixes, j), get(prefixes, j)))
            row = further_row(q, new, k + j)
            give(out, k + j, lower(hold(q, ANSWER, combine(total, row))))


def further_row(q: Any, new: Coming, k: int) -> Partial:
    """The first row of the further piece of window k."""
    return lift(q, item(new.xs, new.piece.row + k))


def answer_named(q: Any, new: Coming, left: int, stop: int, out: Any) -> int:
    """The answers of the named windows before `stop` again, with the rows that they have besides.

    The first `left` of them have no answers yet; gives how many then have none. Peers begin
    their windows at one row: so none before `stop` has a peer after it, but for the last of all.
    """
    windows, shift, piece = new.windows, new.shift, new.piece
    begins, ends, step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    which, prefixes = numbers(piece.which), straight(new.ahead, 0)
    rest = left
    while rest > 0 and which[rest - 1] < stop:
        rest -= 1
    if rest == left:
        return rest
    more, before = after_last(q, new, which[rest])
    for j in range(rest, left):
        k = which[j]
        begin = row_at(windows.lo, begins, k, step) - shift
        end = row_at(windows.hi, ends, k, step) - shift
        row, total = further_row(q, new, k), one(q)
        if begin < end:
            prefix = get(prefixes, end - new.anchor)
            total = hold(q, ANSWER, combine(get(q.part, begin), prefix))
        if k + 1 == before:
            more = hold(q, MORE, combine(row, more))
            give(out, k, lower(hold(q, ANSWER, combine(total, more))))
        else:
            more = hold(q, MORE, row)
            give(out, k, lower(hold(q, ANSWER, combine(total, row))))
        before = k
    return rest


def bring_rows(q: Any, new: Coming, left: int, i: int, stop: int, out: Any) -> int:
    """Combine the rows that the named windows of rows i to stop - 1 have besides to the prefixes
    that were brought for them.

    The first `left` of them have no answers yet; gives how many then have none. Those before row i
    have no other rows, and get their answers here.
    """
    which, prefixes = numbers(new.piece.which), straight(new.ahead, GROUP)
    rest = left
    while rest > 0 and which[rest - 1] < stop:
        rest -= 1
    if rest == left:
        return rest
    j = rest
    while j > 0 and which[j - 1] == which[j] + 1:  # peers of the next group
        j -= 1
    more, before = after_last(q, new, which[j])
    for each in range(j, left):
        k = which[each]
        row = further_row(q, new, k)
        if k + 1 == before:
            more = hold(q, MORE, combine(row, more))
            if i <= k < stop:
                put(prefixes, k - i, combine(get(prefixes, k - i), more))
        else:  # one row: its partial is known to have one, which a compiler makes use of
            more = hold(q, MORE, row)
            if i <= k < stop:
                put(prefixes, k - i, combine(get(prefixes, k - i), row))
        if k < i:
            give(out, k, lower(hold(q, ANSWER, more)))
        before = k
    return rest


def after_last(q: Any, new: Coming, k: int) -> tuple[Partial, int]:
    """The rows after the first one that named window k has besides, and k + 1 if it has some:
    those of the last window of all, as others are named."""
    more, piece, n = one(q), new.piece, new.windows.n
    if k + 1 < n or piece.last <= 1:
        return more, n + 1
    for row in range(n + piece.last - 2, n - 1, -1):
        more = hold(q, MORE, combine(further_row(q, new, row), more))
    return more, n
