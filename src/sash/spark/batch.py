"""Windows over a Spark DataFrame: shuffle by key, sort, one pass in Python's workers.

    df → (split) → shuffle by key → sort by key, time → mapInArrow(sash.engine) → df

One shuffle, and each column crosses to Python and back once: select what you need before the
call. Nothing runs when the call is made, and mistakes in it are reported before Spark plans a
job. Kernels are compiled once per machine, by the first task that needs them.

Answers are those of Spark's own frames, with these exceptions. Integer sums that overflow are
an error, with spark.sql.ansi.enabled on or off. "24 hours" is 24 hours, even when clocks
change, while Spark adds an INTERVAL of a day or more by the calendar
of the session's time zone. max_by and min_by take the first of equals, in order of time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from sash.engine.ahead import kernels_of
from sash.engine.answers import answer_types
from sash.engine.trial import try_without_rows
from sash.monoids.pickling import check_pickles
from sash.plan.definition import Query
from sash.plan.explain import Explanation
from sash.plan.periodic import KIND
from sash.plan.plan import Options, Plan
from sash.plan.planner import plan_of
from sash.spark import split as splits
from sash.spark import window_spec
from sash.spark.names import as_spelled, plain, quoted
from sash.spark.partition import Work, in_workers, over
from sash.spark.types import arrow_schema, spark_type, transferable
from sash.spark.workers import check_workers

WHOLE = splits.Decision(None, "in one piece")


@dataclass(frozen=True)
class Job:
    """A call that has been checked: what is run, on what, and how it is cut into tasks."""

    df: DataFrame  # with the columns that a window spec adds
    given: DataFrame  # as it came
    query: Query
    schema: pa.Schema
    answers: dict[str, pa.DataType]
    ties: tuple[window_spec.Expression, ...]
    partitions: int | None = None
    split: splits.Decision = WHOLE
    plan: Plan | None = None  # None on a stream, whose definition has it


def aggregate(
    df: DataFrame,
    query: Query,
    *,
    partitions: int | None = None,
    split: bool | None = None,
    **planning: Any,
) -> DataFrame:
    """The rows with one extra column per aggregation, in no guaranteed order.

    `partitions`: how many, as in df.repartition; without it Spark's own number, which
    adaptive execution may lower. `split`: whether a key that dominates, or all rows
    where there is no key, may be cut at times; None leaves it to Sash.
    """
    return run(prepare(df, query, partitions=partitions, split=split, **planning))


def prepare(
    df: DataFrame,
    query: Query,
    *,
    partitions: int | None = None,
    split: bool | None = None,
    **planning: Any,
) -> Job:
    """Check a call; raises what is wrong with it, starts no job."""
    check_partitions(partitions)
    job = checked(df, query)
    decision = splits.decide(job.query, job.schema, job.df, partitions, split)
    plan = plan_of(job.query, job.schema, Options(**planning))
    return replace(job, partitions=partitions, split=decision, plan=plan)


def check_partitions(partitions: int | None) -> None:
    """Raise ValueError if that is no number of partitions."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise ValueError(f"partitions must be a whole number of at least 1, not {partitions!r}")


def checked(df: DataFrame, query: Query) -> Job:
    """A call, checked, in one piece: as it is on a stream."""
    resolved = window_spec.resolve(query, df)
    more = window_spec.added(resolved, df)
    return checked_query(more, df, as_spelled(resolved.query, more), resolved.ties)


def checked_query(
    df: DataFrame,
    given: DataFrame,
    query: Query,
    ties: tuple[window_spec.Expression, ...] = (),
) -> Job:
    """A query over `df`, checked; `given`: whose columns come out besides the answers."""
    schema = arrow_schema(df)
    query.check(schema)
    for aggregation in query.aggregations.values():
        if aggregation.monoid is not None:
            check_pickles(aggregation.monoid, cloudpickle.dumps)
    try_without_rows(query, schema)
    check_workers(df)
    return Job(df, given, query, schema, answer_types(query, schema), ties)


def run(job: Job) -> DataFrame:
    """The job as a DataFrame, which runs when it is asked for rows."""
    assert job.plan is not None
    query, rows = job.plan.query, job.df
    dropped = tuple(name for name in rows.columns if name not in job.given.columns)
    home = None
    if query.every is not None:
        rows = rows.select(*(F.col(quoted(name)) for name in query.columns()))
    if job.split.reach is None:
        rows = shuffled(rows, query.by, job.partitions)
    else:
        rows = splits.split(rows, query, job.split)
        query = replace(query, by=(*query.by, splits.PART))
        home, dropped = splits.HOME, (*dropped, splits.PART, splits.HOME)
    answers = {name: transferable(kind) for name, kind in job.answers.items()}
    plan = job.plan.over_rows(arrow_schema(rows), query.by)
    work = Work(plan, tuple(rows.columns), answers, dropped, home, kernels_of(plan))
    ordered = rows.sortWithinPartitions(*_order(query, job))
    return plain(ordered).mapInArrow(in_workers(over, work), output_of(job))


def shuffled(df: DataFrame, by: tuple[str, ...], partitions: int | None) -> DataFrame:
    """Rows shuffled by key; into one partition where there is none."""
    if not by:
        return df.repartition(1)
    keys = [F.col(quoted(name)) for name in by]
    return df.repartition(*keys) if partitions is None else df.repartition(partitions, *keys)


def _order(query: Query, job: Job) -> list[Column]:
    columns = [F.col(quoted(name)) for name in query.by]
    time = F.col(quoted(query.time))
    columns.append(time.desc() if query.descending else time.asc())
    columns += [
        F.col(quoted(name)).desc() if query.descending else F.col(quoted(name)).asc()
        for name in query.ties
    ]
    columns += [e.column.desc() if e.descending else e.column.asc() for e in job.ties]
    return columns


def output_of(job: Job) -> StructType:
    """The columns that come out: the input's, or with `every` keys and windows; and answers."""
    fields = job.given.schema.fields
    if job.query.every is not None:
        time = job.df.schema[job.query.time].dataType
        fields = [job.df.schema[name] for name in job.query.by]
        text = StringType()
        fields += [StructField(n, text if n == KIND else time, True) for n in job.query.window]
    return StructType([*fields, *(_answer(job, out) for out in job.answers)])


def _answer(job: Job, out: str) -> StructField:
    """The field of an answer; of a column's own type where that is what it gives."""
    kind = job.answers[out]
    asked = job.query.aggregations.get(out)
    for name in () if asked is None else asked.columns:
        if name in job.schema.names and job.schema.field(name).type == kind:
            return StructField(out, job.df.schema[name].dataType, True)
    return StructField(out, spark_type(kind, out), True)


def explain(df: DataFrame, query: Query, **options: Any) -> Explanation:
    """The plan that `aggregate` would run, in words; starts no job."""
    from sash.spark.explain import text

    return text(prepare(df, query, **options))
