"""How often and how many: modes, histograms, counts of what holds, of extremes and of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash import monoids as m
from sash.aggregations.kinds import (
    always,
    is_ordered,
    of_numbers,
    of_ordered,
)
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input

COUNT = always(pa.int64())


def count_if(condition: Any) -> Aggregation:
    """How many rows a condition is true of: an expression, or a string of SQL. No combines.

    >>> print(count_if("status = 'ok'"))
    count() where status = 'ok'
    """
    return Aggregation("count", (), how="count", result=COUNT).where(condition)


def mode(column: Input) -> Aggregation:
    """The most frequent value, the smallest of equally frequent ones.

    As Spark's mode(column, deterministic=True). The state counts every distinct value, so it
    runs as plain Python, and a combine costs as much as there are.

    >>> from sash.testing import running
    >>> running(mode("x"), x=["b", "a", "b"])
    ['b', 'a', 'b']
    """
    return of_ordered("mode", column, m.Mode())


def mad(column: Input) -> Aggregation:
    """The median absolute deviation: the median of the distances from the median.

    The state counts every distinct value, so it runs as plain Python, and a combine costs as
    much as there are.

    >>> from sash.testing import running
    >>> running(mad("x"), x=[1, 2, 9])
    [0.0, 0.5, 1.0]
    """
    return of_numbers("mad", column, m.MedianDeviation())


def histogram(column: Input, bins: Sequence[float] | None = None) -> Aggregation:
    """How often each value occurs, as a map in order of the values; or counts per bin.

    With `bins`, the edges between bins, it is a list with a count per bin, as NumPy's
    histogram: a bin has its left edge, the last one both. Counts per bin compile, and a
    combine adds them; the map runs as plain Python, and a combine costs as much as there
    are distinct values.

    >>> from sash.testing import running
    >>> running(histogram("x"), x=[5, 3, 5])[-1]
    [(3, 1), (5, 2)]
    >>> running(histogram("x", bins=[0, 4, 8]), x=[5, 3, 5])[-1].tolist()
    [1, 2]
    """
    if bins is not None:
        return of_numbers("histogram", column, m.BinCounts(bins), always(pa.list_(pa.int64())))
    return Aggregation(
        "histogram", (column,), m.Histogram(),
        result=lambda kinds: pa.map_(kinds[0], pa.int64()),
        accepts=is_ordered, takes="a column that has an order",
    )  # fmt: skip


def max_count(column: Input) -> Aggregation:
    """How many rows have the largest value. A combine: two numbers.

    >>> from sash.testing import running
    >>> running(max_count("x"), x=[2, 3, 3])
    [1, 1, 2]
    """
    return replace(of_ordered("max_count", column, m.MaxCount()), result=COUNT)


def min_count(column: Input) -> Aggregation:
    """How many rows have the smallest value. A combine: two numbers.

    >>> from sash.testing import running
    >>> running(min_count("x"), x=[2, 3, 2])
    [1, 1, 2]
    """
    return replace(of_ordered("min_count", column, m.MinCount()), result=COUNT)


def longest_run(column: Input) -> Aggregation:
    """How many rows the longest run of strictly increasing values has; nulls are passed over.

    A combine: ten numbers. `sf.apply(m.LongestRun(), sf.TIME, column)` gives when it began
    and ended too.

    >>> from sash.testing import running
    >>> running(longest_run("x"), x=[1, 2, 5, 3, 4])
    [1, 2, 3, 3, 3]
    """
    return replace(of_ordered("longest_run", column, m.RunLength()), result=COUNT)
