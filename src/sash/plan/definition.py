"""Definitions: what a call of `windowed(...)` asks for, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import pyarrow as pa

from sash.monoids.categories import ByCategory, Percentile
from sash.monoids.ends import First, Last
from sash.monoids.monoid import Monoid
from sash.monoids.sums import Count
from sash.plan.about import About, about, concerning
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
from sash.plan.expressions import Call, Column, Expression, as_condition, as_input, columns_of, walk
from sash.plan.periodic import KIND, WINDOW, Periodic, unfilled
from sash.plan.spine import Spine
from sash.windows import Frame, as_frame, shaped
from sash.windows.frames import Calendar, Delta, Policy, Sliding, Until
from sash.windows.shapes import Shape

ResultType = Callable[[list[pa.DataType]], pa.DataType | None]
"""The type of an aggregation's answers, from its columns' types; None: as they come."""

TIME = "@time"
"""Instead of a column: the row's time, in nanoseconds since 1970 as an integer where the
time column is a timestamp or a date; where it is a number, that number."""


FROM_ROWS = {
    "count": Count(), "first": First(ignore_nulls=False), "last": Last(ignore_nulls=False)
}  # fmt: skip
"""The monoids of aggregations for which tables need only the bounds of a window."""

DERIVED = "= "
"""The prefix of columns that are computed from others before anything else."""


@dataclass(frozen=True, eq=False, repr=False)
class Aggregation(Expression):
    """An aggregation of columns, to be given a frame with `.over(...)`.

    As an expression it is its answer for a row. A column may be given as an expression: then
    its name is the expression's text, and `derived` has the expression.

    `how`: "combine" runs `monoid`; "count", "first" and "last" follow from the bounds
    alone; "argument" combines measures and takes the second column's value by row;
    "distinct" and "percentile" keep a multiset of the window.

    `needs_duration`: its parameters are durations (True), or numbers in the unit of the
    time column (False). `condition`: a column that says which rows are aggregated.
    `least`: an answer is null where the window has fewer rows that are not null. `step`: an
    answer for every `step`-th row of a key, null for others.
    """

    name: str
    columns: tuple[Any, ...]  # names, once it is made; expressions are given too
    monoid: Monoid | None = None
    how: str = "combine"
    result: ResultType = lambda kinds: None
    accepts: Callable[[pa.DataType], bool] = lambda kind: True
    takes: str = "any column"
    frame: Frame | None = None
    share: float = 0.5  # of a percentile
    interpolation: str = "linear"  # of a percentile between two values
    needs_duration: bool | None = None
    place: int = 1  # of the n-th row, from the end where it is negative
    function: Callable[..., Any] | None = None  # of all values of a window
    condition: str | None = None
    least: int | None = None
    step: int | None = None
    derived: Mapping[str, Expression] = field(default_factory=dict)
    in_nanoseconds: bool = False  # times that come as numbers do so in nanoseconds, as TIME's
    on_trial: bool = False  # a monoid of the user's own, whose laws are tried on a few rows

    def __post_init__(self) -> None:
        made = dict(self.derived)
        names = tuple(_name(column, made, self.name) for column in self.columns)
        object.__setattr__(self, "columns", names)
        object.__setattr__(self, "derived", made)

    def over(
        self,
        frame: Any,
        closed: Any = None,
        *,
        min_periods: int | None = None,
        step: int | None = None,
        **shape: Unpack[Shape],
    ) -> Aggregation:
        """The aggregation over a frame: a duration such as "24 hours", `sash.rows(50)`, …

        `closed`: which ends of a duration are included: "both" (default), "right", "left" or
        "neither". `exclude`: without the "current row", its "group" of peers, or its "ties".
        `delay`: the window ends so much before the row. `center`: the row is in its middle.
        `most`: of a window's rows at most this many, the youngest. `peers=False`: the window ends
        at the row, not at its peers. `min_periods`: null where fewer rows are not null. `step`: an
        answer for every `step`-th row of a key, from its first on; null for the others.

        >>> import pyarrow as pa, sash
        >>> from sash import functions as sf
        >>> table = pa.table({"t": [1, 2, 2, 3, 5], "x": [1, 2, 3, 4, 5]})
        >>> def over(frame, **options):
        ...     asked = sf.sum("x").over(frame, **options)
        ...     return sash.windowed(table, time="t").agg(y=asked)["y"].to_pylist()
        >>> two = sash.range_between(-1, 0)
        >>> over(two)
        [1, 6, 6, 9, 5]
        >>> over(two, exclude="current row"), over(two, exclude="group")
        ([None, 4, 3, 5, None], [None, 1, 1, 5, None])
        >>> over(two, delay=1), over(two, peers=False)
        ([None, 1, 1, 6, 4], [1, 3, 6, 9, 5])
        >>> over(sash.rows(3), center=True), over(sash.rows(3), min_periods=3)
        ([3, 6, 9, 12, 9], [None, None, 6, 9, 12])
        >>> over(two, most=1), over(two, step=2)
        ([1, 3, 3, 4, 5], [1, None, 6, None, 5])
        """
        given = frame_of(frame, closed)
        if shape:
            if not isinstance(given, Frame):
                raise TypeError(f"{', '.join(shape)}: give a frame of Sash's, not {frame!r}")
            given = shaped(given, **shape)
        made = dict(self.derived)
        if isinstance(given, Until) and given.column is None:  # of what is aggregated
            if not self.columns:
                raise TypeError(f"{self}: until needs a column: sash.until(predicate, column)")
            given = replace(given, column=self.columns[0])
        elif isinstance(given, Until | Delta):
            given = replace(given, column=_name(given.column, made, type(given).__name__.lower()))
        for name, value in (("min_periods", min_periods), ("step", step)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        return replace(self, frame=given, least=min_periods, step=step, derived=made)

    def where(self, condition: Any) -> Aggregation:
        """The aggregation of the rows for which a condition is true, as SQL's FILTER.

        The window stays what it is; other rows of it are not aggregated. The condition is an
        expression or a string of SQL; a second one is added to the first.

        >>> from sash import functions as sf
        >>> print(sf.sum("amount").where("status = 'ok'"))
        sum(amount) where status = 'ok'
        """
        given = as_condition(condition)
        made = dict(self.derived)
        if self.condition is not None:
            given = Call("and", (made.get(self.condition, Column(self.condition)), given))
        name = _name(given, made, self.name)
        return replace(self, condition=name, derived=made)

    def inputs(self, name: str) -> list[str]:
        """The input columns that one of its columns is made of."""
        return columns_of(self.derived[name]) if name in self.derived else [name]

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that are read: what is aggregated, the condition, what the frame reads."""
        condition = () if self.condition is None else (self.condition,)
        return (*self.columns, *condition, *(() if self.frame is None else self.frame.columns))

    def by(self, category: Any) -> Aggregation:
        """The aggregation for each category of a column, as a map from category to answer.

        Categories come in the order of their first row in the window; rows without one are
        left out. A combine copies both maps, so it costs as much as there are categories.

        >>> from sash import functions as sf
        >>> print(sf.sum("amount").by("card_type"))
        sum_by(amount, card_type)
        """
        made = ByCategory(self.combined(), len(self.columns))
        return replace(
            self, name=f"{self.name}_by", columns=(*self.columns, category), monoid=made,
            how="combine", result=_as_map(self),
        )  # fmt: skip

    def combined(self) -> Monoid:
        """The monoid that is combined, also where a table has a faster way."""
        if self.monoid is not None:
            return self.monoid
        if self.how == "percentile":
            return Percentile(self.share, self.interpolation)
        if self.how in FROM_ROWS:
            return FROM_ROWS[self.how]
        raise TypeError(
            f"{self} looks rows up by their place and combines nothing: it cannot be computed by "
            "category or over a policy"
        )

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(shown(name) for name in self.columns)})"
        return text if self.condition is None else f"{text} where {shown(self.condition)}"

    def __repr__(self) -> str:
        if self.frame is None:
            return f'<{self}: add .over("1 hour")>'
        least = "" if self.least is None else f", of {self.least} values at least"
        step = "" if self.step is None else f", every {self.step} rows"
        return f"<{self} over {self.frame}{least}{step}>"


def _name(column: Any, derived: dict[str, Expression], where: str) -> str:
    """The name of a column that is given by name or as an expression, which is noted."""
    column = as_input(column, where)
    if isinstance(column, str):
        return column
    if any(isinstance(part, Aggregation) for part in walk(column)):
        raise TypeError(
            f"{column} is known only after rows are aggregated: an aggregation of it takes a "
            "second call of windowed, over the result of the first"
        )
    name = f"{DERIVED}{column}"
    derived[name] = column
    return name


def shown(name: str) -> str:
    """A column's name for people.

    >>> shown("= price * size")
    'price * size'
    """
    return name.removeprefix(DERIVED)


def _inside(e: Expression) -> str:
    """A representation without its brackets."""
    return repr(e)[1:-1]


def _as_map(a: Aggregation) -> ResultType:
    def result(kinds: list[pa.DataType]) -> pa.DataType:
        value = a.result(kinds[:-1])
        if value is None:
            raise TypeError(f"{a}.by: give the type of its answers, as in sf.apply(…, returns=…)")
        return pa.map_(kinds[-1], value)

    return result


def frame_of(frame: Any, closed: Any = None) -> Any:
    """A frame, or a pyspark WindowSpec as it is, which sash.spark reads."""
    if type(frame).__module__.startswith("pyspark."):
        return frame
    return as_frame(frame) if closed is None else as_frame(frame, closed=closed)


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
