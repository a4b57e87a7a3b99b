"""As-of windows over Spark DataFrames: events and spine in one shuffle and one sort.

    (near) → events ∪ spine → (split) → shuffle by key → sort by key, time → mapInArrow(sash.engine)

Rows of both are one table on the way: keys and times are in the same columns, and other columns
share one where their types are equal, since a row is an event or the spine's. A spine row says
where windows end and contributes no value. Only spine rows come back, each once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from sash.plan.definition import Query
from sash.plan.explain import Explanation, Step
from sash.plan.plan import Options
from sash.plan.planner import plan_of
from sash.plan.reach import Reach, reach_of
from sash.plan.spine import Role, Spine, common_type
from sash.spark import batch
from sash.spark import split as splits
from sash.spark.asof_near import is_worth, near
from sash.spark.asof_partition import Work, over
from sash.spark.names import as_spelled, quoted
from sash.spark.partition import in_workers
from sash.spark.types import arrow_schema, spark_type, transferable

NEAR = "events of the spine's keys, from its first windows to its last; the others are not shuffled"

TIME, IS_SPINE = "t", "s"
"""Columns of merged rows; keys are k0, k1, …, other columns c0, c1, …"""


@dataclass(frozen=True)
class Slot:
    """A column of merged rows, the name of the events' column in it, and the spine's place."""

    name: str
    kind: DataType
    event: str | None
    spine: int | None


@dataclass(frozen=True)
class Merge:
    """How events and spine become one table: keys, the time, then other columns."""

    events: DataFrame
    spine: DataFrame
    slots: tuple[Slot, ...]
    schema: pa.Schema  # of the events, with the time as it is compared
    reach: Reach
    keys: tuple[str, ...]

    def rows(self) -> DataFrame:
        """Events that have a time, without those out of reach where that is cheap to find; and
        all rows of the spine."""
        there, here = self._sides()
        if self.is_near:
            there = near(there, here, self.keys, TIME, self.reach)
        return there.unionAll(here)

    @cached_property
    def is_near(self) -> bool:
        """Whether events out of reach are left out."""
        there, here = self._sides()
        return is_worth(there, here.select(*self.keys, TIME))

    def _sides(self) -> tuple[DataFrame, DataFrame]:
        spine = self.spine.toDF(*(f"p{i}" for i in range(len(self.spine.columns))))
        of_events = [_cast(slot, slot.event) for slot in self.slots]
        of_spine = [
            _cast(slot, None if slot.spine is None else f"p{slot.spine}") for slot in self.slots
        ]
        there = self.events.select(*of_events, F.lit(False).alias(IS_SPINE))
        here = spine.select(*of_spine, F.lit(True).alias(IS_SPINE))
        return there.where(F.col(TIME).isNotNull()), here

    def slot_of(self, event: str) -> str:
        """The column in which one of the events is."""
        return next(slot.name for slot in self.slots if slot.event == event)


def _cast(slot: Slot, name: str | None) -> Column:
    given = F.lit(None) if name is None else F.col(quoted(name))
    return given.cast(slot.kind).alias(slot.name)


def merge_of(query: Query, at: Spine, events: DataFrame, spine: DataFrame) -> Merge:
    """A column for each key, for the time, and for what else is needed of either side."""
    schema, slots = arrow_schema(events), []
    roles: list[Role] = ["key" for _ in query.by]
    roles.append("time")
    names = [*(f"k{i}" for i in range(len(query.by))), TIME]
    for role, name, *pair in zip(
        roles, names, (*query.by, query.time), (*at.by, at.time), strict=True
    ):
        there, here = events.schema[pair[0]].dataType, spine.schema[pair[1]].dataType
        common = common_type(role, (pair[0], pair[1]), schema, at.schema)
        kind = there if there == here else spark_type(common, pair[0])
        slots.append(Slot(name, kind, pair[0], spine.columns.index(pair[1])))
    compared = schema.set(schema.get_field_index(query.time), pa.field(query.time, common))
    others, keys = _others(query, slots, events, spine), tuple(names[:-1])
    return Merge(events, spine, (*slots, *others), compared, reach_of(query, compared), keys)


def _others(query: Query, slots: list[Slot], events: DataFrame, spine: DataFrame) -> list[Slot]:
    """Columns besides keys and time; one of the events and one of the spine of a type share one."""
    there = {slot.event for slot in slots}
    mine = [name for name in query.columns() if name not in there]
    found = [Slot(f"c{i}", events.schema[name].dataType, name, None) for i, name in enumerate(mine)]
    fields = spine.schema.fields
    whole = {slot.spine for slot in slots if slot.kind == fields[slot.spine or 0].dataType}
    for place in range(len(fields)):
        if place in whole:
            continue
        kind = fields[place].dataType
        free = [i for i, slot in enumerate(found) if slot.spine is None and slot.kind == kind]
        if free:
            found[free[0]] = replace(found[free[0]], spine=place)
        else:
            found.append(Slot(f"c{len(found)}", kind, None, place))
    return found


@dataclass(frozen=True)
class AsOfJob:
    """A call that has been checked, and how its rows are merged."""

    job: batch.Job  # of the events; what comes out is the spine
    merge: Merge


def prepare(
    events: DataFrame,
    spine: DataFrame,
    query: Query,
    *,
    partitions: int | None = None,
    split: bool | None = None,
    **planning: Any,
) -> AsOfJob:
    """Check a call; raises what is wrong with it, starts no job."""
    batch.check_partitions(partitions)
    query = as_spelled(query, events, spine)
    job = batch.checked_query(events, spine, query)
    assert query.spine is not None
    merge = merge_of(query, query.spine, events, spine)
    decision = splits.decide(query, job.schema, merge.rows(), partitions, split)
    plan = plan_of(query, merge.schema, Options(**planning))
    job = replace(job, partitions=partitions, split=decision, plan=plan)
    return AsOfJob(job, merge)


def aggregate(events: DataFrame, spine: DataFrame, query: Query, **options: Any) -> DataFrame:
    """The spine's rows with one extra column per aggregation, in no guaranteed order.

    `options`: as those of `sash.spark.batch.aggregate`.
    """
    found = prepare(events, spine, query, **options)
    job, merge = found.job, found.merge
    rows, keys = merge.rows(), merge.keys
    if job.split.reach is None:
        rows = batch.shuffled(rows, keys, job.partitions)
    else:
        merged = replace(job.query, by=keys, time=TIME)
        rows = splits.split(rows, merged, job.split, alone=IS_SPINE).drop(splits.HOME)
        keys = (*keys, splits.PART)
    ties = (merge.slot_of(name) for name in job.query.ties)
    ordered = rows.sortWithinPartitions(*keys, TIME, IS_SPINE, *ties)
    work = in_workers(over, _work(found, rows.columns))
    return ordered.mapInArrow(work, batch.output_of(job))


def _work(found: AsOfJob, columns: list[str]) -> Work:
    """The instructions of the workers for rows of these columns."""
    job, slots = found.job, found.merge.slots
    assert job.plan is not None
    events = {slot.event: i for i, slot in enumerate(slots) if slot.event is not None}
    part = columns.index(splits.PART) if splits.PART in columns else None
    # a key of another type than that of the events' is there twice, the second time as it is
    places = {slot.spine: i for i, slot in enumerate(slots) if slot.spine is not None}
    return Work(
        plan=job.plan,
        events=events if part is None else events | {splits.PART: part},
        spine=tuple(places[i] for i in range(len(job.given.columns))),
        names=tuple(job.given.columns),
        is_spine=columns.index(IS_SPINE),
        part=None if part is None else splits.PART,
        answers={name: transferable(kind) for name, kind in job.answers.items()},
    )


def explain(events: DataFrame, spine: DataFrame, query: Query, **options: Any) -> Explanation:
    """The plan that `aggregate` would run, in words; starts no job."""
    from sash.spark.explain import text

    found = prepare(events, spine, query, **options)
    return text(found.job, [Step("reach", NEAR)] if found.merge.is_near else [])
