"""Collections: the items themselves, all or the distinct ones, as lists or as text."""

from __future__ import annotations

from enum import Enum
from typing import Any

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry
from sash.monoids.sums import plus
from sash.monoids.variants import nullable


def Collect() -> Monoid:
    """All items that are not null, as a list in order of arrival. A combine copies both.

    >>> w = Collect()
    >>> w.lower(w.combine(w.lift(1), w.lift(2)))
    [1, 2]
    >>> w.lower(w.identity)
    []
    """
    return entry(Collect, nullable("Collect", alone, plus, list, empty=list, inverse=rest))


def alone(x: Any) -> tuple[Any, ...]:
    """(x,)."""
    return (x,)


def rest(total: Any, old: Any) -> Any:
    """What follows `old` in `total`."""
    return total[len(old) :] or None


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


class NaN(Enum):
    """What all NaNs are when items are told apart."""

    NAN = "NaN"


def key(x: Any) -> Any:
    """What equal items share and others do not: NaN equals NaN; lists are as their items.

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
        raise TypeError(f"can not tell distinct items apart: {x!r} is not hashable") from None
    return NaN.NAN if x != x else x


def Concat(separator: str = "") -> Monoid:
    """Strings joined in order of arrival, null where there are none. A combine copies both.

    >>> w = Concat(", ")
    >>> w.lower(w.combine(w.lift("a"), w.lift("b")))
    'a, b'
    """
    if not isinstance(separator, str):
        raise TypeError(f"Concat: separator must be a string, not {separator!r}")

    def combine(a: str, b: str) -> str:
        return a + separator + b

    return entry(Concat, nullable("Concat", text, combine), separator=separator)


def text(x: Any) -> str:
    """A string as it is."""
    if not isinstance(x, str):
        raise TypeError(f"Concat takes strings, not {x!r}")
    return x
