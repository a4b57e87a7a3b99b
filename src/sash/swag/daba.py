"""DABA: in-order windows in worst-case constant time, keeping every item.

Order   in order.   Needs   associativity.
Cost    combines: insert 4, evict 3, query 1, at most; 2.5, 1.5 and 1 on average.
        Space 2n partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 5.
Legend  f..e is the window; l, r, a, b are the paper's cursors, f <= l <= r <= a <= b <= e.
        An element is two cells: val, the item, and agg: in f..l and a..b combined up to
        b, in l..r up to r, in r..a from r on, in b..e from b on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sash.kernel.words import Partial, combine, get, one, put
from sash.swag.in_order import InOrder
from sash.swag.two_stacks import agg, val
from sash.swag.window import agree


class At(NamedTuple):
    """The cursors."""

    f: int
    l: int
    r: int
    a: int
    b: int
    e: int


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0, 0, 0, 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def leftmost(q: Any, lo: int, hi: int) -> Partial:
    """A list that is combined towards its right end, as a whole."""
    return one(q) if lo == hi else get(q.part, agg(lo))


def rightmost(q: Any, lo: int, hi: int) -> Partial:
    """A list that is combined from its left end on, as a whole."""
    return one(q) if lo == hi else get(q.part, agg(hi - 1))


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    return combine(leftmost(q, at.f, at.b), rightmost(q, at.b, at.e))


def insert(q: Any, at: At, v: Partial) -> At:
    """Push `v`, then one step of the incremental reversal."""
    put(q.part, val(at.e), v)
    put(q.part, agg(at.e), combine(rightmost(q, at.b, at.e), v))
    return fixup(q, At(at.f, at.l, at.r, at.a, at.b, at.e + 1))


def evict(q: Any, at: At) -> At:
    """Pop the oldest item, then one step of the incremental reversal."""
    return fixup(q, At(at.f + 1, at.l, at.r, at.a, at.b, at.e))


def fixup(q: Any, at: At) -> At:
    """Restore |l..r| + |r..a| + |a..b| + 1 = |f..b| - |b..e| and |l..r| = |r..a|."""
    f, l, r, a, b, e = at
    if f == b:  # singleton
        return At(f, e, e, e, e, e)
    if l == b:  # flip
        l, a, b = f, e, e
    if l == r:  # shift
        return At(f, l + 1, r + 1, a + 1, b, e)
    # shrink
    accumulated = leftmost(q, a, b)
    reversed_left = combine(leftmost(q, l, r), rightmost(q, r, a))
    put(q.part, agg(l), combine(reversed_left, accumulated))
    put(q.part, agg(a - 1), combine(get(q.part, val(a - 1)), accumulated))
    return At(f, l + 1, r, a - 1, b, e)


class IncrementalReversal(InOrder):
    """The lists of DABA and DABA Lite, which `fixup` reverses step by step."""

    lists = (
        ("f to l", "f", "l"), ("l to r", "l", "r"), ("r to a", "r", "a"), ("a to b", "a", "b"),
        ("b to e", "b", "e"),
    )  # fmt: skip
    rewrites = frozenset({"insert", "evict"})

    def _broken(self) -> Iterator[str]:
        f, l, r, a, b, e, *_ = self._at
        sizes = (r - l) + (a - r) + (b - a) + 1 == (b - f) - (e - b) and r - l == a - r
        if not (f == b == e or sizes):
            yield "|l..r| + |r..a| + |a..b| + 1 = |f..b| - |b..e| and |l..r| = |r..a|"

    def _saved(self, k: int) -> list[tuple[int, Any]]:
        """The cells that k insertions may change, and where they begin.

        A step shrinks l..r from its left end and r..a from its right end. A flip makes them begin
        with f and end with e.
        """
        at, an_item, cells = self._at, self.cells_an_item, self._memory.cells
        starts = (at.f, at.l, at.a - k, at.e - k) if 4 * k < at.e - at.f else (at.f,)
        length = k if len(starts) > 1 else at.e - at.f
        ends = [(max(at.f, i) * an_item, min(at.e, i + length) * an_item) for i in starts]
        return [(lo, cells.read(lo, hi)) for lo, hi in ends if lo < hi]

    def _restore(self, k: int, saved: list[tuple[int, Any]]) -> None:
        for lo, values in saved:
            self._memory.cells.write(lo, values)


class DABA(IncrementalReversal):
    """In-order window, worst-case constant time, 2n partials.

    >>> from sash import monoids as m, swag
    >>> swag.DABA(m.Max()).slide([3, 1, 2, 0], size=2)
    [3, 3, 2, 2]
    """

    cursors = At
    cells_an_item = 2
    steps = (start, insert, evict, query, size)

    def check(self) -> None:
        self._check_cursors()
        f, l, r, a, b, e = self._at
        for lo, hi, end in ((f, l, b), (l, r, r), (a, b, b)):
            for i in range(lo, hi):
                self._require_agg(i, range(i, end))
        for lo, hi in ((r, a), (b, e)):
            for i in range(lo, hi):
                self._require_agg(i, range(lo, i + 1))

    def _require_agg(self, i: int, elements: range) -> None:
        total = self._monoid.identity
        for k in elements:
            total = self._monoid.combine(total, self._q.part[val(k)])
        self._require(agree(self._q.part[agg(i)], total), f"agg of {i} is {elements} combined")
