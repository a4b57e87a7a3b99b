"""Further: windows that have a further piece, which is combined before answers are given."""

from __future__ import annotations

from typing import Any

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    DIVIDES,
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
    pick,
    put,
    straight,
)
from sash.swag.coming import GROUP, MORE, STRIDE, Coming


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


def combine_named(q: Any, new: Coming, left: int, stop: int) -> int:
    """Combine to the prefixes of the windows before `stop` the rows that named ones have besides.

    The first `left` of these have none so far; gives how many then have none. A named window ends
    before its own row, as no other window does: so its prefix is its own.
    """
    which = numbers(new.piece.which)
    prefixes = straight(new.ahead, new.piece.row - 1 - new.first - new.anchor)
    rest = left
    while rest >= STRIDE and which[rest - STRIDE] < stop:
        rest -= STRIDE
    while rest > 0 and which[rest - 1] < stop:
        rest -= 1
    if rest == left:
        return rest
    j = rest
    while j > 0 and which[j - 1] == which[j] + 1:  # peers whose answers are not yet asked for
        j -= 1
    more, before = after_last(q, new, which[j])
    for each in range(j, rest):
        more = hold(q, MORE, combine(further_row(q, new, which[each]), more))
        before = which[each]
    for each in range(rest, left):
        k = which[each]
        row = further_row(q, new, k)
        if DIVIDES and k + 1 != before:
            more = hold(q, MORE, row)
        else:  # without a branch
            more = hold(q, MORE, combine(row, pick((before - k - 2) >> 63, more, one(q))))
        put(prefixes, k, combine(get(prefixes, k), more))
        before = k
    return rest


def answer_empty(q: Any, new: Coming, left: int, i: int, out: Any) -> int:
    """The answer of window i, which has no rows but those of a further piece, if it has some.

    Of the windows that are named, the first `left` have no answers yet; gives how many then have
    none.
    """
    piece, which = new.piece, numbers(new.piece.which)
    if piece.alone:
        give(out, i, lower(hold(q, ANSWER, further_row(q, new, i))))
        return left
    if left == 0 or which[left - 1] != i:
        return left
    rows = 1
    while left - 1 - rows >= 0 and which[left - 1 - rows] == i + rows:
        rows += 1
    rows += max(0, piece.last - 1) * (i + rows == new.windows.n)
    more = hold(q, MORE, further_row(q, new, i))
    for k in range(i + 1, i + rows):
        more = hold(q, MORE, combine(more, further_row(q, new, k)))
    give(out, i, lower(hold(q, ANSWER, more)))
    return left - 1


def after_last(q: Any, new: Coming, k: int) -> tuple[Partial, int]:
    """The rows after the first one that named window k has besides, and k + 1 if it has some:
    those of the last window of all, as others are named."""
    more, piece, n = one(q), new.piece, new.windows.n
    if k + 1 < n or piece.last <= 1:
        return more, n + 1
    for row in range(n + piece.last - 2, n - 1, -1):
        more = hold(q, MORE, combine(further_row(q, new, row), more))
    return more, n
