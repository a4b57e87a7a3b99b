"""Figures of windows as of the moments of another table."""

from __future__ import annotations

from benchmarks.figures.figure import (
    Figure,
    Section,
    column,
    faster,
    inverse,
    least,
    of,
    relative,
)

LIBRARY = {"polars": "polars", "pandas": "pandas", "duckdb": "DuckDB"}

ASKED = "count, sum and max over 1 hour, 1 day and 7 days as of"


def asof(keys: int, library: str) -> Figure:
    ways = [f"x {library} windows", f"x {library} join"]
    return Figure(
        f"asof-{keys}-{library}",
        f"{ASKED} a tenth as many moments, {{events}} events of {keys:,} keys",
        "asof",
        least(*ways, keys=keys),
        faster(f"{LIBRARY[library]}, its best way"),
    )


def asof_on_spark(keys: int) -> list[Figure]:
    says = f"{ASKED} a tenth as many moments on Spark, {{events}} events of {keys:,} keys"
    join = column("x range join", keys=keys)
    passed = inverse(column("x pass-through", keys=keys))
    return [
        Figure(f"asof-spark-{keys}", says, "asof_spark", join, faster("range join and group by")),
        relative(
            f"asof-spark-passed-{keys}",
            f"{says}: time relative to union, shuffle, sort and Python alone",
            "asof_spark",
            passed,
        ),
    ]


ASOF = Section(
    "As of the moments of another table",
    [
        asof(1000, "polars"),
        asof(1000, "duckdb"),
        asof(1_000_000, "polars"),
        asof(1_000_000, "duckdb"),
        Figure(
            "asof-large",
            ASKED + " {spine} moments, {events} events of {keys} keys",
            "asof_large",
            column("sash"),
            of("s"),
            "lower",
        ),
        *asof_on_spark(1000),
        *asof_on_spark(1_000_000),
        Figure(
            "asof-spark-large",
            ASKED + " {spine} moments on Spark, {events} events of {keys} keys",
            "asof_spark_large",
            column("sash"),
            of("s"),
            "lower",
        ),
        Figure(
            "asof-spark-shuffled",
            "the same: rows that the largest shuffle writes",
            "asof_spark_large",
            column("sash shuffled rows"),
            of("rows"),
            "lower",
        ),
    ],
)
