"""Edges on Spark: keys and times that are null, types that have no order, frames that are empty."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

import sash
from sash import Monoid
from sash import functions as sf
from tests.spark import streams


@pytest.mark.slow
def test_nulls_in_several_keys_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's hashes skip nulls: (null, a) and (a, null) were taken for one key."""
    keys = [(None, "a"), ("a", None), ("a", "a"), (None, None)]
    rows = [{"k": k, "j": j, "ts": t, "i": 4 * t + n} for t in range(3)
            for n, (k, j) in enumerate(keys)]  # fmt: skip
    table = pa.Table.from_pylist([*rows, {"k": "end", "j": "", "ts": 10**6, "i": -1}])
    table = table.set_column(2, "ts", streams.at(table.column("ts").to_numpy()))
    (tmp_path / "in").mkdir()
    for number, part in enumerate([table.slice(0, 12), table.slice(12)]):
        pq.write_table(part, tmp_path / "in" / f"{number}.parquet")
    read = spark.readStream.schema("k string, j string, ts timestamp, i long")
    stream = read.parquet(str(tmp_path / "in")).withWatermark("ts", "0 seconds")
    asked = {"list": sf.collect_list("i").over("1 hour")}
    out = sash.windowed(stream, ["k", "j"], time="ts", shards=1).agg(**asked)
    streams.run(out, tmp_path)
    expected = sash.windowed(table.slice(0, 12), ["k", "j"], time="ts").agg(**asked)
    found = streams.without(streams.written(spark, tmp_path), {-1})
    assert streams.differing(found, expected, ["i"]) == {}


@pytest.mark.parametrize("kind", ["array<int>", "struct<a:int>", "map<string,int>"])
def test_nested_keys_are_refused_before_anything_runs(spark: SparkSession, kind: str) -> None:
    df = spark.createDataFrame([], f"k {kind}, t long")
    with pytest.raises(TypeError, match=r"the key 'k' is .*: make its parts columns of their own"):
        sash.windowed(df, "k", time="t").agg(n=sf.count().over(sash.rows(2)))


def test_a_key_and_a_column_of_type_void(spark: SparkSession) -> None:
    df = spark.sql("SELECT id AS t, NULL AS k FROM range(3)")
    out = sash.windowed(df, "k", time="t").agg(n=sf.count().over(sash.rows(2)))
    assert [row.n for row in out.orderBy("t").collect()] == [1, 2, 2]
    with pytest.raises(TypeError, match="y: sum takes a column of numbers, but k is null: cast it"):
        sash.windowed(df, time="t").agg(y=sf.sum("k").over(sash.rows(2)))


@pytest.mark.slow
def test_rows_without_a_time_reach_each_other_as_in_spark(spark: SparkSession) -> None:
    """For a row without a time, -3 to -1 is what 0 to 0 is; split over time, too."""
    rows = [(None if i % 5 == 0 else i * 7 % 30, i) for i in range(60)]
    df = spark.createDataFrame(rows, "t int, i int")
    frames = {"before": (-3, -1), "after": (1, 2), "around": (-2, 1)}
    for way in ("asc", "desc"):
        order = F.col("t").asc() if way == "asc" else F.col("t").desc()
        over = {n: Window.orderBy(order).rangeBetween(*ends) for n, ends in frames.items()}
        theirs = {n: F.sort_array(F.collect_list("i").over(w)) for n, w in over.items()}
        expected = df.select("i", *(column.alias(n) for n, column in theirs.items())).collect()
        asked = {name: sf.collect_list("i").over(sash.range_between(*ends))
                 for name, ends in frames.items()}  # fmt: skip
        for split in (False, True):
            work = sash.windowed(df, time="t", descending=way == "desc", split=split)
            found = {row.i: row for row in work.agg(**asked).collect()}
            for row in expected:
                for name in frames:
                    assert sorted(found[row.i][name]) == row[name], (way, split, name, row.i)


def test_values_of_unusual_types(spark: SparkSession) -> None:
    """Distinct arrays and structs, medians of decimals, as Spark's own aggregations have them."""
    df = spark.sql("""SELECT * FROM VALUES
        (1, array(1), named_struct('a', 1), 1.50BD), (2, array(1), named_struct('a', 2), 2.50BD),
        (3, array(2), named_struct('a', 2), NULL) AS v(t, a, s, d)""")
    asked = {"a": sf.count_distinct("a"), "s": sf.count_distinct("s"), "d": sf.median("d")}
    named = {f"of_{name}": each.over(sash.rows(3)) for name, each in asked.items()}
    last = sash.windowed(df, time="t").agg(**named).orderBy("t").collect()[-1]
    theirs = df.agg(F.count_distinct("a"), F.count_distinct("s"), F.median("d")).collect()[0]
    assert tuple(last)[-3:] == tuple(theirs) == (2, 2, 2.0)


def test_a_duration_that_is_no_whole_number_of_days_over_dates(spark: SparkSession) -> None:
    df = spark.sql("SELECT date'2024-01-01' AS d")
    with pytest.raises(ValueError, match="no whole number of the time column's steps of 1 day"):
        sash.windowed(df, time="d").agg(n=sf.count().over("36 hours"))


def test_times_come_to_monoids_in_nanoseconds(spark: SparkSession) -> None:
    """As in process, though Spark keeps microseconds."""
    latest = Monoid("latest", 0, int, lambda a, b: b if b else a)
    df = spark.sql("SELECT timestamp_seconds(id) AS t, date_from_unix_date(id) AS d FROM range(2)")
    inputs = {"at": "t", "day": "d", "time": sf.TIME}
    asked = {out: sf.apply(latest, name).over("1 hour") for out, name in inputs.items()}
    out = sash.windowed(df, time="t").agg(**asked)
    rows = [(row["at"], row.day, row.time) for row in out.orderBy("t").collect()]
    assert rows == [(0, 0, 0), (10**9, 86_400 * 10**9, 10**9)]
