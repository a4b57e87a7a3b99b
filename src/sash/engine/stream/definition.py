"""A definition on a stream: its plan, when rows come out, and what each frame keeps.

tree     frames by time: bulks of rows, and partials per key of 2^k neighbouring bulks
rows     frames by time whose answer is no small partial: the rows of the window
tail     frames by rows, delta, policies: the last rows of each key
so far   sessions, lifetime, until: one partial per key
waiting  frames with rows after the current one: rows until those have come
slices   with `every`: partials per key and slice, in a tree
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sash.engine.expressions import outputs
from sash.engine.stream.partials import PartialState
from sash.engine.stream.refused import check
from sash.plan.choose import Choice, Cost
from sash.plan.definition import output_schema
from sash.plan.plan import FramePlan, Plan, State
from sash.plan.reach import Reach, reach_of, steps_of
from sash.plan.types import tick_kind
from sash.windows.frames import (
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    SlidingCalendar,
    Until,
    length,
)

LATE = "late"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Structure = Literal["tree", "rows", "tail", "so far", "waiting", "slices"]
PARTIALS = ("count", "known", "first", "last", "argument", "combine")
"""The kinds of states that partials answer; others need the rows of a window."""
PARTIAL_STRUCTURES = ("tree", "slices", "so far")
"""The structures that keep partials."""
Emit = Literal["final", "arrival", "update"]


@dataclass(frozen=True)
class StreamDefinition:
    """A plan over a stream; `answers` has the types of its answers.

    `emit`: "final", each row once the watermark has passed all that its windows reach;
    "arrival", at once; "update", no rows, but the values of keys that have changed, as of the
    watermark, and with a `lead` those ahead of it. `idle`: after how long without a row a key is
    forgotten, in ticks of time. `shards`: into how many groups keys are hashed; `numbers`: whether
    a key's number is its own or Spark's hash of it. `allow_pickle`: whether partials that are
    objects of a user's own class may be kept as pickles.
    """

    plan: Plan
    answers: dict[str, pa.DataType]
    emit: Emit = "final"
    shards: int = 1
    idle: float | None = None
    allow_pickle: bool = False
    lead: float = 0
    numbers: Literal["own", "hashed"] | None = None  # None: not on Spark

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the stream."""
        derived = self.plan.query.derived
        return pa.schema([field for field in self.plan.schema if field.name not in derived])

    @property
    def time(self) -> str:
        return self.plan.query.time

    @cached_property
    def reach(self) -> Reach:
        return reach_of(self.plan.query, self.schema)

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
        return self.plan.query.every is None and self.emit != "update"

    @cached_property
    def output(self) -> pa.Schema:
        """The columns that come out."""
        query = self.plan.query
        known = output_schema(query, self.schema)
        if self.emit == "update":
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

    def structure(self, state: State) -> Structure:
        """The structure that keeps a state between batches."""
        frame = self.plan.frames[state.frame].frame
        whole = frame.exclude is None and frame.most is None and frame.peers
        combines = state.kind in PARTIALS and whole
        if self.plan.query.every is not None:
            return "slices" if combines and self._is_made_of_slices(frame) else "rows"
        if isinstance(frame, Session | Lifetime | Until) or _from_the_first(frame):
            return "so far" if combines else "tail"
        if isinstance(frame, Range | Sliding):
            return "tree" if combines else "rows"
        if isinstance(frame, Rows) and self.emit == "final" and frame.needs_following:
            return "waiting"
        return "tail"

    def _is_made_of_slices(self, frame: Any) -> bool:
        """Whether windows of `every` begin and end where slices do; see `slice_length`."""
        if isinstance(frame, SlidingCalendar):
            return False
        if tick_kind(self.schema.field(self.time).type) == "i":
            return True
        unit, first = self.plan.unit, self.plan.frames[0].frame
        assert isinstance(first, Sliding)
        step, start = steps_of(first.slide, unit), steps_of(first.offset, unit)
        bounds = (frame.size, frame.slide, frame.offset)
        size, slide, offset = (steps_of(bound, unit) for bound in bounds)
        return all(length % step == 0 for length in (size, slide, offset - start))

    @cached_property
    def of_structure(self) -> dict[Structure, list[State]]:
        """The states that each structure keeps."""
        found: dict[Structure, list[State]] = {}
        for state in self.as_kept.states:
            found.setdefault(self.structure(state), []).append(state)
        return found

    def outputs_of(self, structure: Structure) -> list[str]:
        """The names of the answers that a structure gives."""
        numbers = {state.number for state in self.of_structure.get(structure, [])}
        return [output.name for output in self.plan.outputs if output.state in numbers]

    @cached_property
    def by_time(self) -> list[FramePlan]:
        """The frames whose rows are kept by time."""
        kept = {s.frame for kind in ("tree", "rows") for s in self.of_structure.get(kind, [])}
        return [frame for frame in self.plan.frames if frame.number in kept]

    @cached_property
    def partials(self) -> list[PartialState]:
        """The states of the tree, each once."""
        found: dict[str, PartialState] = {}
        for state in (*self.of_structure.get("tree", []), *self.of_structure.get("slices", [])):
            made = PartialState(self.plan, state, self.allow_pickle)
            found.setdefault(made.name, made)
        return list(found.values())

    @cached_property
    def behind(self) -> float:
        """How long before a row its windows by time begin."""
        if self.plan.query.every is not None:
            kinds = self.plan.query.every.kinds
            lengths = (self._lengths(kind) for kind in kinds if isinstance(kind, Sliding))
            return max(size for size, _ in lengths) + self.steps_back
        behind = max((_or_infinity(frame.reach.behind) for frame in self.by_time), default=0)
        return max(behind, self._noticed) if self.emit == "update" else behind

    @cached_property
    def _noticed(self) -> float:
        """How long rows are kept so that it is noticed when sessions end and keys are idle."""
        frames = [each.frame for each in self.plan.frames]
        gaps = [steps_of(f.gap, self.plan.unit) for f in frames if isinstance(f, Session)]
        return max((*gaps, self.idle or 0), default=0) + 1

    @cached_property
    def slice_length(self) -> float:
        """With `every`, the length of a slice, in which no window begins or ends; 0 without."""
        if self.plan.query.every is None:
            return 0
        kinds = [each.frame for each in self.plan.frames if isinstance(each.frame, Sliding)]
        bounds = [
            [steps_of(bound, self.plan.unit) for bound in (kind.size, kind.slide, kind.offset)]
            for kind in kinds
        ]
        if tick_kind(self.schema.field(self.time).type) != "i":
            return bounds[0][1]
        first = bounds[0][2]
        lengths = [x for size, slide, offset in bounds for x in (size, slide, offset - first)]
        return math.gcd(*(int(x) for x in lengths))

    @cached_property
    def slices_at_once(self) -> bool:
        """With `every`, whether rows may wait for the watermark as slices: where the order of rows
        does not matter, those of a slice can be combined when they come."""
        if self.plan.query.every is None or self.of_structure.get("rows"):
            return False
        return all(state.is_commutative for state in self.partials)

    @cached_property
    def steps_back(self) -> float:
        """How long before the watermark windows end that are compared with those after it."""
        every = self.plan.query.every
        if every is None or not every.changes:
            return 0
        lengths = (self._lengths(kind) for kind in every.kinds if isinstance(kind, Sliding))
        return max(slide for _, slide in lengths)

    def _lengths(self, kind: Sliding) -> tuple[float, float]:
        """How long periodic windows are, and how far apart; of a calendar's, at most."""
        size, slide = (steps_of(bound, self.plan.unit) for bound in (kind.size, kind.slide))
        if not isinstance(kind, SlidingCalendar):
            return size, slide
        period = steps_of(kind.calendar.longest, self.plan.unit)
        return size * period, slide * period

    @cached_property
    def ahead(self) -> float:
        """How long after a row its windows by time end: so long it waits for the watermark."""
        if self.emit == "arrival" or self.plan.query.every is not None:
            return 0
        return max((_or_infinity(frame.reach.ahead) for frame in self.plan.frames), default=0)

    @cached_property
    def rows_ahead(self) -> int:
        """For how many rows of its key after it a row waits."""
        waiting = [self.plan.frames[s.frame].reach for s in self.of_structure.get("waiting", [])]
        return max((reach.rows_ahead or 0 for reach in waiting), default=0)

    @cached_property
    def keeps_bulks(self) -> bool:
        """Whether rows are kept in bulks by time."""
        by_rows = self.emit == "arrival" or (self.emit == "update" and self._noticed > 1)
        return bool(self.by_time) or self.ahead > 0 or by_rows

    @cached_property
    def fills(self) -> bool:
        """Whether windows without rows come out, between those of a key that have some."""
        every = self.plan.query.every
        return every is not None and every.fills

    def horizon(self, watermark: float) -> float:
        """The time from which on rows by time are needed once the watermark is there."""
        return watermark - self.ahead - self.behind

    def needed_from(self, watermark: float) -> float:
        """The time from which on rows can still matter once the watermark is there."""
        per_key = any(self.of_structure.get(kind) for kind in ("tail", "so far", "waiting"))
        return -math.inf if per_key or self.fills else self.horizon(watermark)

    @cached_property
    def as_kept(self) -> Plan:
        """The plan as it runs: with the algorithm that keeps each state from batch to batch, and
        with what becomes of rows that do not pass a filter where partials are kept."""
        return replace(self.plan, states=tuple(self._chosen(state) for state in self.plan.states))

    def _chosen(self, state: State) -> State:
        structure, cost = self.structure(state), Cost(2, 3)
        if structure not in PARTIAL_STRUCTURES:
            return state
        typed = state.typed or state.kind in ("count", "known", "first", "last")
        state = replace(state, typed=typed)
        if state.condition is not None:
            state = replace(state, filtering="no rows")
        if structure == "so far":
            why = "the partial of the window so far, then the rows of a batch one by one"
            return replace(state, choice=Choice("TwoStacks", why, Cost(2, 1)))
        if self.emit == "arrival":
            why = "bulks in a tree, late rows inserted where they belong: O(log d) nodes change"
            return replace(state, choice=Choice("FiBA", why, cost))
        why = "sealed bulks in order, O(log n) nodes per batch: a batch costs what comes and goes"
        return replace(state, choice=Choice("AMTA", why, cost))

    def moment(self, ticks: float) -> str:
        """A time in ticks as a person reads it."""
        unit = self.plan.unit
        if unit is None:
            return f"{ticks:g}"
        return (EPOCH + timedelta(microseconds=ticks * unit // 1000)).isoformat(sep=" ")


def _from_the_first(frame: Any) -> bool:
    """Whether a frame has all rows so far, up to the current one."""
    if isinstance(frame, Range | Rows) and frame.preceding is None and frame.following is not None:
        return not length(frame.following)
    return False


def _or_infinity(value: float | None) -> float:
    return math.inf if value is None else value
