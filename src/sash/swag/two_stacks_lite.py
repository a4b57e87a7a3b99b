"""Two-Stacks Lite: in-order windows in amortized constant time, in one queue.

Order   in order.   Needs   associativity.
Cost    combines: insert 1, query 1, evict 1 on average and n at most.   Space n + 1 partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 4.
Legend  f..b is the front list, each cell combined up to b; b..e the back list, each
        cell an item; back is the back list combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import FIRST_FREE, Partial, combine, get, hold, one, outlined, put
from sash.swag.window import InOrder, agree, fold

BACK = FIRST_FREE


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


class TwoStacksLite(InOrder):
    """In-order window, amortized constant time, n + 1 partials.

    >>> from sash import monoids as m, swag
    >>> swag.TwoStacksLite(m.Max()).slide([3, 1, 2, 0], size=2)
    [3, 3, 2, 2]
    """

    cursors = At
    steps = (start, insert, evict, query, size)

    def check(self) -> None:
        at = self._at
        self._require(at.f <= at.b <= at.e, "f <= b <= e")
        back = fold(self, range(at.b, at.e))
        self._require(agree(at.back, back), f"back is the back list combined, {back}")
