"""Moments: variance and standard deviation by counts, means and squared deviations.

Chan, Golub and LeVeque's update (1979): no sums of squares, so no cancellation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry, whole
from sash.monoids.sums import FLOAT64, INT64
from sash.monoids.variants import counted, for_numbers, nullable


def Var(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The variance: of a sample (ddof=1), or of a population (ddof=0). Null for n <= ddof.

    State: (count, mean, sum of squared deviations).

    >>> w = Var()
    >>> w.lower(w.combine(w.lift(1), w.lift(3)))
    2.0
    >>> w.lower(w.lift(1)) is None
    True
    """
    ddof = whole("Var", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[0] <= ddof else v[2] / (v[0] - ddof)

    return entry(Var, _moments("Var", lower), dtype, ddof=ddof)


def StdDev(ddof: int = 1, *, dtype: Any = None) -> Monoid:
    """The standard deviation: of a sample (ddof=1), or of a population (ddof=0).

    >>> w = StdDev(ddof=0)
    >>> w.lower(w.combine(w.lift(1), w.lift(3)))
    1.0
    """
    ddof = whole("StdDev", "ddof", ddof, 0)

    def lower(v: Any) -> Any:
        return None if v[0] <= ddof else math.sqrt(v[2] / (v[0] - ddof))

    return entry(StdDev, _moments("StdDev", lower), dtype, ddof=ddof)


def _moments(name: str, lower: Any) -> Monoid:
    def typed(dtype: np.dtype) -> Monoid:
        return Monoid(
            name, (0, 0.0, 0.0), moments_of, counted(merged), lower,
            commutative=True, dtype=(INT64, FLOAT64, FLOAT64),
        )  # fmt: skip

    return nullable(name, moments_of, merged, lower, commutative=True, typed=for_numbers(typed))


def moments_of(x: Any) -> Any:
    """(1, x, 0.0), but NaN deviations of what is not finite, as in Spark."""
    v = float(+x)
    return (1, v, v - v)


def merged(a: Any, b: Any) -> Any:
    """The moments of two sets together; neither is empty."""
    n = a[0] + b[0]
    delta = b[1] - a[1]
    share = b[0] / n
    return (n, a[1] + delta * share, a[2] + b[2] + delta * delta * share * a[0])
