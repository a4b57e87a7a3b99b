"""Sums: count, sum, product and the means that follow from them."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid, same
from sash.monoids.recipe import entry
from sash.monoids.variants import for_numbers, for_pairs, has_null, nullable, number

INT64, FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
MOST, LEAST = 2**63 - 1, -(2**63)
LARGEST = sys.float_info.max
LOG_OF_LARGEST = math.log(LARGEST)
TOO_LARGE = (
    "Sum: the sum of integers does not fit in 64 bits; "
    "cast the column to double or decimal before summing"
)


def Count() -> Monoid:
    """How many items are not null; the same state serves objects and numbers.

    >>> w = Count()
    >>> w.lower(w.combine(w.lift("a"), w.lift(None)))
    1
    """
    monoid = Monoid("Count", 0, one_if_known, plus, inverse=minus, commutative=True)
    return entry(Count, monoid)


def one_if_known(x: Any) -> int:
    """1, or 0 for a null."""
    return 0 if x is None else 1


def CountIf() -> Monoid:
    """How many items are true; nulls are not.

    >>> w = CountIf()
    >>> w.lower(w.combine(w.lift(True), w.lift(None)))
    1
    """
    return entry(CountIf, Monoid("CountIf", 0, one_if_true, plus, inverse=minus, commutative=True))


def one_if_true(x: Any) -> int:
    """1 for what is true, 0 for what is false or null."""
    return 1 if x else 0


def plus(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


def minus(total: Any, old: Any) -> Any:
    """total - old."""
    return total - old


def plus_exact(a: Any, b: Any) -> Any:
    """a + b in 64 bits, or OverflowError."""
    s = a + b
    if s > MOST or s < LEAST:
        raise OverflowError(TOO_LARGE)
    return s


def minus_exact(total: Any, old: Any) -> Any:
    """total - old in 64 bits, or OverflowError."""
    s = total - old
    if s > MOST or s < LEAST:
        raise OverflowError(TOO_LARGE)
    return s


# Compiled integers do not leave the range: their arithmetic itself raises this.
plus_exact.__overflow__ = minus_exact.__overflow__ = TOO_LARGE  # type: ignore[attr-defined]


def Sum(*, dtype: Any = None) -> Monoid:
    """The sum. Over an integer dtype it is 64 bits wide and overflow is an error, as in Spark.

    Over objects, Python's integers are exact and do not overflow, and Decimals stay
    Decimals, rounded as Python's decimal context says (28 digits); tables and streams add them
    exactly. Over floats it has no inverse: floats are never subtracted.

    >>> w = Sum()
    >>> w.lower(w.combine(w.lift(2), w.lift(3)))
    5
    """
    monoid = nullable("Sum", addend, plus, commutative=True, typed=for_numbers(_typed_sum))
    return entry(Sum, monoid, dtype)


def addend(x: Any) -> Any:
    """An item of a sum: a number, a Decimal, a duration; not text or a list."""
    if isinstance(x, str | bytes | tuple | list | dict | set):
        raise TypeError(f"cannot add up {x!r}: give numbers; Concat joins strings, Collect items")
    return int(x) if isinstance(x, bool) else x


def _typed_sum(dtype: np.dtype) -> Monoid:
    if dtype.kind == "f":
        return Monoid("Sum", 0.0, as_float, plus, commutative=True, dtype=FLOAT64)
    return Monoid("Sum", 0, as_int, plus_exact, inverse=minus_exact, commutative=True, dtype=INT64)


def as_int(x: Any) -> int:
    """An integer, also from a bool."""
    return int(x)


def as_float(x: Any) -> float:
    """A double, also from a bool (`float(bool)` is unknown to numba)."""
    return float(+x)


def TwoSums() -> Monoid:
    """Two sums of integers, side by side: the halves of wide ones, which cannot overflow.

    >>> w = TwoSums()
    >>> w.lower(w.combine(w.lift((1, 5)), w.lift((2, 7))))
    (3, 12)
    """
    return Monoid(
        "Sum", (0, 0), same, plus_each, inverse=minus_each, commutative=True, dtype=(INT64, INT64)
    )


def Product(*, dtype: Any = None) -> Monoid:
    """The product, as a double, as Spark's.

    >>> w = Product()
    >>> w.lower(w.combine(w.lift(2), w.lift(3)))
    6.0
    """

    def typed(dtype: np.dtype) -> Monoid:
        return Monoid("Product", 1.0, as_float, times, commutative=True, dtype=FLOAT64)

    monoid = nullable("Product", as_float, times, commutative=True, typed=for_numbers(typed))
    return entry(Product, monoid, dtype)


def times(a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


def Mean(*, dtype: Any = None) -> Monoid:
    """The arithmetic mean, a double; a Decimal of Decimals. State: (count, sum).

    Both are exact integers for integers of up to 32 bits, and then there is an
    inverse; they are doubles for others, as in Spark, so the sum does not overflow.

    >>> w = Mean()
    >>> w.lower(w.combine(w.lift(1), w.lift(2)))
    1.5
    """
    monoid = nullable(
        "Mean", one_and_addend, plus_each, sum_by_count,
        commutative=True, typed=_typed_mean,
    )  # fmt: skip
    return entry(Mean, monoid, dtype)


def one_and_addend(x: Any) -> Any:
    """(1, x)."""
    return (1, addend(x))


def plus_each(a: Any, b: Any) -> Any:
    """The sum of two pairs."""
    return (a[0] + b[0], a[1] + b[1])


def minus_each(total: Any, old: Any) -> Any:
    """The difference of two pairs."""
    return (total[0] - old[0], total[1] - old[1])


def sum_by_count(v: Any) -> Any:
    """sum / count."""
    return v[1] / v[0]


def one_and_int(x: Any) -> Any:
    """(1, x), as integers."""
    return (1, int(x))


def one_and_float(x: Any) -> Any:
    """(1, x), as doubles."""
    return (1.0, float(+x))


def _typed_mean(dtype: Any) -> Monoid | None:
    if number(dtype) is None:
        return None
    exact = np.dtype(dtype).kind != "f" and np.dtype(dtype).itemsize < 8
    return Monoid(
        "Mean",
        (0, 0) if exact else (0.0, 0.0),
        one_and_int if exact else one_and_float,
        plus_each,
        sum_by_count,
        inverse=minus_each if exact else None,
        commutative=True,
        dtype=(INT64, INT64) if exact else (FLOAT64, FLOAT64),
    )


def WeightedMean(*, dtype: Any = None) -> Monoid:
    """The mean of values by their weights; items are (value, weight).

    Null where the weights sum to zero. State: (sum of weights, sum of weighted values).

    >>> w = WeightedMean()
    >>> w.lower(w.combine(w.lift((10, 1)), w.lift((20, 3))))
    17.5
    """

    def typed(value: np.dtype, weight: np.dtype) -> Monoid:
        return Monoid(
            "WeightedMean", (0.0, 0.0), weighted, plus_each, sum_by_weight,
            commutative=True, dtype=(FLOAT64, FLOAT64),
        )  # fmt: skip

    monoid = nullable(
        "WeightedMean", weighted, plus_each, sum_by_weight,
        skips=has_null, commutative=True, typed=for_pairs(typed),
    )  # fmt: skip
    return entry(WeightedMean, monoid, dtype)


def weighted(x: Any) -> Any:
    """(weight, weight * value)."""
    weight = float(+x[1])
    return (weight, weight * float(+x[0]))


def sum_by_weight(v: Any) -> Any:
    """The sum of weighted values by that of weights."""
    return None if v[0] == 0 else v[1] / v[0]


def GeoMean(*, dtype: Any = None) -> Monoid:
    """The geometric mean, by logarithms. State: (count, sum of logarithms).

    A zero makes it 0.0, a negative number NaN.

    >>> w = GeoMean()
    >>> w.lower(w.combine(w.lift(1), w.lift(0)))
    0.0
    """

    def typed(dtype: np.dtype) -> Monoid:
        return Monoid(
            "GeoMean", (0, 0.0), one_and_log, plus_each, exp_of_mean,
            commutative=True, dtype=(INT64, FLOAT64),
        )  # fmt: skip

    monoid = nullable(
        "GeoMean", one_and_log, plus_each, exp_of_mean,
        commutative=True, typed=for_numbers(typed),
    )  # fmt: skip
    return entry(GeoMean, monoid, dtype)


def one_and_log(x: Any) -> Any:
    """(1, log x), with log 0 = -inf and NaN for what has no logarithm."""
    if x > 0:
        return (1, math.log(np.float64(x)))  # a float's logarithm would be a float
    return (1, -math.inf if x == 0 else math.nan)


def exp_of_mean(v: Any) -> Any:
    """The mean of logarithms, as a number; rounded up, it may just be too large for one."""
    mean = v[1] / v[0]
    if mean > LOG_OF_LARGEST:
        return math.inf if mean == math.inf else LARGEST
    return math.exp(mean)
