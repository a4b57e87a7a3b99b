"""Edges on Spark: keys and times that are null, types that have no order, frames that are empty."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from tests.spark import streams


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
