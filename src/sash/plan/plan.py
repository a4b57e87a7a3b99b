"""The plan of a definition: the record that every executor runs.

    definition (Query)  →  plan_of  →  Plan  →  table, Spark batch, stream

Each distinct frame is in the plan once, and so is each state: aggregations of the same
columns over the same frame that one state can answer share it. `planner.py` makes it, and
`explain()` prints it, so what that says is what runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from sash.monoids.monoid import Monoid
from sash.plan.aggregation import Aggregation
from sash.plan.choose import Choice, Latency
from sash.plan.definition import Query
from sash.plan.filtering import Filtering
from sash.plan.kept import Emit, Kept, Structure
from sash.plan.periodic import unfilled
from sash.plan.reach import Reach
from sash.plan.slicing import Slices
from sash.plan.types import unit_of
from sash.windows.frames import Bound, Frame, Groups

Kind = Literal[
    "count", "known", "groups", "first", "last", "nth", "argument", "combine", "distinct",
    "percentile", "rank", "function", "policy", "collect", "decimal",
]  # fmt: skip
"""How a state is kept: `count`, `known` (rows that are not null, or that pass), `groups` (of equal
time), `first`, `last` and `nth` (rows by their place) follow from the bounds of a window;
`argument` combines measures and looks the argument up by its row; `combine` is a monoid; `decimal`
sums decimals as integers; `collect` copies the rows of a window; `distinct`,
`percentile` and `rank` keep a multiset; `function` is called with the window's values;
`policy` has its own window."""


class Options(NamedTuple):
    """Decisions that the user makes instead of the planner, and how rows come: a whole table at
    once, batch by batch, or as a stream.

    On a stream, `emit`: "final", each row once the watermark has passed all that its windows
    reach; "arrival", at once; "update", no rows, but the values of keys that have changed, as of
    the watermark, and with a `lead` those ahead of it. `idle`: after how long without a row a key
    is forgotten.
    """

    latency: Latency = "average"
    algorithm: str | None = None
    rows: Literal["whole", "batches", "stream"] = "batches"
    emit: Emit = "final"
    idle: Bound | None = None
    lead: Bound = 0


BY_DEFAULT = Options()


def over_table(query: Query, options: Options) -> Options:
    """The options of a query over a table in process: its rows are there at once, except those
    of windows of slices."""
    return options._replace(rows="whole") if query.every is None else options


@dataclass(frozen=True)
class FramePlan:
    """A frame, how far it reaches in steps of the time column, and how its bounds are found."""

    number: int
    frame: Frame
    reach: Reach
    bounds: str


@dataclass(frozen=True)
class State:
    """The state that is kept for a frame: a monoid over columns, by which algorithm and why.

    `asked`: the aggregations that are read from it; `monoid` lowers to one answer, or to a
    tuple with an answer for each of them. `typed`: its values are numbers and it compiles.
    `filtering`: with a `condition`, what becomes of rows that do not pass; see `filtering.py`.
    `structure`: on a stream, what keeps it between batches; see `kept.py`.
    """

    number: int
    frame: int
    kind: Kind
    columns: tuple[str, ...]
    asked: tuple[Aggregation, ...]
    monoid: Monoid | None = None
    kept: tuple[str, ...] = ()  # the names of the monoids whose states are kept
    choice: Choice | None = None
    typed: bool = False
    condition: str | None = None  # a column: only rows for which it is true are taken
    filtering: Filtering | None = None
    pieces: int = 1  # runs of rows of which windows are made, where the frame leaves rows out
    windows: int = 1  # how many of them are windows; the others are few rows
    slices: int | None = None  # the slices that its windows are made of; None: of rows
    structure: Structure | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns whose rows are items; the last one may say which of them are taken."""
        if self.filtering != "identity" or self.condition is None:
            return self.columns
        return (*self.columns, self.condition)

    @property
    def read_where(self) -> str | None:
        """The condition of the rows that are read, where others are left out."""
        return self.condition if self.filtering == "left out" else None

    @property
    def nothing(self) -> list[Any]:
        """The answer of each aggregation over no rows."""
        if self.kind in ("count", "known", "groups", "distinct"):
            return [0] * len(self.asked)
        return [None if a.monoid is None else a.monoid.nothing for a in self.asked]

    @property
    def combines(self) -> float:
        """Combines per row, about; those of slices are not counted, which are fewer."""
        if self.choice is None:
            return 0.0
        if self.slices is not None:
            return float(max(1, len(self.kept)))
        each = self.choice.cost.item + self.choice.cost.answer
        return max(1, len(self.kept)) * (self.windows * each + self.pieces - 1)


@dataclass(frozen=True)
class Output:
    """A column of answers: the state it is read from, and which of that state's answers."""

    name: str
    state: int
    member: int
    type: pa.DataType | None


@dataclass(frozen=True, repr=False)
class Plan:
    """How a definition runs over rows of `schema`, which has the derived columns too.

    With `every`, frames are the kinds of windows. `slices`: where rows are combined before
    windows are, once for all kinds. `kept`: on a stream, what stays between batches.
    """

    query: Query
    schema: pa.Schema
    frames: tuple[FramePlan, ...]
    states: tuple[State, ...]
    outputs: tuple[Output, ...]
    options: Options = BY_DEFAULT
    slices: tuple[Slices, ...] = ()
    kept: Kept | None = None

    def __repr__(self) -> str:
        counts = ((len(self.outputs), "output"), (len(self.states), "state"),
                  (len(self.frames), "frame"))  # fmt: skip
        counted = ", ".join(f"{n} {name}{'s' * (n != 1)}" for n, name in counts)
        return f"<plan: {counted}; {self.query!r}>"

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        return self.query.columns()

    @property
    def unit(self) -> int | None:
        """Nanoseconds of a step of the time column; None where time is a number."""
        return unit_of(self.schema.field(self.query.time).type)

    @property
    def combines(self) -> float:
        """Combines per row, about, all states together."""
        return sum(state.combines for state in self.states)

    def over(self, frame: FramePlan) -> list[State]:
        """The states of a frame."""
        return [state for state in self.states if state.frame == frame.number]

    def of(self, structure: Structure) -> list[State]:
        """The states that a structure keeps between batches."""
        return [state for state in self.states if state.structure == structure]

    def without_filling(self) -> Plan:
        """The same plan of windows that all have rows."""
        frames = (replace(each, frame=unfilled(each.frame)) for each in self.frames)
        return replace(self, query=self.query.without_filling(), frames=tuple(frames))

    def of_query(self, query: Query, schema: pa.Schema) -> Plan:
        """The same plan over rows of `schema` that come by another name or in another order."""
        return replace(self, query=query, schema=query.with_derived(schema))

    def over_rows(
        self, schema: pa.Schema, by: tuple[str, ...], states: Collection[State] | None = None
    ) -> Plan:
        """The same plan over rows of `schema` that have other keys; of some states only, where
        those are given: their frames, their outputs, and no results made of these."""
        if states is None:
            return self.of_query(replace(self.query, by=by), schema)
        chosen = {number: i for i, number in enumerate(sorted(s.number for s in states))}
        frames = {number: i for i, number in enumerate(sorted({s.frame for s in states}))}
        sliced = [each for each in self.slices if each.number in {s.slices for s in states}]
        slices: dict[int | None, int] = {each.number: i for i, each in enumerate(sliced)}
        outputs = [replace(o, state=chosen[o.state]) for o in self.outputs if o.state in chosen]
        asked = {output.name: self.query.aggregations[output.name] for output in outputs}
        query = replace(self.query, by=by, aggregations=asked, results={}, names=None)
        return replace(
            self.of_query(query, schema),
            frames=tuple(replace(self.frames[n], number=i) for n, i in frames.items()),
            states=tuple(
                replace(s, number=i, frame=frames[s.frame], slices=slices.get(s.slices))
                for s, i in ((self.states[n], i) for n, i in chosen.items())
            ),
            outputs=tuple(outputs),
            slices=tuple(replace(each.of(frames), number=slices[each.number]) for each in sliced),
        )


def needs_groups(plan: Plan) -> bool:
    """Whether rows of equal time have to be numbered as groups."""
    frames = (each.frame for each in plan.frames)
    by_group = any(isinstance(f, Groups) or (plan.query.ties and f.exclude) for f in frames)
    return by_group or any(state.kind == "groups" for state in plan.states)
