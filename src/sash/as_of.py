"""As-of windows: the aggregates of events at the times of another table, the spine.

`sash.windowed(events, by="user", time="ts").at(labels, time="asked_at").agg(…)`: training
features, each as it was known at the time of its label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Never, TypeVar, get_args

import pyarrow as pa

from sash.conversions import Pandas, Source, computable, package_of, source_of
from sash.engine.asof_table import aggregate, comparable
from sash.engine.trial import try_monoids
from sash.options import check_needed, check_options, planning_of
from sash.plan.about import About, concerning
from sash.plan.aggregation import Aggregation
from sash.plan.checks import check_known
from sash.plan.definition import Query
from sash.plan.explain import Explanation, explain
from sash.plan.expressions import Expression, walk
from sash.plan.planner import plan_of
from sash.plan.spine import Spine
from sash.windows import Closed

T = TypeVar("T")


@dataclass(frozen=True)
class Events:
    """The arguments of `windowed`; `source`: None for Spark; `query` makes a definition of it."""

    data: Any
    source: Source | None
    options: dict[str, Any]
    query: Callable[..., Query]


@dataclass(frozen=True)
class At:
    """The arguments of `at` besides the spine: its keys, its time, which ends are included."""

    by: tuple[str, ...]
    time: str
    closed: Closed

    def __post_init__(self) -> None:
        if self.closed not in get_args(Closed):
            known = ", ".join(get_args(Closed))
            raise ValueError(f"at: closed must be one of {known}, not {self.closed!r}")


class AsOf(Generic[T]):
    """Events, and a spine: `.agg(n=sf.count().over("7 days"))` gives the spine with answers."""

    def __init__(self, events: Events, spine: T, at: At) -> None:
        self._events, self._data, self._at = events, spine, at
        self._source: Source | None = None
        if package_of(spine) != "pyspark":
            self._source = source_of(spine, "at takes a Spark DataFrame,")
        if (self._source is None) != (events.source is None):
            raise TypeError(
                "at: events and spine must both be Spark DataFrames, or both be tables in process: "
                "spark.createDataFrame(table) makes one of a table, df.toArrow() a table of one"
            )
        if any(getattr(data, "isStreaming", False) for data in (events.data, spine)):
            raise TypeError(
                "at: windows at the times of a spine are for batches; a stream answers for its "
                "own rows as they come"
            )

    def agg(self, *unnamed: Never, **aggregations: Expression) -> T:
        """The spine with one extra column per aggregation, of the same kind as it came.

        >>> import pandas as pd, pyarrow as pa, sash
        >>> from sash import functions as sf
        >>> events = pa.table({"t": [1, 2, 4], "x": [5, 3, 4]})
        >>> spine = pd.DataFrame({"t": [4, 0]})
        >>> sash.windowed(events, time="t").at(spine).agg(n=sf.count().over(sash.rows(9)))
           t  n
        0  4  2
        1  0  0
        """
        query, events, spine = self.query(*unnamed, **aggregations), self._events, self._source
        if events.source is None or spine is None:
            from sash.spark import asof

            check_options(events.options, "a batch DataFrame")
            data: Any = self._data
            answered: Any = asof.aggregate(events.data, data, query, **events.options)
            return answered
        planning = planning_of(events.options)
        check_needed(query, events.source)
        there = computable(events.source.table(query.columns()))
        try_monoids(query, there)
        here = computable(spine.table(list(self._needed(query))))
        compared, there = comparable(query, there, here)
        found = aggregate(plan_of(compared, there.schema, planning), there, here)

        def made_of(out: str) -> list[str]:
            return [name for result, name in query.own() if result == out]

        return spine.with_answers(found, query.outputs, made_of)

    def explain(self, **aggregations: Expression) -> Explanation:
        """The plan that `agg` would run, in words; nothing runs."""
        query, events = self.query(**aggregations), self._events
        if events.source is None:
            from sash.spark import asof

            check_options(events.options, "a batch DataFrame")
            data: Any = self._data
            return asof.explain(events.data, data, query, **events.options)
        check_needed(query, events.source)
        there = computable(events.source.schema(query.columns()).empty_table())
        assert query.spine is not None
        compared, there = comparable(query, there, query.spine.schema.empty_table())
        return explain(plan_of(compared, there.schema, planning_of(events.options)))

    def query(self, *unnamed: Never, **aggregations: Expression) -> Query:
        """The definition that `agg` would run."""
        for out, e in aggregations.items():
            parts = walk(e) if isinstance(e, Expression) else ()
            if any(isinstance(part, Aggregation) and part.step is not None for part in parts):
                wrong = f"{out}: step counts the rows of a key, and a spine row is none"
                raise concerning(ValueError(wrong), About("output", out))
        query = self._events.query(*unnamed, **aggregations)
        spine = Spine(self._at.by, self._at.time, self._schema(query), self._at.closed)
        return spine.over(query)

    def _needed(self, query: Query) -> dict[str, About]:
        """The columns that are read of the spine, and for what."""
        own = {name: About("output", out, of_spine=True) for out, name in query.own()}
        keys = {name: About("key", name, of_spine=True) for name in self._at.by}
        return keys | {self._at.time: About("time", self._at.time, of_spine=True)} | own

    def _schema(self, query: Query) -> pa.Schema:
        """The spine's columns; of a pandas one, whose columns may hold anything, the types of
        those that are read."""
        if self._source is None:
            from sash.spark.types import arrow_schema

            data: Any = self._data
            return arrow_schema(data)
        names, needed = self._source.names(), self._needed(query)
        for name, subject in needed.items():
            check_known(name, names, subject, self._source.hint(name))
        known = computable(self._source.schema(list(needed)).empty_table()).schema
        if not isinstance(self._source, Pandas):
            return known
        return pa.schema([(n, known.field(n).type if n in needed else pa.null()) for n in names])

    def __repr__(self) -> str:
        kind = "Spark" if self._source is None else self._source.name
        keys = f" by {', '.join(self._at.by)}" if self._at.by else ""
        return (
            f"<sash.windowed at {self._at.time} of a {kind} table{keys}: "
            'add .agg(name=sf.max("column").over("1 hour"))>'
        )
