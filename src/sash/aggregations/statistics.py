"""Statistics of one column and of two: moments, correlation, regression, weighted means.

All compile, and cost one combine of a few numbers wherever the window's algorithm says so.
Those of one column share a state, and so do those of the same two columns.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash import monoids as m
from sash.aggregations.kinds import always, of_numbers, of_pairs
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def sem(column: Input, ddof: int = 1) -> Aggregation:
    """The standard error of the mean. A combine: four numbers.

    >>> from sash.testing import running
    >>> running(sem("x"), x=[1, 3, 5])
    [None, 1.0, 1.1547005383792515]
    """
    return of_numbers("sem", column, m.StdError(ddof=ddof))


def skewness(column: Input, bias: bool = True) -> Aggregation:
    """The skewness of a population, as Spark's; bias=False: of a sample, as pandas'.

    A combine: six numbers. Null where all values are alike.

    >>> from sash.testing import running
    >>> running(skewness("x"), x=[1, 1, 4])
    [None, None, 0.7071067811865476]
    """
    return of_numbers("skewness", column, m.Skewness(bias=bias))


def kurtosis(column: Input, bias: bool = True) -> Aggregation:
    """The excess kurtosis of a population, as Spark's; bias=False: of a sample, as pandas'.

    A combine: six numbers, which `skewness` shares. Null where all values are alike.

    >>> from sash.testing import running
    >>> running(kurtosis("x"), x=[1, 1, 4])
    [None, None, -1.5]
    """
    return of_numbers("kurtosis", column, m.Kurtosis(bias=bias))


def weighted_mean(column: Input, weight: Input) -> Aggregation:
    """The mean of a column, each value by its weight; null where weights sum to zero.

    A combine: two numbers.

    >>> from sash.testing import running
    >>> running(weighted_mean("price", weight="size"), price=[10.0, 20.0], size=[1, 3])
    [10.0, 17.5]
    """
    return of_pairs("weighted_mean", (column, weight), m.WeightedMean())


def corr(x: Input, y: Input) -> Aggregation:
    """Pearson's correlation; null for one row, and where a column's values are all alike.

    A combine: eight numbers, which all functions of the same two columns share.

    >>> from sash.testing import running
    >>> running(corr("x", "y"), x=[1, 2, 3], y=[6, 4, 2])
    [None, -1.0, -1.0]
    """
    return of_pairs("corr", (x, y), m.Correlation())


def covar_pop(x: Input, y: Input) -> Aggregation:
    """The covariance of a population. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(covar_pop("x", "y"), x=[1, 3], y=[2, 5])
    [0.0, 1.5]
    """
    return of_pairs("covar_pop", (x, y), m.Covariance(ddof=0))


def covar_samp(x: Input, y: Input) -> Aggregation:
    """The covariance of a sample. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(covar_samp("x", "y"), x=[1, 3], y=[2, 5])
    [None, 3.0]
    """
    return of_pairs("covar_samp", (x, y), m.Covariance(ddof=1))


def _regression(of: str, y: Input, x: Input) -> Aggregation:
    return of_pairs(f"regr_{of}", (y, x), m.Regression(of))


def regr_count(y: Input, x: Input) -> Aggregation:
    """How many rows have both columns. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_count("y", "x"), y=[1, None], x=[0, 2])
    [1, 1]
    """
    return replace(_regression("count", y, x), result=always(pa.int64()))


def regr_slope(y: Input, x: Input) -> Aggregation:
    """How much y rises where x rises by one, along the line of least squares.

    A combine: eight numbers, shared as with `corr`. Null where all x are alike.

    >>> from sash.testing import running
    >>> running(regr_slope("y", "x"), y=[1, 5], x=[0, 2])
    [None, 2.0]
    """
    return _regression("slope", y, x)


def regr_intercept(y: Input, x: Input) -> Aggregation:
    """y where x is zero, on the line of least squares.

    A combine: eight numbers, shared as with `corr`. Null where all x are alike.

    >>> from sash.testing import running
    >>> running(regr_intercept("y", "x"), y=[1, 5], x=[0, 2])
    [None, 1.0]
    """
    return _regression("intercept", y, x)


def regr_r2(y: Input, x: Input) -> Aggregation:
    """The share of y's variance that the line of least squares explains.

    A combine: eight numbers, shared as with `corr`. Null where all x are alike.

    >>> from sash.testing import running
    >>> running(regr_r2("y", "x"), y=[1, 5, 9], x=[0, 2, 4])
    [None, 1.0, 1.0]
    """
    return _regression("r2", y, x)


def regr_avgx(y: Input, x: Input) -> Aggregation:
    """The mean of x where y is known too. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_avgx("y", "x"), y=[1, None, 5], x=[0, 9, 2])
    [0.0, 0.0, 1.0]
    """
    return _regression("avgx", y, x)


def regr_avgy(y: Input, x: Input) -> Aggregation:
    """The mean of y where x is known too. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_avgy("y", "x"), y=[1, 9, 5], x=[0, None, 2])
    [1.0, 1.0, 3.0]
    """
    return _regression("avgy", y, x)


def regr_sxx(y: Input, x: Input) -> Aggregation:
    """The sum of squared deviations of x. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_sxx("y", "x"), y=[1, 5], x=[0, 2])
    [0.0, 2.0]
    """
    return _regression("sxx", y, x)


def regr_syy(y: Input, x: Input) -> Aggregation:
    """The sum of squared deviations of y. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_syy("y", "x"), y=[1, 5], x=[0, 2])
    [0.0, 8.0]
    """
    return _regression("syy", y, x)


def regr_sxy(y: Input, x: Input) -> Aggregation:
    """The sum of products of deviations. A combine: eight numbers, shared as with `corr`.

    >>> from sash.testing import running
    >>> running(regr_sxy("y", "x"), y=[1, 5], x=[0, 2])
    [0.0, 4.0]
    """
    return _regression("sxy", y, x)
