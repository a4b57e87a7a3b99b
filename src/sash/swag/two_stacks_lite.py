"""Two-Stacks Lite: in-order windows in amortized constant time, in one queue.

Order   in order.   Needs   associativity.
Cost    combines: insert 1, query 1, evict 1 on average and n at most.   Space n + 1 partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 4.
Legend  f..b is the front list, each cell combined up to b; b..e the back list, each
        cell an item; back is the back list combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.answers import Allocate, new_array
from sash.kernel.drivers import row_at
from sash.kernel.words import (
    IN_STEP,
    InputColumns,
    Memory,
    Outputs,
    Pair,
    Partial,
    Windows,
    attach,
    combine,
    get,
    hold,
    item,
    lift,
    numbers,
    one,
    outlined,
    put,
    straight,
    straight_run,
)
from sash.monoids.monoid import Monoid
from sash.swag.coming import BACK, GROUP, STRIDE, Coming, Further, Piece, from_anchor
from sash.swag.flips import Lists, fill, fill_and_answer
from sash.swag.further import answer_empty, answer_with_rows
from sash.swag.in_order import InOrder
from sash.swag.inputs import Asked
from sash.swag.window import Use, agree

GAP = 16
"""Items between two front lists that there is always room for."""


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


def follow(
    memory: Memory,
    at: At,
    shift: int,
    xs: InputColumns,
    windows: Windows,
    ahead: Pair,
    out: Outputs,
) -> Any:
    """As `drivers.follow`, a flip at a time: with all bounds known, no row decides anything."""
    new = Coming(xs, shift - windows.base, at.e, ahead, 0, windows, shift, Piece(-1, 0, 0, 0, 0))
    return flip_by_flip(attach(memory), at, new, None, out)


def follow_with(
    memory: Memory,
    at: At,
    shift: int,
    xs: InputColumns,
    windows: Windows,
    ahead: Pair,
    piece: Piece,
    out: Outputs,
) -> Any:
    """As `follow`, over windows that have a further piece."""
    new = Coming(xs, shift - windows.base, at.e, ahead, 0, windows, shift, piece)
    return flip_by_flip(attach(memory), at, new, piece, out)


def flip_by_flip(q: Any, at: At, new: Coming, piece: Piece | None, out: Any) -> Any:
    """The answers of all windows, and the cursors and shift; `piece`: what they have further.

    The rows between two flips are those whose windows begin before b. Their answers are a
    suffix of the front list, which is in its cell, and a prefix of the back list, which
    `ahead` gets. `ahead` begins again with each flip, so that it stays in the processor's cache.
    While these are answered, the front list of the next flip is filled, where there is room.

    Where an argument is None, numba does not compile what a test for that leaves out: the steps
    that only a piece needs, a quarter of its time.
    """
    windows, shift = new.windows, new.shift
    begins, ends, n = numbers(windows.lo), numbers(windows.hi), windows.n
    in_step = windows.shape == IN_STEP
    f, b, e, back = at
    i = filled = 0
    left: Any = None if piece is None else piece.named
    while i < n:
        begin = row_at(windows.lo, begins, i, in_step) - shift
        end = row_at(windows.hi, ends, i, in_step) - shift
        if begin < end:
            lacking = begin >= b and filled != end
            if begin >= b:
                b = e = end
                back = one(q)
            stop = rows_before(windows, i, b + shift)
            end = row_at(windows.hi, ends, stop - 1, in_step) - shift
            new = from_anchor(new, e - 2 * GROUP)
            put(straight(new.ahead, 2 * GROUP), 0, back)
            if lacking:
                _, _, e, back = fill(q, new, Lists(b, one(q), e, back), begin, end)
            f, filled = next_front(q, new, begin, stop)
            lists = Lists(filled, one(q), e, back)
            if piece is None or not piece.alone:
                back, left = fill_and_answer(q, new, lists, f, i, stop, left, out)
            else:
                back = fill(q, new, lists, f, end).back
                answer_with_rows(q, new, i, stop, out)
            f, e, i = row_at(windows.lo, begins, stop - 1, in_step) - shift, end, stop
        else:
            if piece is not None:
                left = answer_empty(q, new, left, i, out)
            i += 1
    for j in range(max(new.old, b), e):
        put(q.part, j, lift(q, item(new.xs, j + new.first)))
    return At(f, b, e, hold(q, BACK, back)), shift


def next_front(q: Any, new: Coming, begin: int, stop: int) -> tuple[int, int]:
    """The items of the front list that row `stop` begins with, the first and the one after the
    last; none, 0 and 0, where it has no window, or cells that items from `begin` on are in."""
    windows, shift = new.windows, new.shift
    begins, ends, in_step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    if stop == windows.n:
        return 0, 0
    f = row_at(windows.lo, begins, stop, in_step) - shift
    b = row_at(windows.hi, ends, stop, in_step) - shift
    return (f, b) if f < b and b - begin <= straight_run(q.part, 0) else (0, 0)


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
    scratch = 1
    following = follow

    def _room(self, longest: int) -> int:
        return 2 * max(longest, len(self)) + GAP  # two front lists, and items between them

    def follow_with(
        self, xs: Any, asked: Asked, further: Further, allocate: Allocate = new_array
    ) -> tuple[Any, Any]:
        """As `follow`, with a further piece of each window combined before answers are given."""
        with Use(self), self._whole():
            columns = None if isinstance(xs, list) else self._columns(xs)
            self._memory.reserve_ring(self._at, self._room(asked.longest))
            return self._follow_by(follow_with, columns, xs, asked, allocate, further)

    def compiles_with(self, xs: Any, monoid: Monoid) -> bool:
        """Whether `follow_with` runs compiled over these items, with answers of this monoid."""
        if isinstance(xs, list):
            return False
        columns = self._columns(xs)
        self._memory.reserve_ring(self._at, len(self) + 1)  # a kernel is for one kind of cells
        return columns is not None and self._kernel(follow_with, columns, monoid) is not None

    def _cells_ahead(self, lo: int, hi: int, longest: int) -> int:
        return 2 * GROUP + 1 + min(longest, max(0, hi - self._at.e))

    def check(self) -> None:
        at = self._at
        self._require(at.f <= at.b <= at.e, "f <= b <= e")
        back = self._fold_cells(range(at.b, at.e))
        self._require(agree(at.back, back), f"back is the back list combined, {back}")
