"""Aggregations for `sash.windowed(...).agg(...)`, named as Spark names them.

from sash import functions as sf
sf.max("amount").over("24 hours")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash import monoids as m
from sash.aggregations import kinds
from sash.aggregations.collections import (
    array_agg,
    collect_list,
    collect_set,
    first_k,
    last_distinct,
    last_k,
    listagg,
    string_agg,
    top_k,
)
from sash.aggregations.decay import decayed_count, decayed_mean, decayed_sum
from sash.aggregations.elsewhere import unknown as _unknown
from sash.aggregations.frequencies import (
    count_if,
    histogram,
    longest_run,
    mad,
    max_count,
    min_count,
    mode,
)
from sash.aggregations.places import (
    cume_dist,
    dense_rank,
    known_only,
    lag,
    lead,
    nth_value,
    ntile,
    percent_rank,
    rank,
    row_number,
    window_rank,
)
from sash.aggregations.sketches import (
    approx_top_k,
    frequent_items_sketch_agg,
    hll_sketch_agg,
    kll_sketch_agg,
    kll_sketch_agg_bigint,
    kll_sketch_agg_double,
    kll_sketch_agg_float,
    theta_sketch_agg,
)
from sash.aggregations.statistics import (
    corr,
    covar_pop,
    covar_samp,
    kurtosis,
    regr_avgx,
    regr_avgy,
    regr_count,
    regr_intercept,
    regr_r2,
    regr_slope,
    regr_sxx,
    regr_sxy,
    regr_syy,
    sem,
    skewness,
    weighted_mean,
)
from sash.monoids import arguments
from sash.monoids.ranks import INTERPOLATIONS
from sash.monoids.trial import check_functions
from sash.plan.definition import TIME, Aggregation
from sash.plan.expressions import Input
from sash.plan.scalars import abs as abs
from sash.plan.scalars import ceil as ceil
from sash.plan.scalars import coalesce as coalesce
from sash.plan.scalars import col as col
from sash.plan.scalars import exp as exp
from sash.plan.scalars import expr as expr
from sash.plan.scalars import floor as floor
from sash.plan.scalars import greatest as greatest
from sash.plan.scalars import least as least
from sash.plan.scalars import lit as lit
from sash.plan.scalars import log as log
from sash.plan.scalars import pow as pow
from sash.plan.scalars import round as round
from sash.plan.scalars import sqrt as sqrt
from sash.plan.scalars import when as when

DOUBLE = pa.float64()
_SCALARS = (
    "abs", "ceil", "coalesce", "col", "exp", "expr", "floor", "greatest", "least", "lit", "log",
    "pow", "round", "sqrt", "when",
)  # fmt: skip

__all__ = [
    "TIME", "any_value", "apply", "approx_count_distinct", "approx_top_k", "argmax", "argmin",
    "array_agg", "avg", "bool_and", "bool_or", "collect_list", "collect_set", "concat", "corr",
    "count", "count_distinct", "count_if", "covar_pop", "covar_samp", "cume_dist",
    "decayed_count", "decayed_mean", "decayed_sum", "dense_rank", "first", "first_k",
    "first_value", "frequent_items_sketch_agg", "function", "geomean", "histogram",
    "hll_sketch_agg", "kll_sketch_agg", "kll_sketch_agg_bigint", "kll_sketch_agg_double",
    "kll_sketch_agg_float", "kurtosis", "lag", "last", "last_distinct", "last_k", "last_value",
    "lead", "listagg", "longest_run", "mad", "max", "max_by", "max_count", "mean", "median",
    "min", "min_by", "min_count", "mode", "nth_value", "ntile", "percent_rank", "percentile",
    "percentile_approx", "product", "range", "rank", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "row_number",
    "sem", "skewness", "std", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum",
    "sum_distinct", "theta_sketch_agg", "top_k", "var_pop", "var_samp", "variance",
    "weighted_mean", "window_rank",
]  # fmt: skip


def count(column: Input | None = None, distinct: bool = False) -> Aggregation:
    """How many rows; with a column, how many where it is not null, or how many distinct values."""
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
    """`sum` of distinct values, under Spark's name."""
    return sum(column, distinct=True)


def product(column: Input) -> Aggregation:
    """The product, as a double."""
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
    """The geometric mean."""
    return kinds.of_numbers("geomean", column, m.GeoMean())


def variance(column: Input, ddof: int = 1) -> Aggregation:
    """The variance of a sample (ddof=1) or of a population (ddof=0)."""
    return kinds.of_numbers("variance", column, m.Var(ddof=ddof))


var_samp = variance


def var_pop(column: Input) -> Aggregation:
    """The variance of a population."""
    return variance(column, ddof=0)


def stddev(column: Input, ddof: int = 1) -> Aggregation:
    """The standard deviation of a sample (ddof=1) or of a population (ddof=0)."""
    return kinds.of_numbers("stddev", column, m.StdDev(ddof=ddof))


std = stddev_samp = stddev


def stddev_pop(column: Input) -> Aggregation:
    """The standard deviation of a population."""
    return stddev(column, ddof=0)


def range(column: Input) -> Aggregation:
    """The largest less the smallest."""
    return kinds.of_numbers("range", column, m.Range(), kinds.like)


def min(column: Input) -> Aggregation:
    """The smallest value; NaN only where there is no number."""
    return kinds.of_ordered("min", column, m.Min())


def max(column: Input) -> Aggregation:
    """The largest value; NaN is larger than any number."""
    return kinds.of_ordered("max", column, m.Max())


def bool_and(column: Input) -> Aggregation:
    """Whether all are true."""
    return kinds.of_booleans("bool_and", min(column))


def bool_or(column: Input) -> Aggregation:
    """Whether any is true."""
    return kinds.of_booleans("bool_or", max(column))


def _argument(name: str, measure: Input, argument: Input, monoid: m.Monoid) -> Aggregation:
    takes = "a measure that has an order"
    return Aggregation(
        name, (measure, argument), monoid, "argument", kinds.like_second, kinds.is_ordered, takes
    )


def argmax(measure: Input, argument: Input) -> Aggregation:
    """The argument where the measure is largest, the first of equals."""
    return _argument("argmax", measure, argument, m.ArgMax())


def argmin(measure: Input, argument: Input) -> Aggregation:
    """The argument where the measure is smallest, the first of equals."""
    return _argument("argmin", measure, argument, m.ArgMin())


def max_by(argument: Input, measure: Input) -> Aggregation:
    """`argmax` with the order of arguments that Spark has."""
    return argmax(measure, argument)


def min_by(argument: Input, measure: Input) -> Aggregation:
    """`argmin` with the order of arguments that Spark has."""
    return argmin(measure, argument)


def first(column: Input, ignore_nulls: bool = False) -> Aggregation:
    """The oldest row's value, null or not; `ignore_nulls`: the oldest that is not null."""
    found = Aggregation("first", (column,), how="first", result=kinds.like)
    return known_only(found) if ignore_nulls else found


def last(column: Input, ignore_nulls: bool = False) -> Aggregation:
    """The youngest row's value, null or not; `ignore_nulls`: the youngest that is not null."""
    found = Aggregation("last", (column,), how="last", result=kinds.like)
    return known_only(found) if ignore_nulls else found


any_value = first
first_value = first
last_value = last


def count_distinct(column: Input) -> Aggregation:
    """How many distinct values that are not null."""
    counts = kinds.always(pa.int64())
    return Aggregation("count_distinct", (column,), m.CountDistinct(), "distinct", counts)


def approx_count_distinct(column: Input, p: int = 12) -> Aggregation:
    """About how many distinct values, by HyperLogLog with 2**p registers."""
    return Aggregation(
        "approx_count_distinct", (column,), m.HyperLogLog(p), result=kinds.always(pa.int64())
    )


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
    """A value of the column that no more than `share` of the others are below; exact here."""
    return _share("percentile_approx", column, share, "approx")


def median(column: Input) -> Aggregation:
    """The exact median: a double; of timestamps, dates and durations one of these.

    >>> import datetime as dt
    >>> from sash.testing import running
    >>> running(median("x"), x=[dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)])[1]
    datetime.datetime(2024, 1, 1, 12, 0)
    """
    return percentile(column, 0.5)


def concat(column: Input, separator: str = "") -> Aggregation:
    """The strings, one after the other from older to younger."""
    return Aggregation("concat", (column,), m.Concat(separator), result=kinds.like)


def function(f: Callable[..., Any], *columns: Input, returns: pa.DataType = DOUBLE) -> Aggregation:
    """Any Python function of a window's values: an array of each column, without nulls.

    It is called for every row, so a row costs as much as its window is long, and `explain()`
    says so. `returns`: the Arrow type of its answers. Where many values are asked for, it is
    compiled if numba can. A window without values gives null. Times are whole nanoseconds
    since 1970, and durations nanoseconds, where all columns are numbers or times.

    >>> import pyarrow as pa, sash
    >>> table = pa.table({"t": [1, 2, 3], "x": [4.0, 1.0, 3.0]})
    >>> asked = function(lambda x: x[-1] - x[0], "x").over(sash.rows(2))
    >>> sash.windowed(table, time="t").agg(change=asked).column("change").to_pylist()
    [0.0, -3.0, 2.0]
    """
    if not callable(f):
        raise TypeError(f"function takes a function, not {f!r}")
    if not columns:
        raise TypeError("function: name at least one column")
    name = getattr(f, "__name__", "function")
    return Aggregation(
        name, columns, how="function", result=kinds.always(returns), function=f,
        in_nanoseconds=True,
    )  # fmt: skip


def apply(
    monoid: Any,
    *columns: Input,
    returns: pa.DataType | None = None,
    check: bool = True,
    **named: str,
) -> Aggregation:
    """Any monoid over one column or several: by position, or by the names of lift's parameters.

    A `lift` with one parameter gets a value, or a tuple of the columns' values; one with
    several gets each as its own argument, and compiles all the same. A monoid that compiles
    gets times as whole nanoseconds since 1970 and durations as nanoseconds, whatever the
    column's own unit; one that does not compile gets Python's objects. `sf.TIME` in the place
    of a column is the row's time, as a number in either case. `returns`: the Arrow type of its
    answers, where they are not numbers and Spark has to know before it runs. `check`: whether a
    monoid of your own is tried on a few values first, with a warning where it breaks a law.

    >>> from sash import Monoid
    >>> from sash.testing import running
    >>> traded = Monoid("traded", 0.0, lambda price, size: price * size, lambda a, b: a + b)
    >>> running(apply(traded, size="s", price="p"), p=[2.0, 3.0], s=[10, 20])
    [20.0, 80.0]
    """
    made = m.as_monoid(monoid)
    own = made.recipe is None
    if own:
        check_functions(made)
    if named and columns:
        raise TypeError(f"apply({made.name}): name all columns, or give all by position")
    if named:
        columns = arguments.order(made, named)
    if not columns:
        raise TypeError(f"apply({made.name}): name at least one column")
    several = len(columns) > 1 and (named or arguments.takes_several(made))
    over = arguments.spread(made, len(columns)) if several else made
    return Aggregation(
        made.name, columns, over, result=lambda kinds: returns, in_nanoseconds=True,
        on_trial=own and check,
    )  # fmt: skip


if not TYPE_CHECKING:  # type checkers know all names

    def __getattr__(name: str) -> Any:
        raise AttributeError(_unknown(name, __all__))


def __dir__() -> list[str]:
    return sorted({*__all__, *_SCALARS, *(name for name in globals() if name.startswith("__"))})
