"""Periodic windows of SQL on Spark: as in process, and as Spark's own; changes on a stream."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import sash
from tests.sql.test_periodic import ROWS

COLUMNS = "SELECT k, window_start, window_end, count(*) AS n, sum(x) AS s"
FUNCTIONS = [
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '20' MINUTES)",
    "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '30' MINUTES)",
    "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' MINUTES)",
]


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> DataFrame:
    given = ROWS.set_column(1, "ts", ROWS["ts"].cast(pa.timestamp("us", "UTC")))
    frame = spark.createDataFrame(given).cache()
    frame.createOrReplaceTempView("t")
    return frame


def rows(found: DataFrame) -> set[tuple[Any, ...]]:
    """The rows, their times in UTC."""
    return {
        tuple(v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v for v in row)
        for row in found.collect()
    }


@pytest.mark.slow
def test_table_functions_equal_those_in_process(spark: SparkSession, t: DataFrame) -> None:
    for function in FUNCTIONS:
        query = f"{COLUMNS} FROM TABLE({function}) GROUP BY k, window_start, window_end"
        ours = sash.sql(query, t=t)
        wanted = {tuple(row.values()) for row in sash.sql(query, t=ROWS).to_pylist()}
        assert rows(ours) == wanted, function


def test_windows_equal_sparks(spark: SparkSession, t: DataFrame) -> None:
    for call in ("window(ts, '20 minutes', '5 minutes')", "window(ts, '10 minutes')"):
        query = f"""SELECT k, window.start, window.end, sum(x) AS s FROM t
                    WHERE x > 1 GROUP BY k, {call} HAVING count(*) > 1"""
        assert rows(sash.sql(query, t=t)) == rows(spark.sql(query)), call


CQL = """SELECT IStream(max(x) AS hi, count(*) AS n)
         FROM t [Partition By k Range 10 Minutes Slide 5 Minutes]"""


@pytest.mark.slow
def test_changes_on_a_stream_equal_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    moments = [start + dt.timedelta(minutes=i // 2) for i in range(120)]
    given = pa.table({"k": [i % 2 for i in range(120)], "x": [i // 40 for i in range(120)],
                      "ts": pa.array(moments, pa.timestamp("us", "UTC"))})  # fmt: skip
    batch = spark.createDataFrame(given)
    for part in range(3):
        folder = batch.where(f"x = {part}").coalesce(1)
        folder.write.mode("append").parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(batch.schema).option("maxFilesPerTrigger", 1)
    found = sash.sql(CQL, t=stream.parquet(str(tmp_path / "in")).withWatermark("ts", "0 seconds"))
    running = (
        found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    running.awaitTermination()
    ours = rows(spark.read.parquet(str(tmp_path / "out")))
    theirs = rows(sash.sql(CQL, t=batch))
    assert theirs == {tuple(r.values()) for r in in_process(given)}
    last = max(row[1] for row in ours)
    assert ours == {row for row in theirs if row[1] <= last}
    assert len(ours) >= 8


def in_process(table: pa.Table) -> list[dict[str, Any]]:
    found = sash.sql(CQL, t=table)
    end = found["window_end"].cast(pa.timestamp("us"))
    return found.set_column(1, "window_end", end).to_pylist()
