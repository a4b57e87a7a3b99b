"""`stream`: windows over rows as they come, in process, the state in memory or in a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Never, TypeVar

import numpy as np
import pyarrow as pa

from sash import stores
from sash.conversions import computable, source_of
from sash.engine.answers import raw_types
from sash.engine.columns import answers_as
from sash.engine.order import ticks
from sash.engine.stream.definition import LATE, StreamDefinition
from sash.engine.stream.live import LiveStream, kept_schema
from sash.engine.stream.options import Late, StreamOptions
from sash.engine.stream.served import METADATA, description
from sash.engine.stream.shard import Step
from sash.engine.stream.stats import Stats
from sash.engine.trial import try_monoids
from sash.options import names_of
from sash.plan.checks import nearest
from sash.plan.definition import Query
from sash.plan.explain import Explanation
from sash.plan.expressions import Expression
from sash.plan.planner import plan_of
from sash.plan.reach import steps_of
from sash.tables import windowed
from sash.windows import Closed
from sash.windows.arguments import duration_or_number

T = TypeVar("T")


class Stream:
    """Keys, time and delay of a stream: `.agg(n=sf.count().over("1 hour"))`."""

    def __init__(
        self, by: Sequence[str], time: str | Sequence[str], options: dict[str, Any]
    ) -> None:
        self._by, self._time, self._options = tuple(by), time, options
        self._every: dict[str, Any] | None = None

    def every(
        self, slide: Any = None, *, offset: Any = 0, closed: Closed = "left", fill: bool = False
    ) -> Stream:
        """One row per key and window, the windows a `slide` apart; `closed`: which of their ends
        are included.

        With `fill` a key has windows without rows too, from its first to its last: they come out
        together with the next one that has rows.

        >>> import pyarrow as pa, sash
        >>> from sash import functions as sf
        >>> ten = sash.range_between(-10, 0)
        >>> live = sash.stream(time="t").every(10).agg(n=sf.count().over(ten))
        >>> live.feed(pa.table({"t": [1, 2, 12]})).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 2}]
        """
        found = Stream(self._by, self._time, self._options)
        found._every = {"slide": slide, "offset": offset, "closed": closed, "fill": fill}
        return found

    def agg(self, *unnamed: Never, **aggregations: Expression) -> Live:
        """The stream at work."""
        options = dict(self._options)
        emit = {"emit": options.pop("emit")} if options["emit"] == "changes" else {}
        empty = windowed(pa.table({}), self._by, time=self._time, **emit)
        asked = empty if self._every is None else empty.every(**self._every)
        return Live(asked.query(*unnamed, **aggregations), **options)

    def __repr__(self) -> str:
        keys = f" by {', '.join(self._by)}" if self._by else ""
        return f'<sash.stream{keys}, time {self._time}: add .agg(name=sf.max("x").over("1 hour"))>'


@dataclass(frozen=True)
class LiveOptions(StreamOptions):
    """The arguments of `stream` besides keys and time."""

    delay: Any = 0
    store: str | stores.Store | None = None
    name: str = "stream"
    allow_pickle: bool = False


class Live:
    """A stream at work: tables in, what is now answered out, of the same kind.

    One thread at a time. What `feed` gives is final or, with emit="arrival", as known then; with
    emit="update" it is the values of the keys for which they have changed. A feed that raises
    changes nothing.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf, stores
    >>> store, frame = stores.open("memory:"), sash.range_between(-10, 0)
    >>> live = sash.stream("user", time="t", delay=5, store=store).agg(n=sf.count().over(frame))
    >>> live.feed(pa.table({"user": [7, 7], "t": [1, 9]})).to_pylist()    # up to time 4
    [{'user': 7, 't': 1, 'n': 1}]
    >>> live.advance(10).to_pylist()
    [{'user': 7, 't': 9, 'n': 2}]
    >>> live.current(user=7), live.current(user=8)
    ({'n': 2}, {'n': 0})
    >>> _ = live.feed(pa.table({"user": [8], "t": [3]}))
    >>> live.late_rows
    1
    >>> live.commit(offset=3)           # the next process goes on from here
    >>> sash.stream("user", time="t", delay=5, store=store).agg(n=sf.count().over(frame)).offset
    3
    """

    def __init__(self, query: Query, **given: Any) -> None:
        """`given`: the fields of `LiveOptions`."""
        known = [field.name for field in fields(LiveOptions)]
        for name in given:
            if name not in known:
                there = f"there are {', '.join(known)}{nearest(name, known)}"
                raise TypeError(f"stream: {name} is not an option; {there}")
        options = LiveOptions(**given)
        options.check(query)
        self._query = query
        self._options = replace(options, history=None, cut=None)  # its rows are not kept
        self._delay = duration_or_number(options.delay, "delay")
        store = options.store
        self._opened = stores.open(store) if isinstance(store, str) else store
        self._owns = isinstance(store, str)
        self._space = None if self._opened is None else self._opened.space(options.name.encode())
        self._live: LiveStream | None = None
        self._late_rows = 0
        self._stats = Stats()
        self._description: str | None = None  # of values, made when the first come out
        self._has_history = options.history is not None
        if self._space is not None and (schema := kept_schema(self._space)) is not None:
            self._start(schema)
        elif options.history is not None:
            rows = computable(source_of(options.history, "history takes").table())
            self._start_from(rows, options.cut)

    def feed(self, batch: T) -> T:
        """Take a table of any kind that `windowed` takes; give the rows now answered, alike.

        Afterwards the watermark is the youngest time seen less the delay; rows up to it are in
        what is given. Rows at or before the watermark as it was are late: counted, or, with
        late="side", given without answers, their column `late` true.
        """
        source = source_of(batch, "feed takes")
        table = computable(source.table())
        if self._live is None:
            try_monoids(self._query, table)
            self._start(table.schema)
        assert self._live is not None
        schema = self._live.definition.schema
        if table.schema.names != schema.names or table.schema != schema:
            table = _fitted(table, schema, self._has_history)
        return source.like(self._given(self._live.feed(table)), self._query.sources)

    def advance(self, watermark: Any) -> pa.Table:
        """Time passes without rows: the watermark, a time or a number; what is now answered."""
        live = self._running("advance")
        return self._given(live.advance(_moment(live, watermark, "advance")))

    def current(self, **key: Any) -> dict[str, Any]:
        """The answers of one key as of the watermark: {"n_1h": 3}."""
        live = self._running("current")
        if self._query.every is not None:
            raise ValueError("current: with every, a key's value is the row of its last window")
        if set(key) != set(self._query.by):
            raise TypeError(f"current: give the keys {', '.join(self._query.by)}")
        return live.current(key)

    def commit(self, offset: Any = None) -> None:
        """Have the store keep the state as it is now; `offset` comes back after a restart."""
        if self._live is not None:
            self._live.commit(offset)

    @property
    def offset(self) -> Any:
        """The offset of the last commit: where to go on after a restart."""
        return None if self._live is None else self._live.offset

    def close(self) -> None:
        """Commit, and let go of the store.

        Where commits were told an offset, what came after the last of them is not committed:
        those rows are to be fed again, from that offset on.
        """
        if self._live is not None:
            self._live.close()
        if self._owns and self._opened is not None:
            self._opened.close()

    def explain(self, rows_per_second: float | None = None, keys: int = 1) -> Explanation:
        """The plan of the stream: what is kept, what a batch reads, and which structure keeps it.

        Told how many rows come per second and of how many keys, also how large the state gets,
        what is written and how many cores it takes, about.
        """
        from sash.engine.stream.capacity import IN_PROCESS, estimated
        from sash.plan.explain import explain

        definition = self._running("explain").definition
        steps = []
        if rows_per_second is not None:
            steps = estimated(definition, rows_per_second, keys, IN_PROCESS)
        return explain(definition.plan, steps)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._owns and problem[0] is not None and self._opened is not None:
            self._opened.close()
        elif problem[0] is None:
            self.close()

    def _running(self, what: str) -> LiveStream:
        if self._live is None:
            raise ValueError(f"{what}: nothing was fed yet, so the columns are not known")
        return self._live

    def _start(self, schema: pa.Schema) -> None:
        options = self._options
        plan = plan_of(self._query, schema, options.planning)
        query = self._query
        known = query.answer_types(schema) | raw_types(query, schema)
        found = query.output_types(schema, known)
        answers = {out: kind for out, kind in found.items() if kind is not None}
        definition = StreamDefinition(plan, answers, allow_pickle=options.allow_pickle)
        self._live = LiveStream(definition, steps_of(self._delay, plan.unit), self._space)

    def _start_from(self, history: pa.Table, cut: Any) -> None:
        """Begin with the state that a table leaves behind."""
        self._start(history.schema)
        live = self._running("history")
        live.load(history, None if cut is None else _moment(live, cut, "cut"))

    def _given(self, step: Step) -> pa.Table:
        self._late_rows += step.late.num_rows
        self._stats = step.stats
        assert self._live is not None
        if self._options.emit == "update":
            if self._description is None:
                self._description = description(self._live.definition)
            return step.rows.replace_schema_metadata({METADATA: self._description})
        if self._options.late == "count":
            return step.rows
        late = self._live.definition.marked(step.late)
        flags = [False] * step.rows.num_rows + [True] * late.num_rows
        return pa.concat_tables([step.rows, late]).append_column(LATE, pa.array(flags, pa.bool_()))

    @property
    def stats(self) -> Stats:
        """Figures of the last batch, and of what is kept now."""
        return self._stats if self._live is None else self._live.measured(self._stats)

    @property
    def watermark(self) -> Any:
        """The time up to which rows are answered, a time or a number; None before the first.

        A new definition may begin after it, with the rows so far as its `history=`.
        """
        if self._live is None or self._live.watermark is None:
            return None
        kind = self._live.definition.schema.field(self._live.definition.time).type
        return answers_as(np.array([self._live.watermark]), None, kind)[0].as_py()

    @property
    def late_rows(self) -> int:
        """How many rows came too late so far."""
        return self._late_rows

    def __repr__(self) -> str:
        outs = ", ".join(self._query.aggregations)
        return f"<sash.stream of {outs}, watermark {self._live.watermark if self._live else None}>"


def _moment(live: LiveStream, value: Any, what: str) -> float:
    """A time or a number in ticks of the time column."""
    field = live.definition.schema.field(live.definition.time)
    try:
        moment = pa.array([value], field.type)
    except (pa.ArrowException, TypeError) as problem:
        raise TypeError(f"{what}: a time of {field.name!r} is {field.type}: {problem}") from None
    return ticks(moment, what)[0].item()


def _fitted(table: pa.Table, schema: pa.Schema, strict: bool = False) -> pa.Table:
    """A table with the columns that the stream began with, in their order; `strict`: no other."""
    extra = [name for name in table.column_names if name not in schema.names]
    if strict and extra:
        raise KeyError(
            f"feed: the history has no column {extra[0]!r}: add it there, null if need be, or "
            "leave it out of the batch"
        )
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise KeyError(
            f"feed: no column {missing[0]!r}; the stream began with {', '.join(schema.names)}"
        )
    columns = []
    for field in schema:
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as problem:
            raise TypeError(
                f"feed: the column {field.name!r} is {column.type}, but the stream began with "
                f"{field.type}, which it does not fit: {problem}"
            ) from problem
    return pa.table(columns, schema=schema)


def stream(
    by: str | Sequence[str] = (),
    *,
    time: str | Sequence[str],
    delay: Any = 0,
    emit: Literal["final", "arrival", "changes", "update"] = "final",
    late: Late = "count",
    idle: Any = None,
    lead: Any = 0,
    store: str | stores.Store | None = None,
    name: str = "stream",
    allow_pickle: bool = False,
    history: Any = None,
    cut: Any = None,
    **planning: Any,
) -> Stream:
    """Windows over rows as they come, in process, at a cost that depends on the batch alone.

    `delay`: how late a row may come; `emit`: "final" gives each row once no row can change its
    answer, equal to the batch's, "arrival" at once, as known then, "changes" (with `every`)
    a window whose answers differ from those of the one before. "update" gives no rows, but
    after each batch one row per key whose value has changed, also because time has passed: keys,
    the watermark, and the answers over the windows that end there. `lead`: with "update", how far
    ahead values are given too: a row for each moment up to the watermark and the lead at which
    the value of a key changes if no rows come. `late`: "count" or "side".
    `idle`: forget a key without rows for so long. `store`: "lmdb:folder", "redis://…" or a
    store: `commit()` has it keep the state, under `name`, and the next process goes on from it.

    `history`: a table of earlier rows, from which the state is built before the first batch;
    every answer is then that of one batch over both. Rows up to `cut` (default: the youngest
    time of the history) are the history's, and rows after it the stream's: a row at or before
    it that is fed is late, one after it in the history is left out. A store that has the
    stream's state already goes on from that.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf
    >>> frame = sash.range_between(-10, 0)
    >>> live = sash.stream("user", time="t", delay=5).agg(n=sf.count().over(frame))
    >>> live.feed(pa.table({"user": [7, 7], "t": [1, 9]})).to_pylist()
    [{'user': 7, 't': 1, 'n': 1}]
    >>> live.feed(pa.table({"user": [7], "t": [16]})).to_pylist()
    [{'user': 7, 't': 9, 'n': 2}]
    >>> live.current(user=7)
    {'n': 2}
    """
    options = {
        "delay": delay, "emit": emit, "late": late, "idle": idle, "lead": lead,
        "store": store, "name": name,
        "allow_pickle": allow_pickle, "history": history, "cut": cut, **planning,
    }  # fmt: skip
    times: Any = time if isinstance(time, str) else names_of(time, "time")
    return Stream(names_of(by, "by"), times, options)
