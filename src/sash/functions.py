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
    concat,
    first_k,
    last_distinct,
    last_k,
    listagg,
    string_agg,
    top_k,
)
from sash.aggregations.decay import decayed_count, decayed_mean, decayed_sum
from sash.aggregations.elsewhere import unknown as _unknown
from sash.aggregations.extremes import (
    any_value,
    argmax,
    argmin,
    bool_and,
    bool_or,
    first,
    first_value,
    last,
    last_value,
    max,
    max_by,
    min,
    min_by,
)
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
    lag,
    lead,
    nth_value,
    ntile,
    percent_rank,
    rank,
    row_number,
    window_rank,
)
from sash.aggregations.shares import (
    median,
    percentile,
    percentile_approx,
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
from sash.aggregations.spread import (
    range,
    std,
    stddev,
    stddev_pop,
    stddev_samp,
    var_pop,
    var_samp,
    variance,
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
from sash.aggregations.sums import (
    approx_count_distinct,
    avg,
    count,
    count_distinct,
    geomean,
    mean,
    product,
    sum,
    sum_distinct,
)
from sash.monoids import arguments
from sash.monoids.trial import check_functions
from sash.plan.aggregation import TIME, Aggregation
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
