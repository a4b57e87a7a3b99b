"""Extremes: the largest and the smallest, how often, how far apart, and where."""

from __future__ import annotations

from collections.abc import Callable
from heapq import merge
from itertools import islice
from typing import Any

import numpy as np

from sash.monoids.collections import alone
from sash.monoids.monoid import Monoid, same
from sash.monoids.order import above, larger, smaller, tied
from sash.monoids.ranks import rank
from sash.monoids.recipe import entry, whole
from sash.monoids.variants import (
    counted,
    for_numbers,
    for_pairs,
    highest,
    is_null,
    lowest,
    nullable,
    zero,
)

Choice = Callable[[Any, Any], Any]


def Max(*, dtype: Any = None) -> Monoid:
    """The largest item; NaN is larger than any number.

    >>> w = Max()
    >>> w.lower(w.combine(w.lift("b"), w.lift("a")))
    'b'
    """
    return entry(Max, _extreme("Max", larger, lowest), dtype)


def Min(*, dtype: Any = None) -> Monoid:
    """The smallest item; NaN only where there is no number.

    >>> w = Min()
    >>> w.lower(w.combine(w.lift(3), w.lift(float("nan"))))
    3
    """
    return entry(Min, _extreme("Min", smaller, highest), dtype)


def _extreme(name: str, choose: Choice, neutral: Callable[[np.dtype], Any]) -> Monoid:
    def typed(dtype: np.dtype) -> Monoid:
        return Monoid(name, neutral(dtype), same, choose, commutative=True, dtype=dtype)

    return nullable(name, same, choose, commutative=True, typed=for_numbers(typed))


def MaxCount(*, dtype: Any = None) -> Monoid:
    """How many items equal the largest one.

    >>> w = MaxCount()
    >>> w.lower(w.combine(w.lift(3), w.lift(3)))
    2
    """
    return entry(MaxCount, _extreme_count("MaxCount", above, lowest), dtype)


def MinCount(*, dtype: Any = None) -> Monoid:
    """How many items equal the smallest one.

    >>> w = MinCount()
    >>> w.lower(w.combine(w.lift(3), w.lift(4)))
    1
    """
    return entry(MinCount, _extreme_count("MinCount", below, highest), dtype)


def below(a: Any, b: Any) -> bool:
    """Whether `a` is strictly below `b`."""
    return above(b, a)


def second(v: Any) -> Any:
    """The second part of a state."""
    return v[1]


def _extreme_count(name: str, beats: Choice, neutral: Callable[[np.dtype], Any]) -> Monoid:
    def lift(x: Any) -> Any:
        return (x, 1)

    def combine(a: Any, b: Any) -> Any:
        if tied(a[0], b[0]):
            return (a[0], a[1] + b[1])
        return a if beats(a[0], b[0]) else b

    def typed(dtype: np.dtype) -> Monoid:
        identity, state = (neutral(dtype), 0), (dtype, np.dtype(np.int64))
        return Monoid(name, identity, lift, combine, second, commutative=True, dtype=state)

    return nullable(name, lift, combine, second, commutative=True, typed=for_numbers(typed))


def ArgMax(*, dtype: Any = None) -> Monoid:
    """The argument of the largest measure, the first of equals; items are (measure, argument).

    Items with a null measure are skipped; the argument may be null.

    >>> w = ArgMax()
    >>> w.lower(w.combine(w.lift((3, "ann")), w.lift((3, "bob"))))
    'ann'
    """
    return entry(ArgMax, _argument("ArgMax", above), dtype)


def ArgMin(*, dtype: Any = None) -> Monoid:
    """The argument of the smallest measure, the first of equals; items are (measure, argument).

    >>> w = ArgMin()
    >>> w.lower(w.combine(w.lift((3, "ann")), w.lift((2, "bob"))))
    'bob'
    """
    return entry(ArgMin, _argument("ArgMin", below), dtype)


def _argument(name: str, beats: Choice) -> Monoid:
    def combine(a: Any, b: Any) -> Any:
        return b if beats(b[0], a[0]) else a

    def lift_seen(x: Any) -> Any:
        return (True, x[0], x[1])

    def combine_seen(a: Any, b: Any) -> Any:
        return b if beats(b[1], a[1]) else a

    def typed(measure: np.dtype, argument: np.dtype) -> Monoid:
        identity = (False, zero(measure), zero(argument))
        state = (np.dtype(np.bool_), measure, argument)
        return Monoid(name, identity, lift_seen, counted(combine_seen), third, dtype=state)

    def no_measure(x: Any) -> bool:
        return is_null(x) or is_null(_pair(name, x)[0])

    return nullable(name, _copied, combine, second, skips=no_measure, typed=for_pairs(typed))


def third(v: Any) -> Any:
    """The third part of a state."""
    return v[2]


def _copied(x: Any) -> Any:
    return (x[0], x[1])


def _pair(name: str, x: Any) -> Any:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise TypeError(f"{name} takes pairs (measure, argument), not {x!r}")
    return x


def TopK(k: int) -> Monoid:
    """The `k` largest items, the largest first; equal ones in order of arrival.

    Its state is a tuple of up to `k` objects, so it runs as plain Python.

    >>> w = TopK(2)
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(3), w.lift(2))))
    [3, 2]
    """
    k = whole("TopK", "k", k, 1)

    def combine(a: Any, b: Any) -> Any:
        return tuple(islice(merge(a, b, key=rank, reverse=True), k))

    return entry(TopK, nullable("TopK", alone, combine, list, empty=list), k=k)
