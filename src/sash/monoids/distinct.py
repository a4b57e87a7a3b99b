"""Distinct items: those of equal value count once; NaN equals NaN, and -0.0 is 0.0."""

from __future__ import annotations

import math
from typing import Any

from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.ordered import folded
from sash.monoids.recipe import entry, whole
from sash.monoids.variants import nullable


def CollectDistinct() -> Monoid:
    """The distinct items that are not null, as a list in the order of their first arrival.

    A combine copies both. NaN equals NaN, and -0.0 is 0.0.

    >>> w = CollectDistinct()
    >>> w.lower(w.combine(w.lift("b"), w.combine(w.lift("a"), w.lift("b"))))
    ['b', 'a']
    """

    monoid = nullable("CollectDistinct", seen, all_seen, values, empty=list)
    return entry(CollectDistinct, monoid)


def seen(x: Any) -> dict[Any, Any]:
    """An item by what tells it apart."""
    return {key(x): positive_zero(x)}


def all_seen(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """The items of both, each as it first came."""
    return a | {k: x for k, x in b.items() if k not in a}


def positive_zero(x: Any) -> Any:
    """0.0 for -0.0, as Spark has it where values are told apart; others as they are.

    >>> positive_zero(-0.0), positive_zero([-0.0, 1])
    (0.0, [0.0, 1])
    """
    if isinstance(x, float):
        return x + 0.0
    if isinstance(x, list):
        return [positive_zero(part) for part in x]
    return {k: positive_zero(v) for k, v in x.items()} if isinstance(x, dict) else x


def values(v: dict[Any, Any]) -> list[Any]:
    """The values of a dictionary."""
    return list(v.values())


def CountDistinct() -> Monoid:
    """How many distinct items there are, exactly; `HyperLogLog` is smaller and about right.

    >>> w = CountDistinct()
    >>> w.lower(w.combine(w.lift("b"), w.combine(w.lift("a"), w.lift("b"))))
    2
    """

    def lift(x: Any) -> frozenset[Any]:
        return frozenset((key(x),))

    monoid = nullable("CountDistinct", lift, union, len, empty=int, commutative=True)
    return entry(CountDistinct, monoid)


def union(a: Any, b: Any) -> Any:
    """a | b."""
    return a | b


NAN = complex(math.inf, math.inf)
"""The key of all NaNs when items are compared: plain data that no column has, equal to itself."""


def key(x: Any) -> Any:
    """A key that equal items share and others do not: NaN equals NaN; lists are as their items.

    >>> key(float("nan")) == key(float("nan")), key([1, 2]) == key([1, 2])
    (True, True)
    """
    if isinstance(x, list | tuple):
        return tuple(map(key, x))
    if isinstance(x, dict):
        return frozenset((key(k), key(v)) for k, v in x.items())
    try:
        hash(x)
    except TypeError:
        raise TypeError(f"cannot tell distinct items apart: {x!r} is not hashable") from None
    return NAN if x != x else x


def Distinct(monoid: Any) -> Monoid:
    """`monoid` over the distinct items, in the order of their first arrival: SQL's DISTINCT.

    Its state is that of `CollectDistinct`; a combine copies both.

    >>> from sash import monoids as m
    >>> w = Distinct(m.Sum())
    >>> w.lower(w.combine(w.lift(3), w.combine(w.lift(4), w.lift(3))))
    7
    """
    inner = as_monoid(monoid)

    def lower(v: dict[Any, Any]) -> Any:
        return inner.lower(folded(inner, list(v.values())))

    def empty() -> Any:
        return inner.lower(inner.identity)

    return entry(Distinct, nullable("Distinct", seen, all_seen, lower, empty=empty), monoid=inner)


def LastDistinct(k: int) -> Monoid:
    """The `k` distinct items that came last, as a list in order of their last arrival.

    >>> w = LastDistinct(2)
    >>> parts = [w.lift(x) for x in "abcb"]
    >>> w.lower(w.combine(w.combine(parts[0], parts[1]), w.combine(parts[2], parts[3])))
    ['c', 'b']
    """
    k = whole("LastDistinct", "k", k, 1)

    def combine(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
        older = [name for name in a if name not in b]
        kept = older[max(0, len(older) + len(b) - k) :]
        return {name: a[name] for name in kept} | b

    return entry(LastDistinct, nullable("LastDistinct", seen, combine, values, empty=list), k=k)
