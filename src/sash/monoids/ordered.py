"""Order by: items of an aggregation in an order of their own instead of that of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from typing import Any

from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.ranks import by_rank
from sash.monoids.recipe import entry
from sash.monoids.variants import nullable


def Ordered(monoid: Any, descending: bool = False) -> Monoid:
    """`monoid` over items in the order of a second value: SQL's ORDER BY in an aggregation.

    Items are (value, order). Equal ones stay in order of arrival; null comes first, or last
    if descending, as in Spark. The state is all items in order; a combine copies both.

    >>> from sash import monoids as m
    >>> w = Ordered(m.Concat(","))
    >>> w.lower(w.combine(w.lift(("late", 9)), w.lift(("early", 7))))
    'early,late'
    """
    inner = as_monoid(monoid)

    def combine(a: Any, b: Any) -> Any:
        return tuple(merge(a, b, key=by_rank, reverse=descending))

    def lower(v: Any) -> Any:
        return inner.lower(folded(inner, [value for _, value in v]))

    def empty() -> Any:
        return inner.lower(inner.identity)

    made = nullable("Ordered", ordered, combine, lower, empty=empty, skips=has_no_value)
    return entry(Ordered, made, monoid=inner, descending=descending)


def ordered(x: Any) -> Any:
    """((order, value),)."""
    return ((x[1], x[0]),)


def has_no_value(x: Any) -> bool:
    """Whether the value of (value, order) is null; the order may be."""
    return x is None or x[0] is None


def folded(monoid: Monoid, items: Sequence[Any]) -> Any:
    """The partial of `items`, by halves: where a combine copies, n log n instead of n².

    >>> from sash import monoids as m
    >>> folded(m.Concat(), ["a", "b", "c"])
    'abc'
    """
    if len(items) <= 1:
        return monoid.lift(items[0]) if items else monoid.identity
    middle = len(items) // 2
    return monoid.combine(folded(monoid, items[:middle]), folded(monoid, items[middle:]))
