"""SQL on Spark: answers of the grammar's statements equal Spark's own; streams equal batches."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import sash
from sash.sql.errors import SqlError
from tests.language.duck import same
from tests.sql.grammar import sample, statements, together
from tests.sql.test_window_join import EVENTS, SPINE


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    given = spark.createDataFrame(sample(40, 1))
    frame = given.withColumn("ts", given["ts"].cast("timestamp_ntz")).cache()
    frame.createOrReplaceTempView("rows")
    return frame


def compare(query: str, spark: SparkSession, ours: list[Any]) -> None:
    theirs = [row.asDict() for row in spark.sql(query).collect()]
    assert len(ours) == len(theirs), query
    for a, b in zip(ours, theirs, strict=True):
        for name in b:
            assert same(a[name], b[name]), (query, a["id"], name, a[name], b[name])


def test_statements_in_process_equal_spark(spark: SparkSession, rows: DataFrame) -> None:
    query = together(6, 50)
    compare(query, spark, sash.sql(query, rows=sample(40, 1)).to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 210))
def test_many_statements_in_process_equal_spark(
    seed: int, spark: SparkSession, rows: DataFrame
) -> None:
    table = sample(40, 1)
    for query in statements(30, seed, duckdb=False):
        compare(query, spark, sash.sql(query, rows=table).to_pylist())


def test_statements_on_spark_equal_spark(spark: SparkSession, rows: DataFrame) -> None:
    query = together(4, 60)
    compare(query, spark, [row.asDict() for row in sash.sql(query, rows=rows).collect()])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 304))
def test_many_statements_on_spark_equal_spark(
    seed: int, spark: SparkSession, rows: DataFrame
) -> None:
    for query in statements(20, seed, duckdb=False):
        compare(query, spark, [row.asDict() for row in sash.sql(query, rows=rows).collect()])


def test_spark_does_what_is_around(spark: SparkSession, rows: DataFrame) -> None:
    query = """WITH c AS (SELECT k, id, sum(i) OVER (PARTITION BY k ORDER BY id) AS s FROM rows)
               SELECT k, max(s) AS m FROM c WHERE s > 0 GROUP BY k ORDER BY k"""
    assert sash.sql(query, rows=rows).collect() == spark.sql(query).collect()
    text = sash.sql.explain(query, rows=rows)
    assert "1. Sash" in text
    assert "2. Spark" in text
    with pytest.raises(TypeError, match="rows is on Spark and t is not"):
        sash.sql(query, rows=rows, t=pa.table({"x": [1]}))
    with pytest.raises(SqlError, match="left to Spark, which says"):
        sash.sql("SELECT nothing(i) OVER (ORDER BY id) AS n FROM rows", rows=rows)


@pytest.mark.slow
def test_a_stream_equals_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    start = dt.datetime(2024, 1, 1)
    given = pa.table(
        {
            "k": [i % 3 for i in range(60)],
            "ts": pa.array([start + dt.timedelta(minutes=i) for i in range(60)],
                           pa.timestamp("us", "UTC")),
            "x": list(range(60)),
        }
    )  # fmt: skip
    batch = spark.createDataFrame(given)
    batch.write.parquet(str(tmp_path / "in"))
    query = """SELECT k, ts, x + 0 AS x, sum(x) OVER (PARTITION BY k ORDER BY ts
               RANGE BETWEEN INTERVAL '10' MINUTES PRECEDING AND CURRENT ROW) AS s
               FROM t WHERE x <> 7"""
    stream = spark.readStream.schema(batch.schema).parquet(str(tmp_path / "in"))
    found = sash.sql(query, t=stream.withWatermark("ts", "1 minute"))
    running = (
        found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    running.awaitTermination()
    ours = {(r.k, r.x): r.s for r in spark.read.parquet(str(tmp_path / "out")).collect()}
    theirs = {(r.k, r.x): r.s for r in sash.sql(query, t=batch).collect()}
    assert len(ours) >= 50
    assert ours == {key: theirs[key] for key in ours}


@pytest.mark.slow
def test_a_window_join_equals_that_in_process(spark: SparkSession) -> None:
    query = """SELECT s.user_id, s.y, count(*) AS n, sum(e.x * 2) AS total
               FROM spine s WINDOW JOIN events e ON s.user_id = e.user AND e.ts < s.asked_at
               RANGE BETWEEN '12 hours' PRECEDING AND CURRENT ROW"""
    tables = {"spine": SPINE, "events": EVENTS}
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    ours = sorted(map(tuple, sash.sql(query, **frames).collect()), key=repr)
    theirs = [tuple(row.values()) for row in sash.sql(query, **tables).to_pylist()]
    assert ours == sorted(theirs, key=repr)
