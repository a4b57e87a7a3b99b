"""Regression: the line of least squares, from the state of `comoments`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sash.monoids.comoments import X_SHIFT, XX, XY, Y_SHIFT, YY, N, X, Y, of_pairs
from sash.monoids.monoid import Monoid
from sash.monoids.recipe import entry


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

    def line(v: Any) -> Line:
        x, y = v[X] + v[X_SHIFT], v[Y] + v[Y_SHIFT]
        return Line(slope(v[XX], v[XY]), intercept(x, y, v[XX], v[XY]), r2(v[XX], v[XY], v[YY]))

    return entry(LinearRegression, of_pairs("LinearRegression", line), dtype)


def Regression(of: str = "slope", *, dtype: Any = None) -> Monoid:
    """One figure of the line of least squares through (y, x), as SQL's regr_* functions.

    `of`: "slope", "intercept", "r2", "count", "avgx", "avgy", "sxx", "sxy" or "syy".
    Pairs are (y, x), in SQL's order, and those with a null are skipped.

    >>> w = Regression("intercept")
    >>> w.lower(w.combine(w.lift((1, 0)), w.lift((5, 2))))
    1.0
    """
    if of not in FIGURES:
        raise ValueError(f"Regression: of must be one of {', '.join(FIGURES)}, not {of!r}")
    name = f"Regression of {of}"
    empty = int if of == "count" else None
    return entry(Regression, of_pairs(name, FIGURES[of], empty), dtype, of=of)


def slope(xx: Any, xy: Any) -> Any:
    """How much y rises where x rises by one."""
    return None if xx == 0 else xy / xx


def intercept(x: Any, y: Any, xx: Any, xy: Any) -> Any:
    """y where x is zero, from the means of both."""
    return None if xx == 0 else y - xy / xx * x


def r2(xx: Any, xy: Any, yy: Any) -> Any:
    """The share of y's variance that the line explains."""
    if xx == 0:
        return None
    return 1.0 if yy == 0 else xy / xx * (xy / yy)


# From here on the state is over (y, x): its X is SQL's y.


def _slope(v: Any) -> Any:
    return slope(v[YY], v[XY])


def _intercept(v: Any) -> Any:
    return intercept(v[Y] + v[Y_SHIFT], v[X] + v[X_SHIFT], v[YY], v[XY])


def _r2(v: Any) -> Any:
    return r2(v[YY], v[XY], v[XX])


def _count(v: Any) -> Any:
    return int(v[N])


def _avgx(v: Any) -> Any:
    return v[Y] + v[Y_SHIFT]


def _avgy(v: Any) -> Any:
    return v[X] + v[X_SHIFT]


def _sxx(v: Any) -> Any:
    return v[YY]


def _sxy(v: Any) -> Any:
    return v[XY]


def _syy(v: Any) -> Any:
    return v[XX]


FIGURES: dict[str, Callable[[Any], Any]] = {
    "slope": _slope, "intercept": _intercept, "r2": _r2, "count": _count,
    "avgx": _avgx, "avgy": _avgy, "sxx": _sxx, "sxy": _sxy, "syy": _syy,
}  # fmt: skip
