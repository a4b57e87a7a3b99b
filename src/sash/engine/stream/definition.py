"""A definition on a stream: its plan, the columns that come in and go out, its shards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sash.engine.expressions import outputs
from sash.engine.stream.partials import PartialState
from sash.plan.definition import output_schema
from sash.plan.kept import Kept
from sash.plan.plan import FramePlan, Plan

LATE = "late"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StreamDefinition:
    """A plan over a stream; `answers` has the types of its answers.

    `shards`: into how many groups keys are hashed; `numbers`: whether a key's number is its own or
    Spark's hash of it. `allow_pickle`: whether partials that are objects of a user's own class may
    be kept as pickles.
    """

    plan: Plan
    answers: dict[str, pa.DataType]
    shards: int = 1
    allow_pickle: bool = False
    numbers: Literal["own", "hashed"] | None = None  # None: not on Spark

    @property
    def kept(self) -> Kept:
        """What stays between batches."""
        assert self.plan.kept is not None
        return self.plan.kept

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the stream."""
        derived = self.plan.query.derived
        return pa.schema([field for field in self.plan.schema if field.name not in derived])

    @property
    def time(self) -> str:
        return self.plan.query.time

    # Columns.

    @cached_property
    def needed(self) -> list[str]:
        """The columns that windows read."""
        return self.plan.columns

    @cached_property
    def passthrough(self) -> list[str]:
        """The columns that only come out again."""
        if not self.gives_rows:
            return []
        return [name for name in self.schema.names if name not in self.needed]

    @property
    def gives_rows(self) -> bool:
        """Whether the rows that come in come out; windows or keys' values do otherwise."""
        return self.plan.query.every is None and self.kept.emit != "update"

    @cached_property
    def output(self) -> pa.Schema:
        """The columns that come out."""
        query = self.plan.query
        known = output_schema(query, self.schema)
        if self.kept.emit == "update":
            known = pa.schema([known.field(n) for n in (*query.by, query.time, *query.outputs)])
        return pa.schema([pa.field(f.name, self.answers.get(f.name, f.type)) for f in known])

    def as_output(self, columns: Mapping[str, Any]) -> pa.Table:
        """Columns in their order, and answers of the types that were promised."""
        found, query = {}, self.plan.query
        if query.results:
            answers = {name: columns[name] for name in query.aggregations}
            made = outputs(self.plan, columns, answers)
            columns = {**columns, **dict(zip(query.outputs, made, strict=True))}
        for f in self.output:
            column = columns[f.name]
            known = pa.types.is_null(f.type) or column.type == f.type
            found[f.name] = column if known else column.cast(f.type)
        return pa.table(found)

    def marked(self, rows: pa.Table) -> pa.Table:
        """Rows that came too late, as they come out: without answers."""
        given = {name: rows.column(name) for name in rows.column_names}
        if self.plan.query.every is not None:  # a window that is no longer than a moment
            given |= {name: rows.column(self.time) for name in ("window_start", "window_end")}
        columns = [
            given[f.name]
            if f.name in given and f.name not in self.answers
            else pa.nulls(rows.num_rows, f.type)
            for f in self.output
        ]
        return pa.table(columns, schema=self.output)

    # What is kept.

    @cached_property
    def by_time(self) -> list[FramePlan]:
        """The frames whose rows are kept by time."""
        kept = {s.frame for s in (*self.plan.of("forest"), *self.plan.of("rows"))}
        return [frame for frame in self.plan.frames if frame.number in kept]

    @cached_property
    def partials(self) -> list[PartialState]:
        """The states of the forest, each once."""
        found: dict[str, PartialState] = {}
        for state in (*self.plan.of("forest"), *self.plan.of("slices")):
            made = PartialState(self.plan, state, self.allow_pickle)
            found.setdefault(made.name, made)
        return list(found.values())

    @cached_property
    def slices_at_once(self) -> bool:
        """With `every`, whether rows may wait for the watermark as slices: where the order of rows
        does not matter, those of a slice can be combined when they come."""
        every = self.plan.query.every
        if every is None or every.by_rows or self.plan.of("rows"):
            return False
        return all(state.is_commutative for state in self.partials)

    def horizon(self, watermark: float) -> float:
        """The time from which on rows by time are needed once the watermark is there."""
        return watermark - self.kept.span

    def needed_from(self, watermark: float) -> float:
        """The time from which on rows can still matter once the watermark is there."""
        per_key = any(s.structure in ("tail", "so far", "waiting") for s in self.plan.states)
        return -math.inf if per_key or self.kept.fills else self.horizon(watermark)

    def moment(self, ticks: float) -> str:
        """A time in ticks as a person reads it."""
        unit = self.plan.unit
        if unit is None:
            return f"{ticks:g}"
        return (EPOCH + timedelta(microseconds=ticks * unit // 1000)).isoformat(sep=" ")
