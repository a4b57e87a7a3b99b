"""Regression: the line of least squares, by centered co-moments.

State: (count, mean of x, mean of y, Σ(x - x̄)², Σ(x - x̄)(y - ȳ), Σ(y - ȳ)²), merged as
Chan, Golub and LeVeque merge the moments of one variable.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry
from sash.monoids.sums import FLOAT64, INT64
from sash.monoids.variants import counted, for_pairs, has_null, nullable


class Line(NamedTuple):
    """y = slope · x + intercept, and the share of y's variance that it explains."""

    slope: Any
    intercept: Any
    r2: Any


def LinearRegression(*, dtype: Any = None) -> Monoid:
    """The line of least squares through (x, y), all null where it is not defined.

    As Spark's regr_slope, regr_intercept and regr_r2: pairs with a null are skipped;
    all x alike gives null; all y alike gives an r2 of 1.

    >>> w = LinearRegression()
    >>> w.lower(w.combine(w.lift((0, 1)), w.lift((2, 5))))
    Line(slope=2.0, intercept=1.0, r2=1.0)
    """

    def typed(x: np.dtype, y: np.dtype) -> Monoid:
        return Monoid(
            "LinearRegression", (0, 0.0, 0.0, 0.0, 0.0, 0.0), comoments_of, counted(merged),
            line, commutative=True, dtype=(INT64, *(FLOAT64,) * 5),
        )  # fmt: skip

    monoid = nullable(
        "LinearRegression", comoments_of, merged, line,
        skips=has_null, commutative=True, typed=for_pairs(typed),
    )  # fmt: skip
    return entry(LinearRegression, monoid, dtype)


def comoments_of(point: Any) -> Any:
    """The co-moments of one point; NaN deviations of what is not finite."""
    x, y = float(+point[0]), float(+point[1])
    return (1, x, y, x - x, (x - x) + (y - y), y - y)


def merged(a: Any, b: Any) -> Any:
    """The co-moments of two sets together; neither is empty."""
    n = a[0] + b[0]
    dx, dy = b[1] - a[1], b[2] - a[2]
    share = b[0] / n
    weight = share * a[0]
    return (
        n,
        a[1] + dx * share,
        a[2] + dy * share,
        a[3] + b[3] + dx * dx * weight,
        a[4] + b[4] + dx * dy * weight,
        a[5] + b[5] + dy * dy * weight,
    )


def line(v: Any) -> Line:
    """The line of a state."""
    return Line(slope(v), intercept(v), r2(v))


def slope(v: Any) -> Any:
    """How much y rises where x rises by one."""
    return None if v[3] == 0 else v[4] / v[3]


def intercept(v: Any) -> Any:
    """y where x is zero."""
    return None if v[3] == 0 else v[2] - v[4] / v[3] * v[1]


def r2(v: Any) -> Any:
    """The share of y's variance that the line explains."""
    if v[3] == 0:
        return None
    return 1.0 if v[5] == 0 else v[4] / v[3] * (v[4] / v[5])
