"""Exact percentiles and the median."""

from __future__ import annotations

from sash.aggregations import kinds
from sash.monoids.ranks import INTERPOLATIONS
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def _share(name: str, column: Input, share: float, interpolation: str) -> Aggregation:
    if not 0 <= share <= 1:
        raise ValueError(f"{name}({column}): the share must be from 0 to 1, not {share}")
    if interpolation not in INTERPOLATIONS:
        known = ", ".join(INTERPOLATIONS)
        raise ValueError(
            f"{name}({column}): interpolation must be one of {known}, not {interpolation!r}"
        )
    return Aggregation(
        name, (column,), how="percentile",
        result=kinds.between if interpolation in ("linear", "midpoint") else kinds.like,
        accepts=kinds.has_shares, takes="a column of numbers or times",
        share=float(share), interpolation=interpolation,
    )  # fmt: skip


def percentile(column: Input, share: float, interpolation: str = "linear") -> Aggregation:
    """The exact percentile; between two values by NumPy's and pandas' `interpolation`.

    "linear" (default, as Spark's) and "midpoint" give a double, or for times a time, rounded
    down to the column's unit; "lower", "higher" and "nearest" give a value of the column, of
    its type. Costs the logarithm of the number
    of distinct values per row.

    >>> import pyarrow as pa, sash
    >>> table = pa.table({"t": [1, 2, 3, 4], "x": [10, 40, 20, 30]})
    >>> nearest = percentile("x", 0.4, interpolation="nearest").over(sash.rows(4))
    >>> sash.windowed(table, time="t").agg(y=nearest)["y"].to_pylist()
    [10, 10, 20, 20]
    """
    return _share("percentile", column, share, interpolation)


def percentile_approx(column: Input, share: float) -> Aggregation:
    """A value of the column such that at most `share` of the others are below it; exact here.

    >>> from sash.testing import running
    >>> running(percentile_approx("x", 0.5), x=[10, 40, 20])
    [10, 10, 20]
    """
    return _share("percentile_approx", column, share, "approx")


def median(column: Input) -> Aggregation:
    """The exact median: a double; of timestamps, dates and durations one of these.

    >>> import datetime as dt
    >>> from sash.testing import running
    >>> running(median("x"), x=[dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)])[1]
    datetime.datetime(2024, 1, 1, 12, 0)
    """
    return percentile(column, 0.5)
