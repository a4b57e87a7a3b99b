"""Names of columns: as Spark's SQL spells them, and as the user may."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql import DataFrame

from sash.plan.about import About, concerning
from sash.plan.aggregation import TIME, Aggregation
from sash.plan.definition import Query
from sash.plan.expressions import Expression, renamed
from sash.windows.frames import Delta, Until


def quoted(name: str) -> str:
    """A column's name for SQL, whatever is in it.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def plain(df: DataFrame) -> DataFrame:
    """`df`, its columns numbered where a name would be read otherwise than as one name."""
    odd = any("." in name or "`" in name for name in df.columns)
    if not odd and len(set(df.columns)) == len(df.columns):
        return df
    return df.toDF(*(f"c{i}" for i in range(len(df.columns))))


class Spelling:
    """The names of a DataFrame's columns, where Spark does not mind their case."""

    def __init__(self, df: DataFrame, what: str = "the input") -> None:
        self._names, self._what = df.columns, what
        self._fold = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")) != "true"
        self._count = Counter(map(self._folded, self._names))
        self._spelled = {name.lower(): name for name in self._names} if self._fold else {}

    def _folded(self, name: str) -> str:
        return name.lower() if self._fold else name

    def __call__(self, name: str) -> str:
        """The name as the DataFrame has it; ValueError if a column is there twice."""
        if self._count[self._folded(name)] > 1:
            raise ValueError(f"{self._what} has {name!r} more than once: rename one of them")
        return name if name in self._names else self._spelled.get(name.lower(), name)

    def check_free(self, out: str) -> None:
        """Raise ValueError if there is a column of that name."""
        there = self._spelled.get(out.lower())
        if there is not None:
            wrong = ValueError(f"{out}: {self._what} has a column {there!r}; choose another name")
            raise concerning(wrong, About("output", out))


def as_spelled(query: Query, df: DataFrame, spine: DataFrame | None = None) -> Query:
    """The query with names as the DataFrame has them, where Spark does not mind their case.

    `spine`: whose rows come out, where they are not those of `df`. Raises ValueError if a column
    that is needed is there twice.
    """
    found = Spelling(df)
    rows = found if spine is None else Spelling(spine, "the spine")

    def aggregation(out: str, a: Aggregation) -> Aggregation:
        if query.every is None and out in query.outputs:
            rows.check_free(out)
        frame = a.frame
        if isinstance(frame, Delta | Until) and frame.column is not None:
            frame = replace(frame, column=of(a, frame.column))
        return replace(
            a,
            columns=tuple(of(a, c) for c in a.columns),
            condition=None if a.condition is None else of(a, a.condition),
            derived={name: renamed(e, found) for name, e in a.derived.items()},
            frame=frame,
        )

    def of(a: Aggregation, name: str) -> str:
        return name if name in a.derived or name == TIME else found(name)

    def result(e: Expression) -> Expression:
        return renamed(e, lambda name: name if name in query.aggregations else rows(name))

    at = query.spine
    if at is not None:
        at = replace(at, by=tuple(map(rows, at.by)), time=rows(at.time))
    return replace(
        query,
        by=tuple(found(name) for name in query.by),
        time=found(query.time),
        ties=tuple(found(name) for name in query.ties),
        aggregations={out: aggregation(out, a) for out, a in query.aggregations.items()},
        results={out: result(e) for out, e in query.results.items()},
        spine=at,
    )
