"""Definitions: what a call of `windowed(...)` asks for, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from sash.plan.about import About, about, concerning
from sash.plan.aggregation import TIME, Aggregation, shown
from sash.plan.arrow_expressions import types_of
from sash.plan.checks import (
    check_frame,
    check_key,
    check_known,
    check_time,
    check_types,
    check_unit,
    instead,
    taken,
)
from sash.plan.expressions import Call, Column, Expression, columns_of
from sash.plan.periodic import KIND, WINDOW, Periodic, unfilled
from sash.plan.spine import Spine
from sash.windows.frames import Calendar, Policy, Sliding


def _inside(e: Expression) -> str:
    """A representation without its brackets."""
    return repr(e)[1:-1]


@dataclass(frozen=True, repr=False)
class Query:
    """All of a call: keys, time, order, and the aggregations by the name of their column.

    `results`: columns that are computed from answers and from the row's own columns. With
    them, some aggregations do not come out themselves; `outputs` names all that does.
    `spine`: another table, whose rows have the answers; the input's rows are events.
    """

    by: tuple[str, ...]
    time: str
    aggregations: dict[str, Aggregation]
    descending: bool = False
    every: Periodic | None = None  # one answer per key and window of these, not one per row
    results: dict[str, Expression] = field(default_factory=dict)
    ties: tuple[str, ...] = ()  # columns that order rows of equal time
    names: tuple[str, ...] | None = None
    spine: Spine | None = None

    def __repr__(self) -> str:
        asked = ", ".join(f"{out}: {_inside(self.asked(out))}" for out in self.outputs)
        keys = f"by {', '.join(self.by)}, " if self.by else ""
        every = "" if self.every is None else f", {self.every}"
        spine = "" if self.spine is None else f", {self.spine}"
        return f"<{asked}; {keys}in order of {self.time}{every}{spine}>"

    def asked(self, out: str) -> Expression:
        """The definition of an output: an aggregation or an expression over some."""
        return self.results[out] if out in self.results else self.aggregations[out]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of answers, in their order."""
        return tuple(self.aggregations) if self.names is None else self.names

    @property
    def derived(self) -> dict[str, Expression]:
        """The columns that are computed from others before anything else, equal ones once."""
        found: dict[str, Expression] = {}
        for a in self.aggregations.values():
            found |= a.derived
            if TIME in a.reads:
                found[TIME] = Call("time_number", (Column(self.time),))
        return found

    def of_derived(self) -> Query:
        """The definition over rows that have the columns that are derived."""
        asked = {out: replace(a, derived={}) for out, a in self.aggregations.items()}
        return replace(self, aggregations=asked)

    def output_of(self, name: str) -> str:
        """The output that an aggregation is, or that is computed from it."""
        read_by = (out for out, result in self.results.items() if name in columns_of(result))
        return name if name in self.outputs else next(read_by, name)

    def without_filling(self) -> Query:
        """The definition whose windows of `every` all have rows."""
        if self.every is None or not self.every.fills:
            return self
        asked = {out: replace(a, frame=unfilled(a.frame)) for out, a in self.aggregations.items()}
        return replace(self, every=self.every.unfilled, aggregations=asked)

    def needed(self) -> Iterator[tuple[About, str]]:
        """The input columns that are needed, each with what needs it."""
        derived = self.derived
        yield from ((About("key", name), name) for name in self.by)
        yield from ((About("time", name), name) for name in (self.time, *self.ties))
        for out, a in self.aggregations.items():
            subject = About("output", self.output_of(out))
            for name in a.reads:
                inputs = columns_of(derived[name]) if name in derived else [name]
                yield from ((subject, name) for name in inputs)
        own = () if self.spine is not None else self.own()
        yield from ((About("output", out), name) for out, name in own)

    def own(self) -> Iterator[tuple[str, str]]:
        """The columns of the row itself, in the input or in the spine, that results read, each with
        the result that reads it."""
        for out, result in self.results.items():
            read = (name for name in columns_of(result) if name not in self._answered)
            yield from ((out, name) for name in read)

    def columns(self) -> list[str]:
        """The input columns that are needed, each once."""
        return list(dict.fromkeys(name for _, name in self.needed()))

    @property
    def null_times(self) -> bool:
        """Whether rows without a time have a place: before all others, as in Spark."""
        frames = (a.frame for a in self.aggregations.values())
        by_clock = any(isinstance(frame, Sliding | Calendar) for frame in frames)
        return self.every is None and not by_clock

    @property
    def window(self) -> tuple[str, ...]:
        """With `every`, the columns that say which window a row of answers is of."""
        return () if self.every is None else self.every.columns

    @property
    def _answered(self) -> set[str]:
        """The names that results read and that are no columns of the input."""
        return {*self.aggregations, *self.window}

    def sources(self, out: str) -> list[str]:
        """The columns of the input that a column of the output is made of."""
        if out in self.results:
            read = columns_of(self.results[out])
            return [source for name in read for source in self.sources(name)]
        if out in self.aggregations:
            a = self.aggregations[out]
            return [source for name in a.columns for source in a.inputs(name)]
        return [self.time] if out in self.window else [out]

    def with_derived(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the input with the columns that are derived."""
        found = types_of(self.derived, schema)
        return pa.schema([*schema, *(pa.field(name, kind) for name, kind in found.items())])

    def check(self, schema: pa.Schema) -> None:
        """Raise an error that names the column, what is wrong and what to do."""
        for where, name in self.needed():
            check_known(name, schema.names, where)
        with about("time", self.time):
            check_time(self.time, schema.field(self.time).type)
        rows = schema if self.spine is None else self._check_spine(schema)
        for name in self.by:
            with about("key", name):
                check_key(name, schema.field(name).type)
                if name in self.window:
                    has = f"the key {name!r} has the name of a column of every"
                    raise ValueError(f"{has}: rename it")
        for out in dict.fromkeys((*self.outputs, *self.aggregations)):
            if out in (rows.names if self.every is None else self.window + self.by):
                raise taken(out)
        for out, a in self.aggregations.items():
            check_types(self.output_of(out), a.derived, schema)
        full = self.with_derived(schema)
        for name, a in self.aggregations.items():
            out = self.output_of(name)
            with about("output", out):
                self._check_one(out, a, full)
        self._check_results()

    def _check_spine(self, schema: pa.Schema) -> pa.Schema:
        """The spine's columns, instead of the input's."""
        assert self.spine is not None
        if self.every is not None or self.descending:
            asked = "every" if self.every is not None else "a descending order"
            raise ValueError(f"windows at the times of a spine have no meaning with {asked}")
        self.spine.check(self.by, self.time, schema)
        for out, name in self.own():
            check_known(name, self.spine.schema.names, About("output", out, of_spine=True))
        return self.spine.schema

    def _check_one(self, out: str, a: Aggregation, schema: pa.Schema) -> None:
        if a.frame is None:
            raise ValueError(f'{out}: {a} has no window; add .over("1 hour"), say')
        for name in a.columns[:1]:
            kind = schema.field(name).type
            if not a.accepts(kind):
                raise TypeError(
                    f"{out}: {a.name} takes {a.takes}, but {shown(name)} is {kind}"
                    f"{instead(shown(name), kind)}"
                )
        if a.condition is not None:
            kind = schema.field(a.condition).type
            if not pa.types.is_boolean(kind):
                raise TypeError(f"{out}: {shown(a.condition)} is {kind}, not true or false")
            if isinstance(a.frame, Policy):
                raise TypeError(f"{out}: a policy looks at all rows: filter them before the call")
        if a.how == "rank" and self.every is not None:
            raise ValueError(f"{out}: a window has no row of its own that could have a rank")
        check_unit(f"{out}: a parameter of {a}", a.needs_duration, self.time, schema)
        check_frame(out, a.frame, self.time, schema)

    def _check_results(self) -> None:
        if self.every is None:
            return
        for out, result in self.results.items():
            for name in columns_of(result):
                if name not in self._answered:
                    problem = ValueError(
                        f"{out}: a window has no row of its own to take {name} from; with every, "
                        "results are made of aggregations, window_start and window_end"
                    )
                    raise concerning(problem, About("output", out))

    def answer_types(self, schema: pa.Schema) -> dict[str, pa.DataType | None]:
        """The types of all aggregations' answers, where they are known beforehand."""
        full = self.with_derived(schema)
        return {
            out: a.result([full.field(name).type for name in a.columns])
            for out, a in self.aggregations.items()
        }

    def output_types(
        self, schema: pa.Schema, answers: Mapping[str, pa.DataType | None]
    ) -> dict[str, pa.DataType | None]:
        """The types of the columns that come out, from those of the answers."""
        time = schema.field(self.time).type
        rows = schema if self.spine is None else self.spine.schema
        fields = {field.name: field.type for field in rows} | dict.fromkeys(WINDOW, time)
        fields |= {KIND: pa.string()} if KIND in self.window else {}
        fields |= {out: kind for out, kind in answers.items() if kind is not None}
        found = dict(answers)
        for out, result in self.results.items():
            unknown = any(name in answers and answers[name] is None for name in columns_of(result))
            kinds = {} if unknown else check_types(out, {out: result}, pa.schema(fields))
            found[out] = kinds.get(out)
        return {out: found[out] for out in self.outputs}


def output_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The columns that come out; an answer's type that is not known beforehand is null."""
    kinds = query.output_types(schema, query.answer_types(schema))
    answers = [pa.field(out, kind or pa.null()) for out, kind in kinds.items()]
    if query.every is None:
        return pa.schema([*(schema if query.spine is None else query.spine.schema), *answers])
    time = schema.field(query.time).type
    keys = [schema.field(name) for name in query.by]
    kinds = {name: pa.string() if name == KIND else time for name in query.window}
    return pa.schema([*keys, *kinds.items(), *answers])
