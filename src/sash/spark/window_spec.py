"""A `pyspark.sql.Window` spec as Sash has it: keys, order and frame.

On classic Spark a spec lives in the JVM and is read there; on Spark Connect it is made
of Python objects. Keys and orders that are more than a column's name, such as
`col("ts").cast("long")`, become columns of their own for the time of the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from sash.plan.about import about
from sash.plan.aggregation import Aggregation
from sash.plan.definition import Query
from sash.windows import Frame, range_between, rows_between
from sash.windows.duration import UNITS, Duration


@dataclass(frozen=True)
class Expression:
    """A key or an order of a spec: its column, its name if it is nothing more, and its text."""

    column: Column
    name: str | None
    text: str
    descending: bool = False


@dataclass(frozen=True)
class Spec:
    """A spec as read: `frame` is ("rows" or "range", start, end), None unbounded, or missing."""

    keys: tuple[Expression, ...]
    order: tuple[Expression, ...]
    frame: tuple[str, int | None, int | None] | None

    def __str__(self) -> str:
        order = ", ".join(e.text + " DESC" * e.descending for e in self.order)
        return f"partitionBy({', '.join(e.text for e in self.keys)}).orderBy({order})"


@dataclass(frozen=True)
class Resolved:
    """A query without specs, the columns to add to its input, and orders that break ties."""

    query: Query
    derived: dict[str, Column] = field(default_factory=dict)
    ties: tuple[Expression, ...] = ()


def resolve(query: Query, df: DataFrame) -> Resolved:
    """The query with each spec replaced by its frame, its keys and its order."""
    specs = {
        out: read(a.frame)
        for out, a in query.aggregations.items()
        if isinstance(a.frame, WindowSpec)
    }
    if not specs:
        if not query.time:
            raise TypeError('windowed needs time="…", the column that orders the rows')
        return Resolved(query)
    first = next(iter(specs.values()))
    for out, spec in specs.items():
        with about("output", query.output_of(out)):
            _check_alike(out, spec, first)
            _check_given(out, spec, query, df)
    derived: dict[str, Column] = {}
    by = tuple(_name(e, df, derived) for e in first.keys) or query.by
    time, descending = query.time, query.descending
    if first.order:
        time, descending = _name(first.order[0], df, derived), first.order[0].descending
    kinds = df.select("*", *[c.alias(name) for name, c in derived.items()]).schema
    aggregations: dict[str, Aggregation] = dict(query.aggregations)
    for out, spec in specs.items():
        kind = kinds[time].dataType.typeName() if time in kinds.names else ""
        with about("output", query.output_of(out)):
            frame = _frame(out, spec, kind, time)
        aggregations[out] = replace(aggregations[out], frame=frame)
    found = replace(
        query, by=by, time=time, aggregations=aggregations, descending=descending, every=None
    )
    return Resolved(found, derived, first.order[1:])


def read(spec: Any) -> Spec:
    """The contents of a spec, for any kind of Spark."""
    return _of_jvm(spec) if hasattr(spec, "_jspec") else _of_connect(spec)


def _of_jvm(spec: Any) -> Spec:
    # asked for a column over the spec, the JVM gives the spec's parts by public methods
    jvm = spec._jspec.withAggregate(F.lit(1)._jc).node().windowSpec()
    keys = tuple(_jvm_expression(node) for node in _items(jvm.partitionColumns()))
    order = tuple(
        _jvm_expression(node.child(), "Descending" in node.sortDirection().toString())
        for node in _items(jvm.sortColumns())
    )
    if jvm.frame().isEmpty():
        return Spec(keys, order, None)
    frame = jvm.frame().get()
    kind = "rows" if "Row$" in frame.frameType().getClass().getName() else "range"
    return Spec(keys, order, (kind, _jvm_bound(frame.lower()), _jvm_bound(frame.upper())))


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(i) for i in range(sequence.size()))


def _jvm_expression(node: Any, descending: bool = False) -> Expression:
    from pyspark.sql.classic.column import Column as ClassicColumn
    from pyspark.sql.utils import get_active_spark_context

    jvm: Any = get_active_spark_context()._jvm
    column = jvm.org.apache.spark.sql.Column(node)
    name = None
    kind = node.getClass().getSimpleName()
    if kind == "UnresolvedAttribute" and node.nameParts().size() == 1:
        name = node.nameParts().apply(0)
    elif kind == "ExpressionColumnNode":  # df["k"]
        bound = node.expression()
        name = bound.name() if bound.getClass().getSimpleName() == "AttributeReference" else None
    return Expression(ClassicColumn(column), name, column.toString(), descending)


def _jvm_bound(bound: Any) -> int | None:
    kind = bound.getClass().getSimpleName()
    if kind == "CurrentRow$":
        return 0
    return int(bound.value().value()) if kind == "Value" else None


def _of_connect(spec: Any) -> Spec:
    keys = tuple(_connect_expression(e) for e in spec._partitionSpec)
    order = tuple(_connect_expression(e._child, not e._ascending) for e in spec._orderSpec)
    if spec._frame is None:
        return Spec(keys, order, None)
    from pyspark.sql import Window

    start, end = spec._frame._start, spec._frame._end
    return Spec(
        keys,
        order,
        (
            "rows" if spec._frame._isRowFrame else "range",
            None if start <= Window.unboundedPreceding else start,
            None if end >= Window.unboundedFollowing else end,
        ),
    )


def _connect_expression(expression: Any, descending: bool = False) -> Expression:
    from pyspark.sql.connect.column import Column as ConnectColumn

    written = getattr(expression, "_unparsed_identifier", None)
    name = None
    if written is not None and (found := re.fullmatch(r"([^.`]+)|`((?:[^`]|``)+)`", written)):
        name = found.group(1) or found.group(2).replace("``", "`")
    return Expression(ConnectColumn(expression), name, str(expression), descending)


def _check_alike(out: str, spec: Spec, first: Spec) -> None:
    if str(spec) != str(first):
        raise ValueError(
            f"{out}: one call has one order of rows, but its windows are {first} and {spec}: "
            "make a call for each"
        )
    if len(spec.order) > 1 and (spec.frame is None or spec.frame[0] == "range"):
        raise ValueError(
            f"{out}: {spec} is by several columns, which only rowsBetween can be: order by one, "
            "or give a frame by rows"
        )


def _check_given(out: str, spec: Spec, query: Query, df: DataFrame) -> None:
    """Raise ValueError where windowed(...) was given other keys or another time."""
    keys = [e.name or e.text for e in spec.keys]
    if query.by and set(query.by) != set(keys):
        raise ValueError(
            f"{out}: the window is {spec}, but windowed(...) has by={list(query.by)}: give the "
            "same keys, or leave by= out"
        )
    if spec.order and query.time and query.time != spec.order[0].name:
        raise ValueError(
            f"{out}: the window is {spec}, but windowed(...) has time={query.time!r}: give the "
            "same order, or leave time= out"
        )
    if not spec.order and not query.time:
        raise ValueError(f"{out}: the window {spec} has no order: add orderBy(…), or time=")


def _name(e: Expression, df: DataFrame, derived: dict[str, Column]) -> str:
    """The column of an expression: one of the input's, or one that is added."""
    if e.name is not None:
        return e.name  # whether there is such a column is checked with the others
    name = e.text
    while name in df.columns:
        name += "_"
    derived[name] = e.column
    return name


def _frame(out: str, spec: Spec, kind: str, time: str) -> Frame:
    """The frame, over an order of Spark type `kind`; days for dates, as in Spark."""
    if spec.frame is None:
        return range_between(None, 0) if spec.order else rows_between(None, None)
    unit, start, end = spec.frame
    if unit == "rows":
        return rows_between(start, end)
    if kind == "date":
        lo, hi = (None if b is None else Duration(b * UNITS["d"]) for b in (start, end))
        return range_between(lo, hi)
    if kind.startswith("timestamp") and any((start, end)):
        raise TypeError(
            f"{out}: rangeBetween({start}, {end}) has no unit, but {time!r} is a {kind}, and "
            f'Spark does not take it either: order by col("{time}").cast("long") for seconds, or '
            'give a duration, as in .over("1 hour")'
        )
    return range_between(start, end)


def added(resolved: Resolved, df: DataFrame) -> DataFrame:
    """The input with the columns that a spec needs."""
    if not resolved.derived:
        return df
    return df.select("*", *[c.alias(name) for name, c in resolved.derived.items()])
