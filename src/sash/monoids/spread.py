"""Spread: how far apart the largest and the smallest are. State: (smallest, largest)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.order import larger, smaller
from sash.monoids.recipe import entry
from sash.monoids.sums import INT64, MOST
from sash.monoids.variants import for_numbers, highest, lowest, nullable


def Range(*, dtype: Any = None) -> Monoid:
    """The largest minus the smallest; over an integer dtype, overflow is an error.

    >>> w = Range()
    >>> w.lower(w.combine(w.lift(7), w.lift(4)))
    3
    """

    return entry(Range, _spread("Range", distance, distance_in_64_bits), dtype)


def distance(v: Any) -> Any:
    """largest - smallest."""
    return v[1] - v[0]


TOO_FAR = (
    "Range: the largest minus the smallest does not fit in 64 bits; "
    "cast the column to double or decimal before"
)


def distance_in_64_bits(v: Any) -> Any:
    """largest - smallest in 64 bits, or OverflowError."""
    distance = v[1] - v[0]
    if distance > MOST:
        raise OverflowError(TOO_FAR)
    return distance


# Compiled integers do not leave the range: their arithmetic itself raises this.
distance_in_64_bits.__overflow__ = TOO_FAR  # type: ignore[attr-defined]


def RelativeVariation(*, dtype: Any = None) -> Monoid:
    """(largest - smallest) / largest, as in query 2 of the DEBS 2012 grand challenge.

    Null where the largest is zero.

    >>> w = RelativeVariation()
    >>> w.lower(w.combine(w.lift(8), w.lift(6)))
    0.25
    """

    def share(v: Any) -> Any:
        return None if v[1] == 0 else (v[1] - v[0]) / v[1]

    def share_of_ints(v: Any) -> Any:
        return None if v[1] == 0 else (float(v[1]) - float(v[0])) / float(v[1])

    return entry(RelativeVariation, _spread("RelativeVariation", share, share_of_ints), dtype)


def _spread(name: str, lower: Callable[[Any], Any], lower_ints: Callable[[Any], Any]) -> Monoid:
    def lift(x: Any) -> Any:
        return (x, x)

    def combine(a: Any, b: Any) -> Any:
        return (smaller(a[0], b[0]), larger(a[1], b[1]))

    def typed(dtype: np.dtype) -> Monoid:
        kept = dtype if dtype.kind == "f" else INT64
        identity = (highest(kept), lowest(kept))
        down = lower if kept.kind == "f" else lower_ints
        return Monoid(name, identity, lift, combine, down, commutative=True, dtype=(kept, kept))

    return nullable(name, lift, combine, lower, commutative=True, typed=for_numbers(typed))
