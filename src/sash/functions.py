"""Aggregations for `sash.windowed(...).agg(...)`, named as Spark names them.

from sash import functions as sf
sf.max("amount").over("24 hours")
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash import monoids as m
from sash.plan.definition import Aggregation
from sash.plan.types import number_type

__all__ = [
    "any_value", "apply", "approx_count_distinct", "argmax", "argmin", "avg", "bool_and",
    "bool_or", "collect_list", "collect_set", "concat", "count", "count_distinct", "first",
    "geomean", "last", "max", "max_by", "mean", "median", "min", "min_by", "percentile",
    "percentile_approx", "product", "range", "stddev",
    "stddev_pop", "sum", "var_pop", "variance",
]  # fmt: skip


def is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_ordered(kind: pa.DataType) -> bool:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return is_number(kind) or number_type(kind) is not None or text or binary


def _like(kinds: list[pa.DataType]) -> pa.DataType:
    return kinds[0]


def _like_second(kinds: list[pa.DataType]) -> pa.DataType:
    return kinds[1]


def _always(kind: pa.DataType) -> Callable[[list[pa.DataType]], pa.DataType]:
    return lambda kinds: kind


def _total(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of a sum, as Spark has it."""
    kind = kinds[0]
    if pa.types.is_decimal(kind):
        return pa.decimal128(builtins.min(38, kind.precision + 10), kind.scale)
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()


def _average(kinds: list[pa.DataType]) -> pa.DataType:
    kind = kinds[0]
    if pa.types.is_decimal(kind):
        return pa.decimal128(builtins.min(38, kind.precision + 4), builtins.min(38, kind.scale + 4))
    return pa.float64()


def _double(kinds: list[pa.DataType]) -> pa.DataType:
    return pa.float64()


def _of_numbers(name: str, column: str, monoid: m.Monoid, result: Any = _double) -> Aggregation:
    return Aggregation(
        name, (column,), monoid, result=result, accepts=is_number, takes="a column of numbers"
    )


def count(column: str | None = None) -> Aggregation:
    """How many rows; with a column, how many where it is not null."""
    columns = () if column is None else (column,)
    return Aggregation("count", columns, how="count", result=_always(pa.int64()))


def sum(column: str) -> Aggregation:
    """The sum; of integers exact, an overflow is an error."""
    return _of_numbers("sum", column, m.Sum(), _total)


def product(column: str) -> Aggregation:
    """The product, as a double."""
    return _of_numbers("product", column, m.Product())


def mean(column: str) -> Aggregation:
    """The arithmetic mean."""
    return _of_numbers("mean", column, m.Mean(), _average)


avg = mean


def geomean(column: str) -> Aggregation:
    """The geometric mean."""
    return _of_numbers("geomean", column, m.GeoMean())


def variance(column: str, ddof: int = 1) -> Aggregation:
    """The variance of a sample (ddof=1) or of a population (ddof=0)."""
    return _of_numbers("variance", column, m.Var(ddof=ddof))


def var_pop(column: str) -> Aggregation:
    """The variance of a population."""
    return variance(column, ddof=0)


def stddev(column: str, ddof: int = 1) -> Aggregation:
    """The standard deviation of a sample (ddof=1) or of a population (ddof=0)."""
    return _of_numbers("stddev", column, m.StdDev(ddof=ddof))


def stddev_pop(column: str) -> Aggregation:
    """The standard deviation of a population."""
    return stddev(column, ddof=0)


def range(column: str) -> Aggregation:
    """The largest less the smallest."""
    return _of_numbers("range", column, m.Range(), _like)


def _ordered(name: str, column: str, monoid: m.Monoid) -> Aggregation:
    takes = "a column that has an order"
    return Aggregation(name, (column,), monoid, result=_like, accepts=is_ordered, takes=takes)


def min(column: str) -> Aggregation:
    """The smallest value; NaN only where there is no number."""
    return _ordered("min", column, m.Min())


def max(column: str) -> Aggregation:
    """The largest value; NaN is larger than any number."""
    return _ordered("max", column, m.Max())


def _is_boolean(kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind))


def bool_and(column: str) -> Aggregation:
    """Whether all are true."""
    smallest = min(column)
    return Aggregation("bool_and", (column,), smallest.monoid, result=_like, accepts=_is_boolean)


def bool_or(column: str) -> Aggregation:
    """Whether any is true."""
    largest = max(column)
    return Aggregation("bool_or", (column,), largest.monoid, result=_like, accepts=_is_boolean)


def _argument(name: str, measure: str, argument: str, monoid: m.Monoid) -> Aggregation:
    takes = "a measure that has an order"
    return Aggregation(
        name, (measure, argument), monoid, "argument", _like_second, is_ordered, takes
    )


def argmax(measure: str, argument: str) -> Aggregation:
    """The argument where the measure is largest, the first of equals."""
    return _argument("argmax", measure, argument, m.ArgMax())


def argmin(measure: str, argument: str) -> Aggregation:
    """The argument where the measure is smallest, the first of equals."""
    return _argument("argmin", measure, argument, m.ArgMin())


def max_by(argument: str, measure: str) -> Aggregation:
    """`argmax` with the order of arguments that Spark has."""
    return argmax(measure, argument)


def min_by(argument: str, measure: str) -> Aggregation:
    """`argmin` with the order of arguments that Spark has."""
    return argmin(measure, argument)


def first(column: str) -> Aggregation:
    """The oldest row's value, null or not."""
    return Aggregation("first", (column,), how="first", result=_like)


def last(column: str) -> Aggregation:
    """The youngest row's value, null or not."""
    return Aggregation("last", (column,), how="last", result=_like)


any_value = first


def _as_list(kinds: list[pa.DataType]) -> pa.DataType:
    return pa.list_(kinds[0])


def collect_list(column: str) -> Aggregation:
    """All values that are not null, from older to younger."""
    return Aggregation("collect_list", (column,), m.Collect(), result=_as_list)


def collect_set(column: str) -> Aggregation:
    """The distinct values that are not null."""
    return Aggregation("collect_set", (column,), m.CollectDistinct(), result=_as_list)


def count_distinct(column: str) -> Aggregation:
    """How many distinct values that are not null."""
    counts = _always(pa.int64())
    return Aggregation("count_distinct", (column,), m.CountDistinct(), "distinct", counts)


def approx_count_distinct(column: str, p: int = 12) -> Aggregation:
    """About how many distinct values, by HyperLogLog with 2**p registers."""
    return Aggregation(
        "approx_count_distinct", (column,), m.HyperLogLog(p), result=_always(pa.int64())
    )


def _share(name: str, column: str, share: float, result: Any) -> Aggregation:
    if not 0 <= share <= 1:
        raise ValueError(f"{name}({column}): the share must be from 0 to 1, not {share}")
    takes = "a column of numbers or times"
    return Aggregation(name, (column,), None, name, result, _is_numeric, takes, share=float(share))


def _is_numeric(kind: pa.DataType) -> bool:
    return number_type(kind) is not None


def percentile(column: str, share: float) -> Aggregation:
    """The exact percentile, in proportion between the two nearest values, as Spark's."""
    return _share("percentile", column, share, _double)


def percentile_approx(column: str, share: float) -> Aggregation:
    """A value of the column that no more than `share` of the others are below; exact here."""
    return _share("percentile_approx", column, share, _like)


def median(column: str) -> Aggregation:
    """The exact median."""
    return percentile(column, 0.5)


def concat(column: str, separator: str = "") -> Aggregation:
    """The strings, one after the other from older to younger."""
    return Aggregation("concat", (column,), m.Concat(separator), result=_like)


def apply(monoid: Any, *columns: str, returns: pa.DataType | None = None) -> Aggregation:
    """Any monoid, over one column or, as tuples, over several.

    `returns`: the Arrow type of its answers, where they are not numbers and Spark
    has to know before it runs.
    """
    made = m.as_monoid(monoid)
    if not columns:
        raise TypeError(f"apply({made.name}): name at least one column")
    return Aggregation(made.name, columns, made, result=lambda kinds: returns)
