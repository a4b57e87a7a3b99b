"""Definitions: what a call of `windowed(...)` asks for, checked before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sash.monoids.categories import ByCategory, Percentile
from sash.monoids.ends import First, Last
from sash.monoids.monoid import Monoid
from sash.monoids.sums import Count
from sash.plan.types import number_type
from sash.windows import Frame, as_frame
from sash.windows.frames import Delta, Policy, Sliding, Until

ResultType = Callable[[list[pa.DataType]], pa.DataType | None]
"""The type of an aggregation's answers, from its columns' types; None: as they come."""

TIME = "@time"
"""In the place of a column: the row's time, in nanoseconds since 1970 as an integer where the
time column is a timestamp or a date; where it is a number, that number."""


@dataclass(frozen=True)
class Aggregation:
    """An aggregation of columns, to be given a frame with `.over(...)`.

    `how`: "combine" runs `monoid`; "count", "first" and "last" follow from the bounds
    alone; "argument" combines measures and takes the second column's value by row;
    "distinct" and "percentile" keep a multiset of the window.

    `needs_duration`: its parameters are durations (True), or numbers in the unit of the
    time column (False).
    """

    name: str
    columns: tuple[str, ...]
    monoid: Monoid | None = None
    how: str = "combine"
    result: ResultType = lambda kinds: None
    accepts: Callable[[pa.DataType], bool] = lambda kind: True
    takes: str = "any column"
    frame: Frame | None = None
    share: float = 0.5  # of a percentile
    interpolation: str = "linear"  # of a percentile between two values
    needs_duration: bool | None = None

    def over(self, frame: Any, closed: Any = None) -> Aggregation:
        """The aggregation over a frame: a duration such as "24 hours", `sash.rows(50)`, …"""
        given = frame_of(frame, closed)
        if isinstance(given, Until) and given.column is None:  # of what is aggregated
            if not self.columns:
                raise TypeError(f"{self}: until needs a column: sash.until(predicate, column)")
            given = replace(given, column=self.columns[0])
        return replace(self, frame=given)

    def by(self, category: str) -> Aggregation:
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
        """What is combined, also where rows of a table have a quicker way."""
        if self.monoid is not None:
            return self.monoid
        if self.how == "percentile":
            return Percentile(self.share, self.interpolation)
        if self.how == "count":
            return Count()
        return First(ignore_nulls=False) if self.how == "first" else Last(ignore_nulls=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"


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


WINDOW = ("window_start", "window_end")


@dataclass(frozen=True)
class Query:
    """All of a call: keys, time, order, and the aggregations by the name of their column."""

    by: tuple[str, ...]
    time: str
    aggregations: dict[str, Aggregation]
    descending: bool = False
    every: Sliding | None = None  # one answer a key and window of these, instead of one a row

    def columns(self) -> list[str]:
        """The input columns that are needed, each once."""
        wanted = [*self.by, self.time]
        for a in self.aggregations.values():
            wanted += [*a.columns, *(a.frame.columns if a.frame else ())]
        return list(dict.fromkeys(wanted))

    def check(self, schema: pa.Schema) -> None:
        """Raise an error that names the column, what is wrong and what to do."""
        for name in (*self.by, self.time):
            known(name, schema)
        check_time(self.time, schema.field(self.time).type)
        for out, a in self.aggregations.items():
            if out in (schema.names if self.every is None else WINDOW + self.by):
                raise ValueError(f"{out}: there is a column of that name already; choose another")
            self._check_one(out, a, schema)

    def _check_one(self, out: str, a: Aggregation, schema: pa.Schema) -> None:
        if a.frame is None:
            raise ValueError(f'{out}: {a} has no window; add .over("1 hour"), say')
        for name in (*a.columns, *a.frame.columns):
            known(name, schema)
        for name in a.columns[:1]:
            kind = schema.field(name).type
            if not a.accepts(kind):
                raise TypeError(f"{out}: {a.name} takes {a.takes}, but {name} is {kind}")
        check_unit(f"{out}: a parameter of {a}", a.needs_duration, self.time, schema)
        check_frame(out, a.frame, self.time, schema)

    def result_type(self, out: str, schema: pa.Schema) -> pa.DataType | None:
        """The type of an aggregation's answers, where it is known beforehand."""
        a = self.aggregations[out]
        return a.result([schema.field(name).type for name in a.columns])


def known(name: str, schema: pa.Schema) -> None:
    """Raise KeyError, with the nearest names, if there is no such column."""
    if name not in schema.names:
        near = difflib.get_close_matches(name, schema.names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no column {name!r}; there are {', '.join(schema.names)}{hint}")


def check_time(name: str, kind: pa.DataType) -> None:
    """Raise TypeError if a column can not be the time."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    moment = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if not (number or moment) or pa.types.is_float16(kind):
        raise TypeError(
            f"the time column {name!r} is {kind}; it must be a timestamp, a date or a number: "
            "cast it first"
        )


def check_frame(out: str, frame: Frame, time: str, schema: pa.Schema) -> None:
    """Raise TypeError if a frame does not fit the time column or its own."""
    check_unit(f"{out}: {frame}", frame.needs_duration, time, schema)
    for name in frame.columns:
        if isinstance(frame, Delta) and number_type(schema.field(name).type) is None:
            raise TypeError(
                f"{out}: delta takes a number or a time, but {name} is {schema.field(name).type}"
            )
        is_boolean = pa.types.is_boolean(schema.field(name).type)
        if isinstance(frame, Until) and frame.predicate is None and not is_boolean:
            raise TypeError(
                f"{out}: until takes a boolean column, but {name} is {schema.field(name).type}"
            )
    if isinstance(frame, Policy) and frame.of is not None and not isinstance(frame.of, Monoid):
        raise TypeError(f"{out}: the policy's `of` must be a monoid, not {frame.of!r}")


def check_unit(what: str, needs_duration: bool | None, time: str, schema: pa.Schema) -> None:
    """Raise TypeError if a duration meets a time column of numbers, or a number one of times."""
    kind = schema.field(time).type
    is_time = pa.types.is_temporal(kind)
    if needs_duration is True and not is_time:
        raise TypeError(
            f"{what} is a duration, but the time column {time!r} is {kind}: "
            "give a number in its unit, as in sash.range_between(-3600, 0)"
        )
    if needs_duration is False and is_time:
        raise TypeError(
            f"{what} is a plain number, but the time column {time!r} is {kind}: "
            'give a duration, as in "1 hour"'
        )


def output_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The columns that come out; an answer's type that is not known beforehand is null."""
    answers = [
        pa.field(out, query.result_type(out, schema) or pa.null()) for out in query.aggregations
    ]
    if query.every is None:
        return pa.schema([*schema, *answers])
    time = schema.field(query.time).type
    keys = [schema.field(name) for name in query.by]
    return pa.schema([*keys, *(pa.field(name, time) for name in WINDOW), *answers])
