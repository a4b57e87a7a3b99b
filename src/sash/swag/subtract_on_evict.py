"""Subtract-on-Evict: in-order windows of invertible aggregations.

Order   in order.   Needs   an inverse, so an exact state: never floats.
Cost    combines: insert 1, evict 0 and one inverse, query 0.   Space n + 1 partials.
Paper   the baseline for invertible aggregations of all five.
Legend  f..e is the window, each cell an item; total is all of it combined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import FIRST_FREE, Partial, combine, get, hold, inverse, one, put
from sash.monoids.monoid import Monoid
from sash.swag.window import InOrder, agree, fold

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


class SubtractOnEvict(InOrder):
    """In-order window of an invertible aggregation, n + 1 partials.

    >>> from sash import monoids as m, swag
    >>> swag.SubtractOnEvict(m.Count()).slide(["a", "b", "c"], size=2)
    [1, 2, 2]
    """

    cursors = At
    steps = (start, insert, evict, query, size)

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        if monoid.inverse is None and (inputs is not None or monoid.typed is None):
            raise self._no_inverse(monoid)
        super()._adopt(monoid, inputs)

    def insert(self, x: Any) -> None:
        if self._monoid.inverse is None:  # a typed variant may have one
            raise self._no_inverse(self._monoid)
        super().insert(x)

    def _no_inverse(self, monoid: Monoid) -> TypeError:
        return TypeError(
            f"SubtractOnEvict needs an inverse, which {monoid!r} does not have for this input: "
            "use integers, as in m.Sum(dtype='int64'), or TwoStacksLite or DABALite"
        )

    def check(self) -> None:
        self._check_cursors()
        total = fold(self, range(self._at.f, self._at.e))
        self._require(agree(self._at.total, total), f"total is all items combined, {total}")
