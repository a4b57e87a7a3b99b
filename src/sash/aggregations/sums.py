"""Sums, counts and means, and the values that are counted once."""

from __future__ import annotations

import pyarrow as pa

from sash import monoids as m
from sash.aggregations import kinds
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def count(column: Input | None = None, distinct: bool = False) -> Aggregation:
    """How many rows; with a column, how many where it is not null, or how many distinct values.

    >>> from sash.testing import running
    >>> running(count("x"), x=[5, None, 2])
    [1, 1, 2]
    """
    if distinct:
        if column is None:
            raise TypeError("count(distinct=True): distinct values of what? Name a column")
        return count_distinct(column)
    columns = () if column is None else (column,)
    return Aggregation("count", columns, how="count", result=kinds.always(pa.int64()))


def sum(column: Input, distinct: bool = False) -> Aggregation:
    """The sum; of integers exact, an overflow is an error. `distinct`: each value once.

    A combine: one addition; with `distinct` it copies all distinct values.

    >>> from sash.testing import running
    >>> running(sum("x", distinct=True), x=[5, 5, 2])
    [5, 5, 7]
    """
    if distinct:
        return kinds.of_numbers("sum_distinct", column, m.Distinct(m.Sum()), kinds.total)
    return kinds.of_numbers("sum", column, m.Sum(), kinds.total)


def sum_distinct(column: Input) -> Aggregation:
    """`sum` of distinct values, under Spark's name.

    >>> from sash.testing import running
    >>> running(sum_distinct("x"), x=[5, 5, 2])
    [5, 5, 7]
    """
    return sum(column, distinct=True)


def product(column: Input) -> Aggregation:
    """The product, as a double.

    >>> from sash.testing import running
    >>> running(product("x"), x=[2, 3, 4])
    [2.0, 6.0, 24.0]
    """
    return kinds.of_numbers("product", column, m.Product())


def mean(column: Input, distinct: bool = False) -> Aggregation:
    """The arithmetic mean. `distinct`: each value counts once.

    A combine: two numbers; with `distinct` it copies all distinct values.

    >>> from sash.testing import running
    >>> running(mean("x", distinct=True), x=[5, 5, 2])
    [5.0, 5.0, 3.5]
    """
    if distinct:
        return kinds.of_numbers("mean_distinct", column, m.Distinct(m.Mean()), kinds.average)
    return kinds.of_numbers("mean", column, m.Mean(), kinds.average)


avg = mean


def geomean(column: Input) -> Aggregation:
    """The geometric mean.

    >>> from sash.testing import running
    >>> running(geomean("x"), x=[1.0, 4.0])
    [1.0, 2.0]
    """
    return kinds.of_numbers("geomean", column, m.GeoMean())


def count_distinct(column: Input) -> Aggregation:
    """How many distinct values that are not null.

    >>> from sash.testing import running
    >>> running(count_distinct("x"), x=["a", "b", "a"])
    [1, 2, 2]
    """
    counts = kinds.always(pa.int64())
    return Aggregation("count_distinct", (column,), m.CountDistinct(), "distinct", counts)


def approx_count_distinct(column: Input, p: int = 12) -> Aggregation:
    """About how many distinct values, by HyperLogLog with 2**p registers.

    Over the rows of a table they are counted exactly: that is cheaper there than a sketch.

    >>> from sash.testing import running
    >>> running(approx_count_distinct("x"), x=["a", "b", "a"])
    [1, 2, 2]
    """
    return Aggregation(
        "approx_count_distinct", (column,), m.HyperLogLog(p), result=kinds.always(pa.int64())
    )
