"""Subtract-on-Evict: in-order windows of invertible aggregations.

Order   in order.   Needs   an inverse, so an exact state: never floats.
Cost    combines: insert 1, evict 0 and one inverse, query 0.   Space n + 1 partials.
Paper   the baseline for invertible aggregations of all five.
Legend  f..e is the window, each cell an item; total is all of it combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.drivers import row_at
from sash.kernel.words import (
    ANSWER,
    FIRST_FREE,
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
    give,
    hold,
    inverse,
    item,
    lift,
    lower,
    numbers,
    one,
    put,
)
from sash.monoids.monoid import Monoid
from sash.swag.in_order import InOrder
from sash.swag.window import agree

TOTAL = FIRST_FREE


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int
    total: Partial


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0, one(q))


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def query(q: Any, at: At) -> Partial:
    """The window, combined."""
    return at.total


def insert(q: Any, at: At, v: Partial) -> At:
    """Add `v` to the total."""
    put(q.part, at.e, v)
    return At(at.f, at.e + 1, hold(q, TOTAL, combine(at.total, v)))


def evict(q: Any, at: At) -> At:
    """Subtract the oldest item from the total."""
    return At(at.f + 1, at.e, hold(q, TOTAL, inverse(at.total, get(q.part, at.f))))


def follow(
    memory: Memory,
    at: At,
    shift: int,
    xs: InputColumns,
    windows: Windows,
    ahead: Pair,
    out: Outputs,
) -> Any:
    """As `drivers.follow`, all rows at once: with all bounds known, no row decides anything.

    An answer is the total with what has come since, without what has gone since. Straight
    loops combine both, from the first item on; a third one subtracts. The items that have come
    may be more than any window has: where their sum overflows, `drivers.follow` has the answer.
    """
    q = attach(memory)
    begins, ends, n = numbers(windows.lo), numbers(windows.hi), windows.n
    in_step = windows.shape == IN_STEP
    f, e, total = at
    first = shift - windows.base
    last_f = row_at(windows.lo, begins, n - 1, in_step) - shift
    last_e = row_at(windows.hi, ends, n - 1, in_step) - shift
    come = put(ahead, 0, total)
    for j in range(e, last_e):
        come = put(ahead, j + 1 - e, combine(come, lift(q, item(xs, j + first))))
    split = last_e - e + 1
    gone = put(ahead, split, one(q))
    for j in range(f, last_f):
        old = lift(q, item(xs, j + first)) if j >= e else get(q.part, j)
        gone = put(ahead, split + j + 1 - f, combine(gone, old))
    for k in range(n):
        begin, end = row_at(windows.lo, begins, k, in_step), row_at(windows.hi, ends, k, in_step)
        if begin < end:
            young, old = get(ahead, end - shift - e), get(ahead, split + begin - shift - f)
            give(out, k, lower(hold(q, ANSWER, inverse(young, old))))
    total = inverse(come, gone)
    for j in range(max(e, last_f), last_e):
        put(q.part, j, lift(q, item(xs, j + first)))
    return At(last_f, last_e, hold(q, TOTAL, total)), shift


class SubtractOnEvict(InOrder):
    """In-order window of an invertible aggregation, n + 1 partials.

    >>> from sash import monoids as m, swag
    >>> swag.SubtractOnEvict(m.Count()).slide(["a", "b", "c"], size=2)
    [1, 2, 2]
    """

    cursors = At
    steps = (start, insert, evict, query, size)
    rewrites = frozenset[str]()
    lists = (("items", "f", "e"),)
    following = follow

    def _cells_ahead(self, lo: int, hi: int, longest: int) -> int:
        return 2 + max(0, hi - self._at.e) + max(0, lo - self._at.f)

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        if monoid.inverse is None and (inputs is not None or monoid.typed is None):
            raise self._no_inverse(monoid)
        super()._adopt(monoid, inputs)

    def _lifted(self, x: Any) -> Any:
        if self._monoid.inverse is None:  # a typed variant may have one
            raise self._no_inverse(self._monoid)
        return super()._lifted(x)

    def _no_inverse(self, monoid: Monoid) -> TypeError:
        return TypeError(
            f"SubtractOnEvict needs an inverse, which {monoid!r} does not have for this input: "
            "use integers, as in m.Sum(dtype='int64'), or TwoStacksLite or DABALite"
        )

    def check(self) -> None:
        self._check_cursors()
        total = self._fold_cells(range(self._at.f, self._at.e))
        self._require(agree(self._at.total, total), f"total is all items combined, {total}")
