"""Moments: variance, its error, skewness and kurtosis, from sums of powers of deviations.

Two sets are merged as Chan, Golub and LeVeque (1979) and Pébay (2008) merge them, so no
sums of squares are subtracted. The mean is kept as its distance from the smallest value,
as a mean of large numbers that lie close together has no digits left for where it lies
between them: answers are as precise for 10¹⁵ + x as for x. The count is a double, as most
processors cannot make several doubles of 64-bit integers at once, and would combine one row
after the other. Legend of a state:

    N                  items, as a double
    LEAST              the smallest of them
    SHIFT              their mean - LEAST
    M2, M3, M4         sums of (x - mean) to that power
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry, whole
from sash.monoids.sums import FLOAT64
from sash.monoids.variants import counted, for_numbers, nullable

N, LEAST, SHIFT, M2, M3, M4 = range(6)


def Var(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The variance: of a sample (ddof=1), or of a population (ddof=0). Null for n <= ddof.

    >>> w = Var()
    >>> w.lower(w.combine(w.lift(1), w.lift(3)))
    2.0
    >>> w.lower(w.lift(1)) is None
    True
    """
    ddof = whole("Var", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[N] <= ddof else v[M2] / (v[N] - ddof)

    return entry(Var, _of_two("Var", lower), dtype, ddof=ddof)


def StdDev(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The standard deviation: of a sample (ddof=1), or of a population (ddof=0).

    >>> w = StdDev(ddof=0)
    >>> w.lower(w.combine(w.lift(1), w.lift(3)))
    1.0
    """
    ddof = whole("StdDev", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[N] <= ddof else math.sqrt(v[M2] / (v[N] - ddof))

    return entry(StdDev, _of_two("StdDev", lower), dtype, ddof=ddof)


def StdError(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The standard error of the mean: the standard deviation by the root of the count.

    >>> w = StdError()
    >>> w.lower(w.combine(w.lift(1), w.lift(3)))
    1.0
    """
    ddof = whole("StdError", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[N] <= ddof else math.sqrt(v[M2] / (v[N] - ddof) / v[N])

    return entry(StdError, _of_two("StdError", lower), dtype, ddof=ddof)


def Skewness(bias: bool = True, *, dtype: Any = None) -> Monoid:
    """The skewness of a population, as Spark's; of a sample (bias=False), as pandas'.

    Null where all items are alike, and for fewer than three items of a sample.

    >>> w = Skewness()
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(1), w.lift(4))))
    0.7071067811865476
    """

    def lower(v: Any) -> Any:
        if v[N] < (1 if bias else 3) or v[M2] == 0:
            return None
        found = math.sqrt(v[N]) * (v[M3] / v[M2]) / math.sqrt(v[M2])
        return found if bias else found * math.sqrt(v[N] * (v[N] - 1.0)) / (v[N] - 2)

    return entry(Skewness, _of_four("Skewness", lower), dtype, bias=bias)


def Kurtosis(bias: bool = True, *, dtype: Any = None) -> Monoid:
    """The excess kurtosis of a population, as Spark's; of a sample (bias=False), as pandas'.

    It is 0 for a normal distribution. Null where all items are alike, and for fewer than
    four items of a sample.

    >>> w = Kurtosis()
    >>> w.lower(w.combine(w.lift(1), w.combine(w.lift(1), w.lift(4))))
    -1.5
    """

    def lower(v: Any) -> Any:
        if v[N] < (1 if bias else 4) or v[M2] == 0:
            return None
        found = v[N] * (v[M4] / v[M2]) / v[M2] - 3.0
        if bias:
            return found
        return ((v[N] + 1.0) * found + 6.0) * (v[N] - 1.0) / ((v[N] - 2.0) * (v[N] - 3.0))

    return entry(Kurtosis, _of_four("Kurtosis", lower), dtype, bias=bias)


def _of_two(name: str, lower: Callable[[Any], Any]) -> Monoid:
    """A monoid over the first two moments."""

    def typed(dtype: np.dtype) -> Monoid:
        return Monoid(
            name, (0.0,) * 4, two_moments, counted(merged_two), lower,
            commutative=True, dtype=(FLOAT64,) * 4,
        )  # fmt: skip

    return nullable(
        name, two_moments, merged_two, lower, commutative=True, typed=for_numbers(typed)
    )


def _of_four(name: str, lower: Callable[[Any], Any]) -> Monoid:
    """A monoid over the first four moments."""

    def typed(dtype: np.dtype) -> Monoid:
        return Monoid(
            name, (0.0,) * 6, four_moments, counted(merged_four), lower,
            commutative=True, dtype=(FLOAT64,) * 6,
        )  # fmt: skip

    return nullable(
        name, four_moments, merged_four, lower, commutative=True, typed=for_numbers(typed)
    )


def two_moments(x: Any) -> Any:
    """The first two moments of one item: NaN deviations of what is not finite, as in Spark."""
    v = float(+x)
    zero = v - v
    return (1.0, v, zero, zero)


def four_moments(x: Any) -> Any:
    """The first four moments of one item; NaN deviations as above."""
    v = float(+x)
    zero = v - v
    return (1.0, v, zero, zero, zero, zero)


def lesser(a: Any, b: Any) -> Any:
    """The smaller of two numbers that are not NaN."""
    return a if a < b else b


def merged_two(a: Any, b: Any) -> Any:
    """The moments of two sets together; neither is empty."""
    n, least = a[N] + b[N], lesser(a[LEAST], b[LEAST])
    d = (b[SHIFT] + (b[LEAST] - a[LEAST])) - a[SHIFT]
    part = d * (b[N] / n)
    shift = a[SHIFT] + (a[LEAST] - least) + part
    return (n, least, shift, a[M2] + b[M2] + d * part * a[N])


def merged_four(a: Any, b: Any) -> Any:
    """The moments of two sets together, to the fourth; neither is empty."""
    n, least, shift, m2 = merged_two(a, b)
    of_a, of_b = a[N] / n, b[N] / n
    d = (b[SHIFT] - a[SHIFT]) + (b[LEAST] - a[LEAST])
    dd = d * d
    apart = dd * of_b * a[N]
    m3 = apart * d * (of_a - of_b) + 3.0 * d * (of_a * b[M2] - of_b * a[M2])
    m4 = (
        apart * dd * (of_a * of_a - of_a * of_b + of_b * of_b)
        + 6.0 * dd * (of_a * of_a * b[M2] + of_b * of_b * a[M2])
        + 4.0 * d * (of_a * b[M3] - of_b * a[M3])
    )
    return (n, least, shift, m2, a[M3] + b[M3] + m3, a[M4] + b[M4] + m4)
