"""Streams for tests: rows that come out of order, a file a micro-batch, and what must come out."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from sash import Monoid
from sash.serve import Sink

START = 1_704_067_200_000_000  # 2024-01-01 in microseconds
SECOND = 1_000_000
FAR = 10**6  # seconds after START: later than all that a window reaches
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "g": pa.int32(),
        "ts": pa.timestamp("us", "UTC"),
        "x": pa.float64(),
        "v": pa.int64(),
        "w": pa.string(),
        "i": pa.int64(),
    }
)
SPARK = "k string, g int, ts timestamp, x double, v long, w string, i long"
Define = Callable[[Any], Any]

AFFINE = Monoid(
    "affine",
    (1, 0),
    lambda v: (v % 7 + 1, v),
    lambda a, b: (a[0] * b[0] % 10_007, (a[1] * b[0] + b[1]) % 10_007),
    lambda s: s[1],
)
"""Maps x → ax + b, one after the other: not commutative, and it compiles."""

WORDS = Monoid("words", "", str, lambda a, b: a + b)
"""Text joined: not commutative, and plain Python."""


def rows(rng: np.random.Generator, n: int, keys: int = 5, disorder: int = 30) -> pa.Table:
    """Rows in the order in which they come, late by up to `disorder` seconds: ties, nulls, NaN."""
    times = np.sort(rng.integers(0, n // 2, n))
    order = np.argsort(times + rng.integers(0, disorder + 1, n), kind="stable")
    xs = np.round(rng.random(n), 3)
    xs[rng.random(n) < 0.05] = math.nan
    return pa.table(
        {
            "k": pa.array([f"k{j}" for j in rng.integers(0, keys, n)], mask=rng.random(n) < 0.05),
            "g": rng.integers(0, 2, n).astype(np.int32),
            "ts": at(times[order]),
            "x": pa.array(xs, mask=rng.random(n) < 0.1),
            "v": rng.integers(0, 1000, n),
            "w": [chr(97 + j) for j in rng.integers(0, 26, n)],
            "i": np.arange(n),
        },
        schema=SCHEMA,
    )


def at(seconds: Any) -> pa.Array:
    """Seconds after START as times."""
    ticks = START + (np.asarray(seconds) * SECOND).astype(np.int64)
    return pa.array(ticks, pa.int64()).cast(pa.timestamp("us", "UTC"))


def last(seconds: int = FAR) -> pa.Table:
    """One row so late that the watermark passes all others; its number is -1."""
    one = {"k": ["end"], "g": [0], "ts": at([seconds]), "x": [0.5], "v": [0], "w": ["z"], "i": [-1]}
    return pa.table(one, schema=SCHEMA)


def cut(table: pa.Table, pieces: int) -> list[pa.Table]:
    """A table in pieces of about the same size."""
    edges = np.linspace(0, table.num_rows, pieces + 1).astype(int).tolist()
    return [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]


def write(folder: Path, tables: Iterable[pa.Table]) -> None:
    """A file a table, after those that are there; a file is older than the next one."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("*.parquet")))
    for table in tables:
        hidden = folder / f".{number:05}.tmp"
        pq.write_table(table, hidden)
        os.utime(hidden, (1_700_000_000 + 10 * number,) * 2)
        hidden.rename(folder / f"{number:05}.parquet")
        number += 1


def source(spark: SparkSession, folder: Path, delay: str | None = "10 seconds") -> DataFrame:
    """The stream of a folder's files, a file a micro-batch."""
    read = spark.readStream.schema(SPARK).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return read if delay is None else read.withWatermark("ts", delay)


def run(out: DataFrame, base: Path, name: str = "out") -> list[dict[str, Any]]:
    """Run a stream until there is nothing more to read; the figures of each micro-batch."""
    writer = out.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(base / f"{name}.checkpoint"))
    query = writer.option("path", str(base / name)).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    seen = [[m.asDict() for m in p.observedMetrics.values()] for p in query.recentProgress]
    return [figures[0] for figures in seen if figures]


def serve(out: DataFrame, base: Path, url: str) -> None:
    """Keep the values of a stream in a store until there is nothing more to read."""
    with closing(Sink(url)) as sink:
        writer = out.writeStream.foreachBatch(sink).outputMode("update").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(base / "out.checkpoint")).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()


def written(spark: SparkSession, base: Path, name: str = "out") -> pa.Table:
    """What a stream has written."""
    return spark.read.parquet(str(base / name)).toArrow()


def late(tables: list[pa.Table], delay: int) -> set[int]:
    """The rows that Spark holds late: the watermark of the batch before theirs had passed them."""
    found: set[int] = set()
    tops: list[int] = []  # the youngest time up to each batch
    for table in tables:
        times = np.asarray(table.column("ts").cast(pa.int64()))
        if len(tops) >= 2:
            passed = times <= tops[-2] - delay * SECOND
            found |= set(np.asarray(table.column("i"))[passed].tolist())
        tops.append(max([*tops[-1:], *times.tolist()]))
    return found


def without(table: pa.Table, numbers: set[int]) -> pa.Table:
    """The rows that are not these."""
    return table.filter(pa.array([i not in numbers for i in table.column("i").to_pylist()]))


def only(table: pa.Table, numbers: set[int]) -> pa.Table:
    return table.filter(pa.array([i in numbers for i in table.column("i").to_pylist()]))


def differing(found: pa.Table, expected: pa.Table, by: list[str]) -> dict[str, list[Any]]:
    """Columns whose values differ, with the first of them; rows are told apart by `by`."""
    if found.num_rows != expected.num_rows:
        return {"rows": [found.num_rows, expected.num_rows]}
    order = [(name, "ascending") for name in by]
    found, expected = found.sort_by(order), expected.sort_by(order)
    wrong = {}
    for name in expected.column_names:
        got, want = found.column(name).to_pylist(), expected.column(name).to_pylist()
        places = [j for j, (a, b) in enumerate(zip(got, want, strict=True)) if not same(a, b)]
        if places:
            keys = [[found.column(each)[j].as_py() for each in by] for j in places[:3]]
            wrong[name] = [len(places), keys, [(got[j], want[j]) for j in places[:3]]]
    return wrong


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return bool(a == b)
