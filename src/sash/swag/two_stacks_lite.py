"""Two-Stacks Lite: in-order windows in amortized constant time, in one queue.

Order   in order.   Needs   associativity.
Cost    combines: insert 1, query 1, evict 1 on average and n at most.   Space n + 1 partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 4.
Legend  f..b is the front list, each cell combined up to b; b..e the back list, each
        cell an item; back is the back list combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    EVEN,
    FIRST_FREE,
    IN_STEP,
    SOME,
    InputColumns,
    Memory,
    Outputs,
    Pair,
    Partial,
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
    outlined,
    put,
    state_size,
    straight,
    straight_run,
)
from sash.swag.in_order import InOrder
from sash.swag.window import agree

BACK = FIRST_FREE

GROUP = 128
"""Rows that are answered together."""


class At(NamedTuple):
    """The cursors."""

    f: int
    b: int
    e: int
    back: Partial


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0, one(q))


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def front(q: Any, at: At) -> Partial:
    """The front list, combined."""
    return one(q) if at.f == at.b else get(q.part, at.f)


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    return combine(front(q, at), at.back)


def insert(q: Any, at: At, v: Partial) -> At:
    """Push `v` on the back list."""
    put(q.part, at.e, v)
    return At(at.f, at.b, at.e + 1, hold(q, BACK, combine(at.back, v)))


def evict(q: Any, at: At) -> At:
    """Pop the oldest item, after a flip where the front list is empty."""
    f, b, e, back = at
    if f == b:
        flip(q, f, e)
        b = e
        back = hold(q, BACK, one(q))
    return At(f + 1, b, e, back)


@outlined
def flip(q: Any, f: int, e: int) -> None:
    """Turn the back list into the front list: each cell combined up to the end."""
    i = e - 1
    v = get(q.part, i)
    while i != f:
        i -= 1
        v = put(q.part, i, combine(get(q.part, i), v))


class Coming(NamedTuple):
    """The items of a call of `follow`: item j is xs[j + first], or in its cell before `old`."""

    xs: Any
    first: int
    old: int
    ahead: Any  # prefixes: cell j - anchor is the back list up to item j - 1, combined; and,
    # before them, a group of suffixes and one of prefixes
    anchor: int


def follow(
    memory: Memory,
    at: At,
    shift: int,
    xs: InputColumns,
    windows: Windows,
    ahead: Pair,
    out: Outputs,
) -> Any:
    """As `drivers.follow`, a flip at a time: with all bounds known, no row decides anything.

    The rows between two flips are those whose windows begin before b. Their answers are a
    suffix of the front list, which is in its cell, and a prefix of the back list, which
    `ahead` gets. Straight loops fill both, and a third one combines them. `ahead` begins
    again with each flip, so that it stays in the processor's cache.
    """
    q = attach(memory)
    begins, ends, n = numbers(windows.lo), numbers(windows.hi), windows.n
    in_step = windows.shape == IN_STEP
    f, b, e, back = at
    first, old = shift - windows.base, e
    i = 0
    while i < n:
        begin = row_at(windows.lo, begins, i, in_step) - shift
        end = row_at(windows.hi, ends, i, in_step) - shift
        if begin < end:
            flipped = begin
            if begin >= b:
                b = e = flipped = end
                back = one(q)
            stop = rows_before(windows, i, b + shift)
            end = row_at(windows.hi, ends, stop - 1, in_step) - shift
            new = Coming(xs, first, old, ahead, e - 2 * GROUP)
            back = fill(q, new, begin, flipped, e, end, back)
            answer(q, new, windows, shift, i, stop, out)
            f, e, i = row_at(windows.lo, begins, stop - 1, in_step) - shift, end, stop
        else:
            i += 1
    for j in range(max(old, b), e):
        put(q.part, j, lift(q, item(xs, j + first)))
    return At(f, b, e, hold(q, BACK, back)), shift


def fill(q: Any, new: Coming, f: int, b: int, e: int, end: int, back: Partial) -> Partial:
    """Suffixes of items b - 1 to f, and prefixes of the back list up to items e to end.

    Neither waits for the other, so a processor works on both at once.
    """
    suffix = one(q)
    prefixes = straight(new.ahead, e - new.anchor)
    put(prefixes, 0, back)
    both = max(0, min(b - max(f, new.old), end - e))
    for k in range(both):
        suffix = put(q.part, b - 1 - k, combine(coming(q, new, b - 1 - k), suffix))
        back = put(prefixes, k + 1, combine(back, coming(q, new, e + k)))
    for j in range(b - both - 1, f - 1, -1):
        suffix = put(q.part, j, combine(item_or_cell(q, new, j), suffix))
    for k in range(both, end - e):
        back = put(prefixes, k + 1, combine(back, coming(q, new, e + k)))
    return back


def coming(q: Any, new: Coming, j: int) -> Partial:
    """Item j, which is inserted now."""
    return lift(q, item(new.xs, j + new.first))


def item_or_cell(q: Any, new: Coming, j: int) -> Partial:
    """Item j, from its cell where it was inserted before."""
    return coming(q, new, j) if j >= new.old else get(q.part, j)


def answer(q: Any, new: Coming, windows: Windows, shift: int, i: int, stop: int, out: Any) -> None:
    """The answers of rows i to stop - 1: suffixes and prefixes, combined."""
    begins, ends, shape = numbers(windows.lo), numbers(windows.hi), windows.shape
    step = shape == IN_STEP
    even = shape & EVEN != 0
    if step or (by_one(begins, i, stop, even) and by_one(ends, i, stop, even)):
        begin = row_at(windows.lo, begins, i, step) - shift
        end = row_at(windows.hi, ends, i, step) - shift
        answer_in_step(q, new, begin, end, i, stop, out)
    elif shape & SOME and state_size(q) > 2:
        answer_in_groups(q, new, windows, shift, i, stop, out)
    else:
        prefixes = straight(new.ahead, 0)
        for k in range(i, stop):
            if begins[k] < ends[k]:
                suffix = get(q.part, begins[k] - shift)
                prefix = get(prefixes, ends[k] - shift - new.anchor)
                give(out, k, lower(hold(q, ANSWER, combine(suffix, prefix))))


def by_one(rows: Any, i: int, stop: int, even: bool) -> bool:
    """Whether ends of windows move by one row each time; `even`: by at most one, that is known.

    So windows over regular times are in step too, wherever no row is missing. Of others, a look
    at the first and the last end mostly says that they are not.
    """
    if rows[stop - 1] - rows[i] != stop - 1 - i:
        return False
    others = 0
    if not even:
        for k in range(i + 1, stop):
            others += rows[k] - rows[k - 1] != 1
    return others == 0


def answer_in_groups(
    q: Any, new: Coming, windows: Windows, shift: int, i: int, stop: int, out: Any
) -> None:
    """The answers of rows i to stop - 1, of which none has an empty window.

    What a group of them needs is first brought together: where a state has several numbers, a
    processor then combines several rows at once, which pays for the way.
    """
    begins, ends = numbers(windows.lo), numbers(windows.hi)
    ahead = suffixes = straight(new.ahead, 0)
    prefixes = straight(new.ahead, GROUP)
    for k in range(i, stop, GROUP):
        n = min(GROUP, stop - k)
        for j in range(n):
            put(suffixes, j, get(q.part, begins[k + j] - shift))
            put(prefixes, j, get(ahead, ends[k + j] - shift - new.anchor))
        for j in range(n):
            total = combine(get(suffixes, j), get(prefixes, j))
            give(out, k + j, lower(hold(q, ANSWER, total)))


def answer_in_step(q: Any, new: Coming, f: int, e: int, i: int, stop: int, out: Any) -> None:
    """The answers of rows i to stop - 1, whose windows begin at f and end at e, one row later
    each."""
    prefixes = straight(new.ahead, e - new.anchor)
    k, n = 0, stop - i
    while k < n:
        suffixes = straight(q.part, f + k)
        end = min(n, k + straight_run(q.part, f + k))
        for j in range(end - k):
            total = combine(get(suffixes, j), get(prefixes, k + j))
            give(out, i + k + j, lower(hold(q, ANSWER, total)))
        k = end


STRIDE = 16


def rows_before(windows: Windows, i: int, edge: int) -> int:
    """The first row from i on whose window begins at `edge` or later, or n."""
    begins, n = numbers(windows.lo), windows.n
    if windows.shape == IN_STEP:
        return min(n, edge - windows.lo)
    while i + STRIDE < n and begins[i + STRIDE] < edge:
        i += STRIDE
    while i < n and begins[i] < edge:
        i += 1
    return i


class TwoStacksLite(InOrder):
    """In-order window, amortized constant time, n + 1 partials.

    >>> from sash import monoids as m, swag
    >>> swag.TwoStacksLite(m.Max()).slide([3, 1, 2, 0], size=2)
    [3, 3, 2, 2]
    """

    cursors = At
    steps = (start, insert, evict, query, size)
    lists = (("front", "f", "b"), ("items", "b", "e"))
    following = follow

    def _cells_ahead(self, lo: int, hi: int, longest: int) -> int:
        return 2 * GROUP + 1 + min(longest, max(0, hi - self._at.e))

    def check(self) -> None:
        at = self._at
        self._require(at.f <= at.b <= at.e, "f <= b <= e")
        back = self._fold_cells(range(at.b, at.e))
        self._require(agree(at.back, back), f"back is the back list combined, {back}")
