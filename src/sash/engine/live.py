"""Live: a query on a stream, as a shard needs to know it: columns, reach, when rows are due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.pages import KEY, StateError
from sash.engine.slices import Slices, slices_of
from sash.plan.definition import Query, output_schema
from sash.plan.reach import Reach, reach_of, reach_of_frame
from sash.windows.frames import Delta, Frame, Policy

LATE = "late"


class Stats(NamedTuple):
    """Figures of a batch: rows in, out and late, keys looked at, and what is kept."""

    rows_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    keys: int = 0
    state_bytes: int = 0
    state_rows: int = 0
    written: int = 0


@dataclass(frozen=True)
class Live:
    """A query over rows of `schema`; `answers` has the types of its answers.

    `emit`: "final", each row once the watermark has passed all that its windows reach;
    "arrival", at once. `slack`: rows beyond twice the needed ones that may be kept where
    time alone does not say what is needed. `shards`: into how many groups keys are hashed.
    """

    query: Query
    schema: pa.Schema
    answers: dict[str, pa.DataType]
    emit: str = "final"
    slack: int = 1 << 17
    shards: int = 1

    @cached_property
    def _reach(self) -> Reach:
        return reach_of(self.query, self.schema)

    @property
    def behind(self) -> float:
        """How long before a row its windows begin, in steps of the time column."""
        found = self._reach.behind
        return math.inf if found is None or not self._reach.by_time else found

    @property
    def ahead(self) -> float:
        return math.inf if self._reach.ahead is None else self._reach.ahead

    @property
    def rows_ahead(self) -> int:
        found = self._reach.rows_ahead
        return 1 << 62 if found is None else found

    @cached_property
    def needed(self) -> list[str]:
        """The columns that windows read."""
        return self.query.columns()

    @cached_property
    def rest(self) -> list[str]:
        """The columns that only come out again."""
        if self.query.every is not None:
            return []
        return [name for name in self.schema.names if name not in self.needed]

    @cached_property
    def slices(self) -> Slices | None:
        """How rows become slices, with `every` and where partials are a few numbers."""
        return slices_of(self.query, self.schema, KEY)

    @cached_property
    def holds(self) -> bool:
        """Whether a window depends on how it came about: rows that are kept of it say so."""
        return any(isinstance(frame, Delta | Policy) for frame in self._frames())

    @cached_property
    def output(self) -> pa.Schema:
        """The columns that come out."""
        known = output_schema(self.query, self.schema)
        return pa.schema([pa.field(f.name, self.answers.get(f.name, f.type)) for f in known])

    def as_output(self, columns: dict[str, Any]) -> pa.Table:
        """Columns in their order, and answers of the types that were promised."""
        return pa.table(
            [
                columns[f.name] if columns[f.name].type == f.type else columns[f.name].cast(f.type)
                for f in self.output
            ],
            schema=self.output,
        )

    def marked(self, rows: pa.Table) -> pa.Table:
        """Rows that came too late, as they come out: without answers."""
        given = {name: rows.column(name) for name in rows.column_names}
        if self.query.every is not None:  # a window that is no longer than a moment
            given |= {name: rows.column(self.query.time) for name in ("window_start", "window_end")}
        columns = [
            given[f.name]
            if f.name in given and f.name not in self.answers
            else pa.nulls(rows.num_rows, f.type)
            for f in self.output
        ]
        return pa.table(columns, schema=self.output)

    def _frames(self) -> list[Frame]:
        return [a.frame for a in self.query.aggregations.values() if a.frame is not None]

    def due(self, times: np.ndarray, begins: np.ndarray, watermark: float | None) -> np.ndarray:
        """Which rows have been answered once the watermark is there; keys begin at `begins`."""
        return answered(times, begins, watermark, self.ahead, self.rows_ahead)

    def described(self) -> dict[str, Any]:
        """What the state depends on, by name."""
        frames = {out: f"{a} over {a.frame}" for out, a in self.query.aggregations.items()}
        every = self.query.every
        return {
            "keys": list(self.query.by),
            "time": self.query.time,
            "columns": {name: str(self.schema.field(name).type) for name in self.needed},
            "other columns": {name: str(self.schema.field(name).type) for name in self.rest},
            "emit": self.emit,
            "shards": self.shards,
            "every": None if every is None else str(every),
            "slices": None if self.slices is None else self.slices.digests,
            "behind": None if math.isinf(self.behind) else self.behind,
            "ahead": self.ahead,
            "rows ahead": self.rows_ahead,
            "aggregations": frames,
            "not by time": sorted(
                {str(f) for f in self._frames() if not reach_of_frame(f, None).by_time}
            ),
        }

    def accept(self, known: dict[str, Any]) -> dict[str, Any]:
        """The definition that state of a definition goes on with, or StateError.

        State has rows, not aggregates: other aggregations of the same columns over windows
        that reach no further go on with it. With `every` it has the aggregates of slices.
        """
        new = self.described()
        free = ("behind", "aggregations", "not by time")
        same = [name for name in new if name not in free]
        for name in same:
            if known.get(name) != new[name]:
                raise StateError(_changed(name, known.get(name), new[name]))
        if known["behind"] is not None and (
            new["behind"] is None or new["behind"] > known["behind"]
        ):
            raise StateError(_changed("the longest window", known["behind"], new["behind"]))
        more = set(new["not by time"]) - set(known["not by time"])
        if more:
            raise StateError(_changed("windows", known["not by time"], new["not by time"]))
        return new | {"behind": known["behind"]} if known["behind"] is None else new


def answered(
    times: np.ndarray, begins: np.ndarray, watermark: float | None, ahead: float, rows_ahead: int
) -> np.ndarray:
    """Which rows, in order, have come out: the watermark has passed all that they reach."""
    if watermark is None:
        return np.zeros(len(times), np.bool_)
    due: np.ndarray = times <= watermark - ahead
    if rows_ahead:
        lengths = np.diff(np.append(begins, len(times)))
        settled = np.add.reduceat(times <= watermark, begins)
        number = np.arange(len(times)) - np.repeat(begins, lengths)
        due &= number < np.repeat(settled - rows_ahead, lengths)
    return due


def _changed(what: str, old: Any, new: Any) -> str:
    if what == "shards":
        return (
            f"the stream was started with {old} shards, now there are {new}, so keys would be "
            f"elsewhere: give windowed(…, shards={old}), or start from a new checkpoint"
        )
    return (
        f"the stream was started with another definition: {what}: {old!r} then, {new!r} now. Go "
        "on with the old one, or start from a new checkpoint"
    )
