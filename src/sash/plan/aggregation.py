"""Aggregations: which monoid of which columns over which frame, as `sash.functions` give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import pyarrow as pa

from sash.monoids.categories import ByCategory, Percentile
from sash.monoids.ends import First, Last
from sash.monoids.monoid import Monoid
from sash.monoids.sums import Count
from sash.plan.expressions import Call, Column, Expression, as_condition, as_input, columns_of, walk
from sash.windows import Frame, as_frame, shaped
from sash.windows.frames import Delta, Until
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
