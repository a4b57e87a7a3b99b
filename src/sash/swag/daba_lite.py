"""DABA Lite: in-order windows in worst-case constant time.

Order   in order.   Needs   associativity.
Cost    combines: insert 3, evict 2, query 1, at most; 2, 1 and 1 on average.
        Space n + 2 partials.
Paper   In-Order Sliding-Window Aggregation in Worst-Case Constant Time, 2021, section 6.
Legend  f..e is the window; l, r, a, b are the paper's cursors, f <= l <= r <= a <= b <= e.
        f..l and a..b hold partials up to b, l..r up to r; r..a and b..e hold items.
        mid is the paper's aggRA, r..b combined; back is its aggB, b..e combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import FIRST_FREE, Partial, combine, get, hold, one, put
from sash.swag.daba import IncrementalReversal
from sash.swag.window import agree

MID, BACK = FIRST_FREE, FIRST_FREE + 1


class At(NamedTuple):
    """The cursors."""

    f: int
    l: int
    r: int
    a: int
    b: int
    e: int
    mid: Partial
    back: Partial


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, 0, 0, 0, 0, one(q), one(q))


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    front = one(q) if at.f == at.b else get(q.part, at.f)
    return combine(front, at.back)


def insert(q: Any, at: At, v: Partial) -> At:
    """Push `v`, then one step of the incremental reversal."""
    put(q.part, at.e, v)
    back = hold(q, BACK, combine(at.back, v))
    return fixup(q, At(at.f, at.l, at.r, at.a, at.b, at.e + 1, at.mid, back))


def evict(q: Any, at: At) -> At:
    """Pop the oldest item, then one step of the incremental reversal."""
    return fixup(q, At(at.f + 1, at.l, at.r, at.a, at.b, at.e, at.mid, at.back))


def fixup(q: Any, at: At) -> At:
    """Restore |l..r| + |r..a| + |a..b| + 1 = |f..b| - |b..e| and |l..r| = |r..a|."""
    f, l, r, a, b, e, mid, back = at
    if f == b:  # singleton
        return At(f, e, e, e, e, e, hold(q, MID, one(q)), hold(q, BACK, one(q)))
    if l == b:  # flip
        l, a, b = f, e, e
        mid = hold(q, MID, back)
        back = hold(q, BACK, one(q))
    if l == r:  # shift
        return At(f, l + 1, r + 1, a + 1, b, e, mid, back)
    # shrink
    put(q.part, l, combine(get(q.part, l), mid))
    accumulated = one(q) if a == b else get(q.part, a)
    put(q.part, a - 1, combine(get(q.part, a - 1), accumulated))
    return At(f, l + 1, r, a - 1, b, e, mid, back)


class DABALite(IncrementalReversal):
    """In-order window, worst-case constant time, n + 2 partials.

    >>> from sash import monoids as m, swag
    >>> w = swag.DABALite(m.Max())
    >>> w.insert_many([3, 1, 2]); w.evict(); w.query()
    2
    """

    cursors = At
    steps = (start, insert, evict, query, size)

    def check(self) -> None:
        self._check_cursors()
        _, l, r, a, b, e, mid, back = self._at
        self._require(agree(back, self._fold_cells(range(b, e))), "back is b..e combined")
        if l != r:
            tail = self._q.part[a] if a != b else self._monoid.identity
            middle = self._monoid.combine(self._fold_cells(range(r, a)), tail)
            self._require(agree(mid, middle), "mid is r..b combined")
