"""Two-Stacks: in-order windows in amortized constant time.

Order   in order.   Needs   associativity.
Cost    combines: insert 1, query 1, evict 1 on average and n at most.   Space 2n partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 3.
Legend  f..b is the front stack with its top at f, b..e the back stack with its top at e - 1.
        An element is two cells: val, the item, and agg, it and all below it combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import Partial, combine, get, one, outlined, put
from sash.swag.in_order import InOrder
from sash.swag.window import agree


class At(NamedTuple):
    """The cursors."""

    f: int
    b: int
    e: int


def val(i: int) -> int:
    """The cell of element i's item."""
    return 2 * i


def agg(i: int) -> int:
    """The cell of element i's aggregate."""
    return 2 * i + 1


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def front(q: Any, at: At) -> Partial:
    """The front stack, combined."""
    return one(q) if at.f == at.b else get(q.part, agg(at.f))


def back(q: Any, at: At) -> Partial:
    """The back stack, combined."""
    return one(q) if at.b == at.e else get(q.part, agg(at.e - 1))


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    return combine(front(q, at), back(q, at))


def insert(q: Any, at: At, v: Partial) -> At:
    """Push `v` on the back stack."""
    put(q.part, val(at.e), v)
    put(q.part, agg(at.e), combine(back(q, at), v))
    return At(at.f, at.b, at.e + 1)


def evict(q: Any, at: At) -> At:
    """Pop the front stack, after a flip where it is empty."""
    f, b, e = at
    if f == b:
        flip(q, f, e)
        b = e
    return At(f + 1, b, e)


@outlined
def flip(q: Any, f: int, e: int) -> None:
    """Push all of the back stack on the front stack, the youngest first."""
    v = one(q)
    i = e
    while i != f:
        i -= 1
        v = put(q.part, agg(i), combine(get(q.part, val(i)), v))


class TwoStacks(InOrder):
    """In-order window, amortized constant time, 2n partials.

    >>> from sash import monoids as m, swag
    >>> swag.TwoStacks(m.Min()).slide([3, 1, 2, 4], size=2)
    [3, 1, 1, 2]
    """

    cursors = At
    cells_an_item = 2
    steps = (start, insert, evict, query, size)
    lists = (("front", "f", "b"), ("back", "b", "e"))

    def check(self) -> None:
        self._check_cursors()
        f, b, e = self._at
        part, combined = self._q.part, self._monoid.combine
        total = self._monoid.identity
        for i in reversed(range(f, b)):
            total = combined(part[val(i)], total)
            self._require(agree(part[agg(i)], total), f"agg of {i} is {i}..{b} combined")
        total = self._monoid.identity
        for i in range(b, e):
            total = combined(total, part[val(i)])
            self._require(agree(part[agg(i)], total), f"agg of {i} is {b}..{i} combined")
