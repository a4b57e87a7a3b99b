"""Run by test_connect.py in a process of its own: the same calls through Spark Connect."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash
import sash.spark
from sash import functions as sf
from sash.spark.streaming import PROVIDER, ROCKSDB
from tests.spark import streams
from tests.spark.native import differing, table

HOUR = 3_600_000_000


def main() -> None:
    importlib.import_module("sash.spark.session")._prepare_environment()
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = spark.createDataFrame(table(200))
        assert type(df).__module__.startswith("pyspark.sql.connect"), type(df)
        checks = [by_duration, by_spec, with_splits, explained, refused]
        for check in [streamed] if sys.argv[1:] == ["streamed"] else checks:
            check(df)
            print("ok", check.__name__, flush=True)
    finally:
        spark.stop()


def by_duration(df: DataFrame) -> None:
    asked = {"rows": sf.count(), "hi": sf.max("x"), "who": sf.argmax("seq", "s")}
    out = sash.windowed(df, "k", time="ts").agg(**{n: a.over("1 hour") for n, a in asked.items()})
    w = Window.partitionBy("k").orderBy(F.unix_micros("ts")).rangeBetween(-HOUR, 0)
    theirs = {"rows": F.count("*"), "hi": F.max("x"), "who": F.max_by("s", "seq")}
    assert differing(out, {n: column.over(w) for n, column in theirs.items()}) == {}


def by_spec(df: DataFrame) -> None:
    second = F.col("ts").cast("long")
    for w in (
        Window.partitionBy("k").orderBy(second.desc()).rangeBetween(-3600, 0),
        Window.partitionBy("`k`", F.col("seq") % 2).orderBy("ts", "seq").rowsBetween(-3, 2),
        Window.partitionBy("k").orderBy("ts"),
    ):
        out = sash.windowed(df).agg(rows=sf.count().over(w), hi=sf.max("n").over(w))
        assert differing(out, {"rows": F.count("*").over(w), "hi": F.max("n").over(w)}) == {}
    bound = Window.partitionBy(df["k"]).orderBy(df["ts"].desc())
    assert sash.windowed(df).agg(rows=sf.count().over(bound)).count() == df.count()
    with pytest.raises(ValueError, match="leave by= out"):
        sash.windowed(df, "s").agg(c=sf.count().over(bound))


def with_splits(df: DataFrame) -> None:
    for by in ([], ["k"]):
        out = sash.windowed(df, by, time="ts", split=True).agg(rows=sf.count().over("10 min"))
        w = Window.partitionBy(*by).orderBy(F.unix_micros("ts")).rangeBetween(-HOUR // 6, 0)
        assert differing(out, {"rows": F.count("*").over(w)}) == {}


def explained(df: DataFrame) -> None:
    text = sash.windowed(df, "k", time="ts").explain(rows=sf.count().over("1 hour"))
    assert "shuffle   by k, into 3 partitions" in text, text
    assert "MB are not worth it" in text, text


def refused(df: DataFrame) -> None:
    with pytest.raises(TypeError, match="c: sum takes a column of numbers"):
        sash.windowed(df, "k", time="ts").agg(c=sf.sum("s").over("1 hour"))


def streamed(df: DataFrame) -> None:
    spark = df.sparkSession
    spark.conf.set(PROVIDER, ROCKSDB)
    rows = streams.rows(np.random.default_rng(30), 60, disorder=5)
    asked = {"n": sf.count().over("20 seconds"), "last": sf.max("v").over(sash.rows(3))}
    listener = sash.spark.Progress(None)
    spark.streams.addListener(listener)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        streams.write(base / "in", [rows, streams.last()])
        stream = streams.source(spark, base / "in")
        streams.run(sash.windowed(stream, "k", time="ts", shards=1).agg(**asked), base)
        found = streams.written(spark, base)
        held = sash.spark.read_state(spark, str(base / "out.checkpoint")).collect()
    spark.streams.removeListener(listener)
    expected = sash.windowed(rows, "k", time="ts").agg(**asked)
    assert streams.differing(found, expected, ["i"]) == {}
    assert "end" in {row.k for row in held}
    assert sum(each["rows_out"] for each in listener.recent) == 60, listener.recent


if __name__ == "__main__":
    main()
