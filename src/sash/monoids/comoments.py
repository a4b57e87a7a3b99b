"""Co-moments: covariance and correlation of pairs, from centered sums of products.

Merged and kept as `moments` has it for one variable. Legend of a state over pairs (x, y):

    N                    pairs, as a double
    X, X_SHIFT           the smallest finite x, the mean of x - X
    Y, Y_SHIFT           the same of y
    XX, XY, YY           sums of (x - x̄)², (x - x̄)(y - ȳ), (y - ȳ)²
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.moments import lesser
from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry, whole
from sash.monoids.sums import FLOAT64
from sash.monoids.variants import counted, for_pairs, has_null, nullable

N, X, X_SHIFT, Y, Y_SHIFT, XX, XY, YY = range(8)
SMALLEST = sys.float_info.min  # of doubles that have all their digits


def Covariance(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The covariance of pairs: of a sample (ddof=1), or of a population (ddof=0).

    Pairs with a null are skipped; null for n <= ddof.

    >>> w = Covariance()
    >>> w.lower(w.combine(w.lift((1, 2)), w.lift((3, 5))))
    3.0
    """
    ddof = whole("Covariance", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[N] <= ddof else v[XY] / (v[N] - ddof)

    return entry(Covariance, of_pairs("Covariance", lower), dtype, ddof=ddof)


def Correlation(*, dtype: Any = None) -> Monoid:
    """Pearson's correlation of pairs; null for one pair, and where x or y are all alike.

    >>> w = Correlation()
    >>> w.lower(w.combine(w.lift((1, 2)), w.combine(w.lift((2, 3)), w.lift((3, 4)))))
    1.0
    """
    return entry(Correlation, of_pairs("Correlation", correlation), dtype)


def correlation(v: Any) -> Any:
    """XY by the root of XX · YY, from -1 to 1 whatever was rounded."""
    if v[N] < 2 or v[XX] == 0 or v[YY] == 0:
        return None
    squared = v[XX] * v[YY]
    if SMALLEST < squared < math.inf:
        found = v[XY] / math.sqrt(squared)
    else:  # the product has no double, but the roots have
        found = v[XY] / math.sqrt(v[XX]) / math.sqrt(v[YY])
    if found > 1.0:
        return 1.0
    return -1.0 if found < -1.0 else found


def of_pairs(name: str, lower: Callable[[Any], Any], empty: Any = None) -> Monoid:
    """A monoid over the co-moments of pairs."""

    def typed(x: np.dtype, y: np.dtype) -> Monoid:
        return Monoid(
            name, (0.0,) * 8, comoments_of, counted(merged), lower,
            commutative=True, dtype=(FLOAT64,) * 8,
        )  # fmt: skip

    return nullable(
        name, comoments_of, merged, lower,
        empty=empty, skips=has_null, commutative=True, typed=for_pairs(typed),
    )  # fmt: skip


def placed(v: Any) -> Any:
    """(least, shift, deviation) of one number: NaN deviations of what is not finite, as in Spark.

    The least is always finite, so that distances from it are infinite or NaN only where the
    mean is.
    """
    if v - v == 0:
        return (v, 0.0, 0.0)
    return (0.0, v, math.nan)


def comoments_of(point: Any) -> Any:
    """The co-moments of one pair; NaN deviations of what is not finite."""
    x, x_shift, xx = placed(float(+point[0]))
    y, y_shift, yy = placed(float(+point[1]))
    return (1.0, x, x_shift, y, y_shift, xx, xx + yy, yy)


def merged(a: Any, b: Any) -> Any:
    """The co-moments of two sets together; neither is empty."""
    n, x, y = a[N] + b[N], lesser(a[X], b[X]), lesser(a[Y], b[Y])
    of_one = 1.0 / n  # one division: it takes as long as all else
    of_a, of_b = a[N] * of_one, b[N] * of_one
    x_a, x_b = a[X_SHIFT] + (a[X] - x), b[X_SHIFT] + (b[X] - x)
    y_a, y_b = a[Y_SHIFT] + (a[Y] - y), b[Y_SHIFT] + (b[Y] - y)
    dx, dy, weight = x_b - x_a, y_b - y_a, of_b * a[N]
    return (
        n,
        x,
        x_a * of_a + x_b * of_b,
        y,
        y_a * of_a + y_b * of_b,
        a[XX] + b[XX] + dx * dx * weight,
        a[XY] + b[XY] + dx * dy * weight,
        a[YY] + b[YY] + dy * dy * weight,
    )
