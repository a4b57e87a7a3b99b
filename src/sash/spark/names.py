"""Names of columns: as Spark's SQL spells them, and as the user may."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql import DataFrame

from sash.plan.definition import TIME, Aggregation, Query
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


def as_spelled(query: Query, df: DataFrame) -> Query:
    """The query with names as the DataFrame has them, where Spark does not mind their case.

    Raises ValueError if a column that is needed is there twice.
    """
    names = df.columns
    fold = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")) != "true"
    count = Counter(name.lower() if fold else name for name in names)
    spelled = {name.lower(): name for name in names} if fold else {}

    def found(name: str) -> str:
        if count[name.lower() if fold else name] > 1:
            raise ValueError(f"the input has {name!r} more than once: rename one of them")
        return name if name in names else spelled.get(name.lower(), name)

    def aggregation(out: str, a: Aggregation) -> Aggregation:
        if fold and query.every is None and out in query.outputs and out.lower() in spelled:
            raise ValueError(
                f"{out}: the input has a column {spelled[out.lower()]!r}; choose another name"
            )
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
        return renamed(e, lambda name: name if name in query.aggregations else found(name))

    return replace(
        query,
        by=tuple(found(name) for name in query.by),
        time=found(query.time),
        ties=tuple(found(name) for name in query.ties),
        aggregations={out: aggregation(out, a) for out, a in query.aggregations.items()},
        results={out: result(e) for out, e in query.results.items()},
    )
