"""`windowed` and `features`: windows over a table of any kind, one definition for all."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, Unpack

import pyarrow as pa

from sash import functions as sf
from sash.conversions import Source, computable, package_of, source_of
from sash.engine.table import aggregate
from sash.engine.trial import try_monoids
from sash.options import (
    Settings,
    check_needed,
    check_options,
    names_of,
    planning_of,
    spark_kind,
)
from sash.plan.definition import Query
from sash.plan.explain import Explanation, explain
from sash.plan.expressions import Expression
from sash.plan.lower import lowered
from sash.plan.periodic import Every
from sash.plan.plan import Plan, over_table
from sash.plan.planner import plan_of
from sash.windows import Closed

if TYPE_CHECKING:
    from sash.as_of import AsOf

S = TypeVar("S")
T = TypeVar("T")


class Windowed(Generic[T]):
    """A table, its keys and its time: `.agg(name=sf.max("x").over("1 hour"))`."""

    def __init__(
        self,
        data: T,
        by: Sequence[str],
        time: str | Sequence[str],
        options: Settings,
        descending: bool = False,
    ) -> None:
        self._data, self._by = data, tuple(by)
        self._time, *ties = (time,) if isinstance(time, str) else time
        self._ties = tuple(ties)
        self._changes = options.get("emit") == "changes"
        kept = {k: v for k, v in options.items() if k != "emit" or not self._changes}
        self._options: dict[str, Any] = kept
        self._descending = descending
        self._every: Every | None = None
        self._source: Source | None = None
        if package_of(data) != "pyspark":
            self._source = source_of(data, "windowed takes a Spark DataFrame,")
            check_options(self._options, "a table in process")

    def every(
        self, slide: Any = None, *, offset: Any = 0, closed: Closed = "left", fill: bool = False
    ) -> Windowed[T]:
        """One row per key and window, the windows a `slide` apart, as Spark's window() gives.

        Windows have the size that `.over(...)` gives, edges at offset + whole slides since 1970;
        a key has those that have rows of it. With `fill` it has windows without rows too, from
        its first to its last. `closed`: which ends are included, [window_start, window_end) by
        default. A slide of `sash.calendar(…)` gives windows of the calendar: days, months, …
        in a time zone.

        A frame `sash.sliding(size, slide)` has a slide of its own. Where a call has windows of
        several sizes or slides, the column `window` names those of a row, and columns of others
        are null in it.

        With `.every(sash.rows(10))` there is a window of the last n rows, `.over(sash.rows(n))`,
        after every 10 rows of a key; window_start and window_end are the times of its first
        and its last row.

        With `sash.windowed(…, emit="changes")` a window comes out only if its answers differ
        from those of the window before, or if there is none, as CQL's IStream.

        >>> import pyarrow as pa, sash
        >>> from sash import functions as sf
        >>> table = pa.table({"t": [0, 1, 2, 3], "x": [5, 3, 4, 1]})
        >>> hi = sf.max("x").over(sash.rows(3))
        >>> sash.windowed(table, time="t").every(sash.rows(2)).agg(hi=hi).to_pylist()[1]
        {'window_start': 1, 'window_end': 3, 'hi': 4}
        """
        if self._descending:
            raise ValueError("every: windows by the clock have no descending order")
        found = copy.copy(self)
        found._every = Every(slide, offset, closed, fill, self._changes)
        return found

    def at(
        self,
        spine: S,
        by: str | Sequence[str] | None = None,
        *,
        time: str | None = None,
        closed: Closed = "left",
    ) -> AsOf[S]:
        """Windows at the times of another table, the spine: its rows, in their order and with
        their columns, have one extra column per aggregation of the events, the rows of `data`.

        `by`, `time`: the names of the keys and of the time in the spine, where they are other
        than those of the events. A spine row at t has the events of [t - w, t): an event at
        the very moment is not in, so that nothing leaks from the future. `closed` overrides
        this for all frames, and `.over(…, closed=…)` for one. `sash.rows(50)` is the last 50
        events before t. A key without events has a count of 0, and nulls.

        O(log d) per spine row for each frame, d the events between two spine rows, besides
        what the algorithms take for the events in windows.

        >>> import pyarrow as pa, sash
        >>> from sash import functions as sf
        >>> events = pa.table({"u": [1, 1, 2], "t": [10, 20, 20], "x": [5, 3, 4]})
        >>> labels = pa.table({"user": [2, 1, 1], "asked": [25, 20, 21]})
        >>> week = sash.range_between(-7, 0)
        >>> found = sash.windowed(events, "u", time="t").at(labels, "user", time="asked").agg(
        ...     n=sf.count().over(week), hi=sf.max("x").over(sash.rows(2)))
        >>> found.column("n").to_pylist(), found.column("hi").to_pylist()
        ([1, 0, 1], [4, 5, 5])
        """
        from sash.as_of import AsOf, At, Events

        if self._every is not None or self._descending:
            asked = "every" if self._every is not None else "descending=True"
            raise ValueError(f"at: windows at the times of a spine have no meaning with {asked}")
        names = self._by if by is None else (by,) if isinstance(by, str) else tuple(by)
        at = At(names, self._time if time is None else time, closed)
        return AsOf(Events(self._data, self._source, self._options, self.query), spine, at)

    def agg(self, *unnamed: Never, **aggregations: Expression) -> T:
        """The table with one extra column per aggregation, of the same kind as the input.

        After `every`: one row per key and window, with window_start and window_end.
        """
        query = self.query(*unnamed, **aggregations)
        if self._source is None:
            from sash.spark import batch, streaming

            data: Any = self._data
            check_options(self._options, spark_kind(data))
            on_spark = streaming if data.isStreaming else batch
            return on_spark.aggregate(data, query, **self._options)
        check_needed(query, self._source)
        rows = computable(self._source.table(query.columns()))
        try_monoids(query, rows)
        found = aggregate(self._plan(query, rows.schema), rows)
        if query.every is not None:
            return self._source.like(found, query.sources)
        return self._source.with_answers(found, query.outputs, query.sources)

    def explain(
        self, *, rows_per_second: float | None = None, keys: int = 1, **aggregations: Expression
    ) -> Explanation:
        """The plan that `agg` would run, in words: what is shared, the algorithm and why; on Spark
        also the shuffle and whether keys are split, on a stream what is kept and when rows
        come out. Nothing runs.

        A streaming DataFrame, told how many rows come per second and of how many keys, says
        how large the state gets, what is written and how many cores it takes, about.
        """
        query = self.query(**aggregations)
        if self._source is None:
            from sash.spark import batch, streaming

            data: Any = self._data
            check_options(self._options, spark_kind(data))
            if not data.isStreaming:
                return batch.explain(data, query, **self._options)
            rates = None if rows_per_second is None else (rows_per_second, keys)
            return streaming.explain(data, query, rates, **self._options)
        return explain(self.plan(**aggregations))

    def plan(self, **aggregations: Expression) -> Plan:
        """The plan that `agg` would run in process, as a record."""
        query, source = self.query(**aggregations), self._in_process()
        check_needed(query, source)
        return self._plan(query, computable(source.schema(query.columns()).empty_table()).schema)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of the data, as a pyarrow Table."""
        return computable(self._in_process().table(columns))

    def _in_process(self) -> Source:
        if self._source is None:
            raise TypeError(
                "this is for tables in process, not for a Spark DataFrame: take some of its rows, "
                "as in df.limit(40).toPandas()"
            )
        return self._source

    def _plan(self, query: Query, schema: pa.Schema) -> Plan:
        """The plan over a table in process of these columns."""
        return plan_of(query, schema, over_table(query, planning_of(self._options)))

    def query(self, *unnamed: Never, **aggregations: Expression) -> Query:
        """The definition that `agg` would run."""
        if unnamed:
            raise TypeError(
                'agg takes aggregations by name, as in .agg(total=sf.sum("x").over("1 hour"))'
            )
        if not aggregations:
            raise TypeError('agg needs at least one aggregation: n=sf.count().over("1 hour"), say')
        if self._changes and self._every is None:
            raise ValueError('emit="changes" is for windows that follow each other: add .every(…)')
        found = lowered(aggregations)
        every, asked = None, found.aggregations
        if self._every is not None:
            every, asked = self._every.of(asked)
        given = (self._descending, every, found.results, self._ties, found.names)
        return Query(self._by, self._time, asked, *given)

    @property
    def _kind(self) -> str:
        return "Spark" if self._source is None else self._source.name

    @property
    def _slide(self) -> str:
        """How far windows are apart, in words."""
        return "window" if self._every is None or not self._every.slide else str(self._every.slide)

    def __repr__(self) -> str:
        keys = f" by {', '.join(self._by)}" if self._by else ""
        time = f", time {self._time}" if self._time else ""
        slide = f", one row every {self._slide}" if self._every is not None else ""
        return (
            f"<sash.windowed over a {self._kind} table{keys}{time}{slide}: "
            'add .agg(name=sf.max("column").over("1 hour"))>'
        )

    def _repr_html_(self) -> str:
        """The call in a notebook: the table, the part each of its columns plays, what to add."""
        data: Any = self._data
        columns = data.columns if self._source is None else self._source.names()
        roles = {**dict.fromkeys(self._by, "key"), self._time: "time"}
        chips = " ".join(_chip(str(name), roles.get(name, "")) for name in columns)
        lost = [name for name in roles if name and name not in columns]
        wrong = f"<p><b>No column {escape(', '.join(lost))}.</b></p>" if lost else ""
        streaming = "streaming " * bool(getattr(data, "isStreaming", False))
        slide = f", one row every {escape(self._slide)}" if self._every is not None else ""
        rows = f", {len(data):,} rows" if hasattr(data, "__len__") else ""
        hint = '.agg(hi=sf.max("column").over("1 hour"))'
        return (
            '<div style="font: 14px/1.6 system-ui, sans-serif; max-width: 46rem">'
            f"<b>sash.windowed</b> over a {streaming}{self._kind} table{rows}{slide}"
            f'<div style="margin: .4em 0">{chips}</div>{wrong}'
            f'<span style="opacity: .7">Add <code>{escape(hint)}</code>, or '
            "<code>.explain(…)</code> to see what would run.</span></div>"
        )


def _chip(name: str, role: str) -> str:
    """A column's name for a notebook; a key or the time stands out."""
    share = 26 if role else 9
    said = f' <small style="opacity: .7">{role}</small>' if role else ""
    style = (
        f"background: color-mix(in srgb, #2a6fd0 {share}%, transparent); border-radius: .4em; "
        "padding: .1em .5em; display: inline-block; margin: .1em 0"
    )
    return f'<span style="{style}">{escape(name)}{said}</span>'


def windowed(
    data: T,
    by: str | Sequence[str] = (),
    *,
    time: str | Sequence[str] = "",
    descending: bool = False,
    **options: Unpack[Settings],
) -> Windowed[T]:
    """Windows over `data` by key and time; answers come in the kind that `data` is of.

    `data`: a Spark, pandas or polars DataFrame, a polars LazyFrame (collected by the call), a
    pyarrow Table, RecordBatch or RecordBatchReader, a DuckDB relation, or any object with
    `__arrow_c_stream__`, for which a pyarrow Table comes back.

    `time`: the column that orders the rows; further ones order rows of equal time. Frames by a
    duration look at the first; groups, ranks and what is excluded take rows that agree in all of
    them for peers. Rows without a time come before all others, as in Spark.

    `descending`: as SQL's ORDER BY time DESC, so that what precedes a row is later than it.

    A pyspark.sql.Window spec as the frame brings its own keys and time. Options, for Spark
    DataFrames: `partitions`, how many; `split`, whether a key that dominates, or all rows
    where there is no key, may be cut at times so that every core has work. For streaming
    ones: `emit`, "final", each row when the watermark has passed all that its windows reach,
    "arrival", at once, or "update", the values of keys, see sash.serve; `late`, "count" or "side",
    with which late rows come out too, marked in a column `late`; `history`, a batch DataFrame of
    earlier rows, up to the time `cut`, that the state is built from; `checkpoint`, where the query
    has its checkpoint: a definition that its state is not of is refused by the call, before the
    query starts; `idle`, `lead`, `shards` and `cache`, see sash.spark.streaming.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf
    >>> table = pa.table({"t": [1, 2, 4], "x": [5, 3, 4]})
    >>> hi = sf.max("x").over(sash.range_between(-2, 0))
    >>> sash.windowed(table, time="t").agg(hi=hi).column("hi").to_pylist()
    [5, 5, 4]
    """
    times = time if isinstance(time, str) else names_of(time, "time")
    return Windowed(data, names_of(by, "by"), times, options, descending=descending)


def features(
    data: T,
    by: str | Sequence[str],
    time: str,
    aggregations: Mapping[str, Sequence[str]],
    windows: Sequence[str],
) -> T:
    """Many windows at once: columns named `amount_sum_7d` for each column, name and window.

    >>> import pyarrow as pa, sash, datetime as dt
    >>> days = [dt.datetime(2024, 1, d) for d in (1, 2, 9)]
    >>> table = pa.table({"u": [1, 1, 1], "ts": days, "x": [1.0, 2.0, 3.0]})
    >>> sash.features(table, "u", "ts", {"x": ["sum"]}, ["7d"]).column("x_sum_7d").to_pylist()
    [1.0, 3.0, 5.0]
    """
    found = {}
    for column, names in aggregations.items():
        for name in names:
            if name not in sf.__all__:
                known = ", ".join(sf.__all__)
                raise ValueError(f"{column}: no aggregation {name!r}; there are {known}")
            for window in windows:
                found[f"{column}_{name}_{window}"] = getattr(sf, name)(column).over(window)
    return windowed(data, by, time=time).agg(**found)
