"""Random frames x aggregations x nulls x ties on Spark, batch and stream: as in process.

In process they are DuckDB's, see tests/language/test_frames.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from sash.windows.duration import Duration
from sash.windows.frames import Range
from tests.language import duck
from tests.language.test_frames import AGGREGATIONS, IN_ORDER, random_frame
from tests.language.test_streams import ends
from tests.spark import streams
from tests.spark.streams import AFFINE, START, WORDS

FRAMES = 6


def several(seed: int, order: str, streams: bool) -> dict[str, Any]:
    """Aggregations over several random frames that take rows in an order; `streams`: which run
    there."""
    asked: dict[str, Any] = {}
    number = 1000 * seed
    while len(asked) < FRAMES * len(AGGREGATIONS) // 2:
        number += 1
        frame, _, taken = random_frame(number)
        if taken != order or (streams and not ends(frame)):
            continue
        for out, (a, _) in AGGREGATIONS.items():
            if order == "t, id" or out not in IN_ORDER:
                asked[f"{out}_{number}"] = (a.where("b") if number % 3 == 0 else a).over(frame)
    return asked


def wrong(found: pa.Table, expected: pa.Table, asked: dict[str, Any]) -> list[Any]:
    found, expected = found.sort_by("id"), expected.sort_by("id")
    assert found["id"].to_pylist() == expected["id"].to_pylist()
    return [
        (out, str(a.frame), pair)
        for out, a in asked.items()
        for pair in zip(found[out].to_pylist(), expected[out].to_pylist(), strict=True)
        if not duck.same(*pair)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["t", "t, id"])
@pytest.mark.parametrize("seed", range(5))
def test_a_batch(spark: SparkSession, seed: int, order: str) -> None:
    table, time = duck.sample(300, seed, ties=1 + seed % 4), order.split(", ")
    asked = several(seed, order, streams=False)
    df = spark.createDataFrame(table).repartition(3)
    found = sash.windowed(df, "k", time=time).agg(**asked).toArrow()
    assert wrong(found, sash.windowed(table, "k", time=time).agg(**asked), asked) == []


def timed(seed: int) -> pa.Table:
    """Rows out of order, their times in seconds, as streams of files have them."""
    table = duck.sample(200, seed, ties=1 + seed % 4)
    ticks = START + np.array(table["t"]) * 1_000_000
    place = table.column_names.index("t")
    table = table.set_column(place, "t", pa.array(ticks).cast(pa.timestamp("us", "UTC")))
    late = np.array(table["id"]) + np.random.default_rng(seed).integers(0, 9, 200)
    return table.take(np.argsort(late, kind="stable"))


def run(spark: SparkSession, table: pa.Table, base: Path, define: Any) -> pa.Table:
    """What a stream gives for a table in files, and for a row after all others."""
    last = table.slice(0, 1).set_column(0, "id", pa.array([-1]))
    far = pa.array([START + 10**12]).cast(pa.timestamp("us", "UTC"))
    last = last.set_column(table.column_names.index("t"), "t", far)
    last = last.set_column(table.column_names.index("k"), "k", pa.array([-1]))
    streams.write(base / "in", [*streams.cut(table, 3), last])
    schema = spark.read.parquet(str(base / "in")).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    stream = read.parquet(str(base / "in")).withWatermark("t", "60 seconds")
    streams.run(define(stream), base)
    found = streams.written(spark, base)
    return found.filter(pa.array([k != -1 for k in found["k"].to_pylist()]))


TIED = {
    "number": sf.row_number(),
    "lag": sf.lag("id"),
    "joined": sf.apply(WORDS, "id", returns=pa.string(), check=False).over("5 seconds"),
    "affine": sf.apply(AFFINE, "id").over(sash.rows(4)),
    "others": sf.collect_list("id").over("5 seconds", exclude="current row"),
    "group": sf.collect_list("id").over(sash.groups_between(-2, 0), exclude="group"),
    "rank": sf.dense_rank(),
    "where": sf.sum("i").where("b").over("9 seconds", exclude="ties"),
}


def in_seconds(a: Any) -> Any:
    """An aggregation whose frame is of seconds, if it is of times."""
    frame = a.frame
    if not isinstance(frame, Range):
        return a
    bounds = (
        None if b is None else Duration(b * 10**9) for b in (frame.preceding, frame.following)
    )
    return replace(a, frame=Range(*bounds, exclude=frame.exclude))


def with_ids(table: pa.Table, ids: set[int]) -> pa.Table:
    return table.filter(pa.array([i in ids for i in table["id"].to_pylist()]))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["t", "t, id"])
@pytest.mark.parametrize("seed", range(2))
def test_a_stream(spark: SparkSession, tmp_path: Path, seed: int, order: str) -> None:
    table, time = timed(seed), order.split(", ")
    asked = {out: in_seconds(a) for out, a in several(seed, order, streams=True).items()}
    found = run(
        spark, table, tmp_path,
        lambda df: sash.windowed(df, "k", time=time, shards=2).agg(**asked),
    )  # fmt: skip
    expected = sash.windowed(table, "k", time=time).agg(**asked)
    ids = set(found["id"].to_pylist())  # the last rows of a key wait for others
    assert len(ids) >= 200 - 3 * 8
    assert wrong(found, with_ids(expected, ids), asked) == []


@pytest.mark.slow
def test_rows_of_one_time_on_a_stream_are_in_the_order_of_further_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = timed(3)
    found = run(
        spark, table, tmp_path,
        lambda df: sash.windowed(df, "k", time=["t", "s", "id"], shards=2).agg(**TIED),
    )  # fmt: skip
    expected = sash.windowed(table, "k", time=["t", "s", "id"]).agg(**TIED)
    assert found.num_rows == 200
    assert wrong(found, expected, TIED) == []


@pytest.mark.slow
def test_windows_without_rows_on_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    table = timed(4)
    table = table.filter(pa.array(np.random.default_rng(1).random(200) < 0.2))
    asked = {
        "n": sf.count().over("2 seconds"),
        "ids": sf.apply(WORDS, "id", returns=pa.string(), check=False).over("2 seconds"),
        "middle": sf.median("x").over("2 seconds"),
    }

    def define(data: Any) -> Any:
        options = {} if isinstance(data, pa.Table) else {"shards": 2}
        call = sash.windowed(data, "k", time="t", **options)
        return call.every("2 seconds", fill=True).agg(**asked)

    found, expected = run(spark, table, tmp_path, define), define(table)
    assert expected["n"].to_pylist().count(0) > 5
    assert streams.differing(found, expected, ["k", "window_start"]) == {}
