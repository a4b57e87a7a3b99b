"""Ends: the first and the last items in order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.monoids.collections import alone
from sash.monoids.extremes import second
from sash.monoids.monoid import Monoid, same
from sash.monoids.order import above, larger, smaller
from sash.monoids.recipe import entry, whole
from sash.monoids.variants import counted, for_numbers, highest, lowest, nullable, zero


def First(ignore_nulls: bool = True, *, dtype: Any = None) -> Monoid:
    """The oldest item that is not null; with ignore_nulls=False, the oldest item.

    >>> w = First()
    >>> w.lower(w.combine(w.lift(None), w.combine(w.lift(1), w.lift(2))))
    1
    """
    made = _end("First", older) if ignore_nulls else _any_end("First", older)
    return entry(First, made, dtype, ignore_nulls=ignore_nulls)


def Last(ignore_nulls: bool = True, *, dtype: Any = None) -> Monoid:
    """The youngest item that is not null; with ignore_nulls=False, the youngest item.

    >>> w = Last()
    >>> w.lower(w.combine(w.lift(1), w.lift(2)))
    2
    """
    made = _end("Last", younger) if ignore_nulls else _any_end("Last", younger)
    return entry(Last, made, dtype, ignore_nulls=ignore_nulls)


def older(a: Any, b: Any) -> Any:
    """The older of two partials."""
    return a


def younger(a: Any, b: Any) -> Any:
    """The younger of two partials."""
    return b


def _end(name: str, choose: Callable[[Any, Any], Any]) -> Monoid:
    def lift_seen(x: Any) -> Any:
        return (True, x)

    def typed(dtype: np.dtype) -> Monoid:
        state = (np.dtype(np.bool_), dtype)
        return Monoid(name, (False, zero(dtype)), lift_seen, counted(choose), second, dtype=state)

    return nullable(name, same, choose, typed=for_numbers(typed))


def _any_end(name: str, choose: Callable[[Any, Any], Any]) -> Monoid:
    return nullable(name, alone, choose, first_part, skips=never)


def never(x: Any) -> bool:
    """False: no item is left out."""
    return False


def first_part(v: Any) -> Any:
    """The first part of a state."""
    return v[0]


def FirstN(k: int) -> Monoid:
    """The `k` oldest items that are not null, as a list in order of arrival.

    Its state is a tuple of up to `k` objects, so it runs as plain Python.

    >>> w = FirstN(2)
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(2), w.lift(3))))
    [1, 2]
    """
    k = whole("FirstN", "k", k, 1)

    def combine(a: Any, b: Any) -> Any:
        return a if len(a) == k else a + b[: k - len(a)]

    return entry(FirstN, nullable("FirstN", alone, combine, list, empty=list), k=k)


def LastN(k: int) -> Monoid:
    """The `k` youngest items that are not null, as a list in order of arrival.

    Its state is a tuple of up to `k` objects, so it runs as plain Python.

    >>> w = LastN(2)
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(2), w.lift(3))))
    [2, 3]
    """
    k = whole("LastN", "k", k, 1)

    def combine(a: Any, b: Any) -> Any:
        return b if len(b) == k else a[max(0, len(a) + len(b) - k) :] + b

    return entry(LastN, nullable("LastN", alone, combine, list, empty=list), k=k)


class Outline(NamedTuple):
    """The answer of M4: enough to draw a line over the window as if all its items were drawn."""

    min: Any
    max: Any
    first: Any
    last: Any


def M4(*, dtype: Any = None) -> Monoid:
    """The smallest, the largest, the first and the last item.

    >>> w = M4()
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(3), w.lift(2))))
    Outline(min=1, max=3, first=1, last=2)
    """

    def lift(x: Any) -> Any:
        return (x, x, x, x)

    def combine(a: Any, b: Any) -> Any:
        return (smaller(a[0], b[0]), larger(a[1], b[1]), a[2], b[3])

    def combine_seen(a: Any, b: Any) -> Any:
        if above(a[0], a[1]):  # only the identity's smallest is above its largest
            return b
        return a if above(b[0], b[1]) else combine(a, b)

    def lower(v: Any) -> Any:
        return Outline(v[0], v[1], v[2], v[3])

    def typed(dtype: np.dtype) -> Monoid:
        identity = (highest(dtype), lowest(dtype), zero(dtype), zero(dtype))
        return Monoid("M4", identity, lift, combine_seen, lower, dtype=(dtype,) * 4)

    return entry(M4, nullable("M4", lift, combine, lower, typed=for_numbers(typed)), dtype)
