"""A Spark stream with emit="update" into a sink: a reader gives what the stream in process has."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from sash import serve, stores
from tests.spark import stream_driver, streams
from tests.spark.test_stream_kills import apart, batches, kill_drivers


def values(data: Any, **options: Any) -> Any:
    return sash.windowed(data, "k", time="ts", emit="update", **options).agg(**FEATURES)


FEATURES = {
    "n": sf.count().over("20 seconds"),
    "a": sf.apply(streams.AFFINE, "v").over("40 seconds"),
    "last4": sf.collect_list("i").over(sash.rows(4)),
    "visit": sf.count("x").over(sash.session("3 seconds")),
}


def run(out: Any, sink: Any, base: Path) -> None:
    writer = out.writeStream.foreachBatch(sink).outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(base / "cp")).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()


@pytest.mark.slow
def test_a_reader_gives_what_a_stream_in_process_has(spark: SparkSession, tmp_path: Path) -> None:
    """With a history, a sink that fails once, and a restart."""
    table = apart(streams.rows(np.random.default_rng(5), 240, disorder=0))
    past, first, second = streams.cut(table, 3)
    streams.write(tmp_path / "past", [past])
    history = spark.read.schema(streams.SPARK).parquet(str(tmp_path / "past"))
    store = stores.open(f"lmdb:{tmp_path / 'served'}")
    sink, reader, failed = serve.Sink(store), serve.Reader(store), []

    def once(batch: Any, number: int) -> None:
        if number == 1 and not failed:
            failed.append(number)
            raise OSError("the sink was killed")
        sink(batch, number)

    streams.write(tmp_path / "in", streams.cut(first, 2))
    out = values(streams.source(spark, tmp_path / "in"), shards=2, history=history)
    with pytest.raises(Exception, match="the sink was killed"):
        run(out, once, tmp_path)
    streams.write(tmp_path / "in", [second])
    run(values(streams.source(spark, tmp_path / "in"), shards=2, history=history), once, tmp_path)

    live = sash.stream("k", time="ts", emit="update", history=past).agg(**FEATURES)
    rest = pa.concat_tables([first, second])
    live.feed(rest.filter(pc.less_equal(rest["ts"], pa.scalar(reader.watermark, rest["ts"].type))))
    live.advance(reader.watermark)
    keys = [*sorted({k for k in table["k"].to_pylist() if k}), None, "nobody"]
    assert reader.get_many(keys) == [live.current(k=key) for key in keys]
    assert sum(value["n"] for value in reader.get_many(keys)) > 0
    assert reader.fingerprint == serve.fingerprint(out)


@pytest.mark.slow
def test_after_kills_a_reader_gives_what_a_batch_gives(
    spark: SparkSession, tmp_path: Path, new_server: Callable[..., Any]
) -> None:
    """SASH_KILLS=12 of drivers and their Python workers, while values go to Redis. After
    the last kill, and at the end, a reader gives what as-of windows give at its watermark."""
    kills = int(os.environ.get("SASH_KILLS", "12"))
    table = apart(streams.rows(np.random.default_rng(11), 400 * kills, disorder=0))
    files, url = iter(streams.cut(table, 16 * kills)), new_server().url
    kill_drivers(tmp_path, kills, random.Random(11), files, url)
    with serve.Reader(url) as reader:
        assert_as_a_batch(reader, table)
    source = streams.source(spark, tmp_path / "in")
    streams.serve(stream_driver.define(source, emit="update", shards=2), tmp_path, url)
    with serve.Reader(url) as reader:
        assert reader.batch == batches(tmp_path) - 1
        assert_as_a_batch(reader, table)


def assert_as_a_batch(reader: serve.Reader, table: pa.Table) -> None:
    """A reader's values are those of as-of windows at its watermark, over all rows."""
    keys = [*sorted({k for k in table["k"].to_pylist() if k}), None, "nobody"]
    now = pa.array([reader.watermark] * len(keys), table["ts"].type)
    spine = pa.table({"k": pa.array(keys, pa.string()), "ts": now})
    windows = sash.windowed(table, "k", time="ts").at(spine, closed="both")
    wanted = windows.agg(**stream_driver.features()).drop_columns(["k", "ts"])
    assert reader.get_many(keys) == wanted.to_pylist()


def test_what_is_wrong_is_said(spark: SparkSession, tmp_path: Path) -> None:
    streams.write(tmp_path / "in", [streams.last()])
    stream = streams.source(spark, tmp_path / "in")
    with pytest.raises(ValueError, match="late='side' gives rows"):
        values(stream, late="side")
    with pytest.raises(ValueError, match="emit='update' waits for the watermark"):
        values(streams.source(spark, tmp_path / "in", delay=None))
    with pytest.raises(ValueError, match="lead gives values ahead"):
        sash.windowed(stream, "k", time="ts", lead="1 second").agg(n=sf.count().over("1 second"))
    said = sash.windowed(stream, "k", time="ts", emit="update", lead="1 minute").explain(**FEATURES)
    assert "as of the watermark, and up to 1 minute ahead" in str(said)
