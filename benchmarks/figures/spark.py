"""Figures of Spark: batches and streams."""

from __future__ import annotations

from benchmarks.figures.figure import (
    Figure,
    Section,
    column,
    faster,
    inverse,
    relative,
)
from benchmarks.records import Row

TREE, FRAME = "Spark's segment tree", "Spark's frame"


def uncovered(name: str, says: str) -> Figure:
    def numbers(rows: list[Row]) -> list[float]:
        return column("native, tree / sash")([r for r in rows if f"{r['asked']}".startswith(name)])

    text = f"{says} over {{window}} rows, {{rows}} rows; Spark's on {{slow-rows}}, scaled up"
    return Figure(
        f"spark-{says.replace(' ', '-')}", text, "spark_batch_uncovered", numbers, faster(FRAME)
    )


SPARK = Section(
    "Spark",
    [
        Figure(
            "spark-many",
            "Spark, {rows} rows, 5 aggregations over 4 windows",
            "spark_batch_many",
            column("native, tree / sash"),
            faster(TREE),
        ),
        Figure(
            "spark-one",
            "max over a range of {window} rows, {rows} rows",
            "spark_batch_one",
            column("native, tree / sash"),
            faster(TREE),
        ),
        Figure(
            "spark-one-frame",
            "the same; Spark's on {slow-rows} rows, scaled up",
            "spark_batch_one",
            column("native, no tree / sash"),
            faster(f"{FRAME} without it"),
        ),
        uncovered("max_by", "max_by"),
        uncovered("percentile", "percentile"),
        uncovered("distinct over", "distinct count"),
        uncovered("distinct, about", "approximate distinct count"),
        relative(
            "spark-shuffle",
            "max and mean, {many-rows} rows of 1,000 and of 1,000,000 keys: time relative to the "
            "shuffle, sort and Python alone",
            "spark_batch_shuffle",
            inverse(column("pass-through / sash")),
        ),
    ],
)


def hour(keys: int, rows: int) -> Figure:
    return Figure(
        f"spark-stream-every-{keys}-{rows}",
        f"windows of an hour every 10 s, batches of {rows:,} rows, {keys:,} keys",
        "streaming_every",
        column("sash / window()", keys=keys, rows_per_batch=rows),
        faster("Spark's `window()`"),
    )


def day(keys: int) -> Figure:
    return relative(
        f"spark-stream-day-{keys}",
        f"windows of a day every second, {keys:,} keys, {60 * keys:,} of which come out per "
        "million rows: rows per second relative to an hour every 10 s",
        "streaming_day",
        column("day / hour", keys=keys),
        "higher",
    )


def day_passed(keys: int) -> Figure:
    return relative(
        f"spark-stream-day-{keys}-passed",
        f"the same rows passed through, {keys:,} keys: rows per second relative to an hour by 10 s",
        "streaming_day",
        column("pass-through / hour", keys=keys),
        "higher",
    )


def passed(keys: int) -> Figure:
    return relative(
        f"spark-stream-rows-{keys}",
        f"an answer per row over a window of 10^7 rows, {keys:,} keys: rows per second relative to "
        "a pass-through",
        "streaming_rows",
        column("ratio", keys=keys),
        "higher",
    )


SPARK_STREAMS = Section(
    "Streams on Spark",
    [
        hour(100, 300_000),
        hour(100, 1_000_000),
        hour(10_000, 300_000),
        hour(10_000, 1_000_000),
        day(100),
        day(10_000),
        day_passed(10_000),
        passed(100),
        passed(100_000),
        relative(
            "spark-stream-state",
            "batches of 10,000 rows with 500 MB of state: time relative to 5 MB",
            "streaming_state",
            column("large / small"),
        ),
    ],
    "Windows are full before anything is measured: both begin with the same history.",
)
