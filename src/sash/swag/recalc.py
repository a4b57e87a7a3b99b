"""Recalc: combine the whole window at every query; the oracle of all others.

Order   in order.   Needs   nothing but what a monoid is.
Cost    combines: insert 0, evict 0, query n.   Space n partials.
Paper   the baseline of every one of them.
Legend  f..e is the window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sash.kernel.words import ANSWER, Partial, combine, get, hold, one, put
from sash.swag.in_order import InOrder


class At(NamedTuple):
    """The cursors."""

    f: int
    e: int


def start(q: Any) -> At:
    """An empty window."""
    return At(0, 0)


def size(at: At) -> int:
    """How many items are in the window."""
    return at.e - at.f


def insert(q: Any, at: At, v: Partial) -> At:
    """Keep `v`."""
    put(q.part, at.e, v)
    return At(at.f, at.e + 1)


def evict(q: Any, at: At) -> At:
    """Forget the oldest item."""
    return At(at.f + 1, at.e)


def query(q: Any, at: At) -> Partial:
    """Combine all items, from older to younger."""
    total = hold(q, ANSWER, one(q))
    for i in range(at.f, at.e):
        total = hold(q, ANSWER, combine(total, get(q.part, i)))
    return total


class Recalc(InOrder):
    """In-order window that is recalculated at every query: n combines.

    >>> from sash import monoids as m, swag
    >>> w = swag.Recalc(m.Sum())
    >>> w.insert(1); w.insert(2); w.query()
    3
    """

    cursors = At
    steps = (start, insert, evict, query, size)
    rewrites = frozenset[str]()
    lists = (("items", "f", "e"),)

    def check(self) -> None:
        self._check_cursors()
