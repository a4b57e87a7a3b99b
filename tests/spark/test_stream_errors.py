"""What is wrong with a stream is said when the call is made; what can't be, by the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from sash.engine.stream.compatibility import accepts, described
from sash.engine.stream.manifest import Manifest
from sash.engine.stream.pages import StateError
from sash.spark.streaming import PROVIDER, SparkStreamOptions, definition_of, prepare
from tests.spark import streams
from tests.spark.native import settings

N = sf.count().over("1 minute")

WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown emit": (
        {"emit": "now"},
        ValueError,
        "emit must be one of final, arrival, update, not 'now'",
    ),
    "unknown late": ({"late": "drop"}, ValueError, "late must be one of count, side, not 'drop'"),
    "no shards": ({"shards": 0}, ValueError, "shards must be a whole number from 1 to 65536"),
    "a batch's option": (
        {"partitions": 3},
        TypeError,
        "partitions is for a batch DataFrame",
    ),
    "no option": ({"banana": 1}, TypeError, "banana is not an option; a streaming DataFrame has"),
    "no final time": ({"time": "v"}, TypeError, "for timestamps alone, and 'v' is bigint: cast it"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_call(spark: SparkSession, tmp_path: Path, case: str) -> None:
    given, error, message = WRONG[case]
    stream = streams.source(spark, tmp_path)
    asked = sf.count().over(sash.rows(3))
    arguments = {"by": "k", "time": "ts", **given}
    with pytest.raises(error, match=message):
        sash.windowed(stream, **arguments).agg(n=asked)
    with pytest.raises(error, match=message):
        sash.windowed(stream, **arguments).explain(n=asked)


def test_watermarks(spark: SparkSession, tmp_path: Path) -> None:
    none = streams.source(spark, tmp_path, None)
    with pytest.raises(ValueError, match=r"add \.withWatermark\('ts', '10 minutes'\) before"):
        sash.windowed(none, "k", time="ts").agg(n=N)
    other = none.withColumn("seen", F.current_timestamp()).withWatermark("seen", "1 minute")
    with pytest.raises(ValueError, match="the watermark is on 'seen', the windows' time is 'ts'"):
        sash.windowed(other, "k", time="ts").agg(n=N)
    assert sash.windowed(none, "k", time="ts", emit="arrival").agg(n=N).isStreaming


def test_what_has_no_final_answer(spark: SparkSession, tmp_path: Path) -> None:
    stream = streams.source(spark, tmp_path)
    endless = sf.count().over(sash.rows_between(0, None))
    with pytest.raises(ValueError, match=r"n: .* never ends on a stream.*emit='arrival'"):
        sash.windowed(stream, "k", time="ts").agg(n=endless)
    work = sash.windowed(stream, "k", time="ts", emit="arrival").every("10 seconds")
    with pytest.raises(ValueError, match="every gives a window once"):
        work.agg(n=N)
    taken = sash.windowed(stream.withColumnRenamed("w", "Late"), "k", time="ts", late="side")
    with pytest.raises(ValueError, match="adds a column 'late', and there is one"):
        taken.agg(n=N)


def test_the_state_store(spark: SparkSession, tmp_path: Path) -> None:
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    with (
        settings(spark, {PROVIDER: other}),
        pytest.raises(ValueError, match=f"set {PROVIDER} to .*RocksDB.*it is {other}"),
    ):
        sash.windowed(streams.source(spark, tmp_path), "k", time="ts").agg(n=N)


def test_a_streams_options_elsewhere(spark: SparkSession) -> None:
    table = streams.last()
    batch = spark.createDataFrame(table)
    with pytest.raises(TypeError, match="emit is for a streaming DataFrame; a batch DataFrame has"):
        sash.windowed(batch, "k", time="ts", emit="arrival").agg(n=N)
    for data in (table, table.to_pandas()):
        with pytest.raises(TypeError, match="emit is for a streaming DataFrame; a table in"):
            sash.windowed(data, "k", time="ts", emit="arrival").agg(n=N)


def test_other_output_modes(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself refuses Complete when the query starts; Update is the same as Append."""
    streams.write(tmp_path / "in", [streams.last(1), streams.last(2), streams.last()])
    out = sash.windowed(streams.source(spark, tmp_path / "in"), "k", time="ts", shards=1).agg(n=N)
    with pytest.raises(Exception, match=r"STREAMING_OUTPUT_MODE\.UNSUPPORTED_OPERATION"):
        out.writeStream.format("noop").outputMode("complete").start()
    writer = out.writeStream.format("memory").queryName("updated").trigger(availableNow=True)
    writer.outputMode("update").start().awaitTermination()
    assert [row.n for row in spark.table("updated").orderBy("ts").collect()] == [1, 2]


def test_null_times(spark: SparkSession, tmp_path: Path) -> None:
    streams.write(tmp_path / "in", [streams.last()])
    stream = streams.source(spark, tmp_path / "in", None)
    holes = stream.withColumn("ts", F.lit(None).cast("timestamp")).withWatermark("ts", "1 minute")
    with pytest.raises(Exception, match=r"the time column 'ts' has 1 null\(s\): drop those rows"):
        streams.run(sash.windowed(holes, "k", time="ts", shards=1).agg(n=N), tmp_path)


def test_another_definition_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """Refused by name; other aggregations of the same rows go on."""
    table = streams.rows(np.random.default_rng(11), 90, disorder=5)
    files = streams.cut(table, 2)
    streams.write(tmp_path / "in", files[:1])

    def out(
        span: str, shards: int | None = 1, by: str = "k", answer: Any = None, **options: Any
    ) -> Any:
        answer = sf.sum("v") if answer is None else answer
        stream = streams.source(spark, tmp_path / "in")
        work = sash.windowed(stream, by, time="ts", shards=shards, **options)
        return work.agg(s=answer.over(span))

    known = {"checkpoint": tmp_path / "out.checkpoint"}
    streams.run(out("1 minute", **known), tmp_path)
    first = set(streams.written(spark, tmp_path).column("i").to_pylist())
    streams.write(tmp_path / "in", [files[1], streams.last()])
    for arguments, message in (
        ({"span": "2 minutes"}, "windows have become longer: they reach back to 20"),
        ({"span": "1 minute", "by": "w"}, "keys: k then, w now"),
        (
            {"span": "1 minute", "shards": 2},
            r"started with 1 shards, now there are 2.*windowed\(…, shards=1\)",
        ),
    ):
        with pytest.raises(StateError, match=message) as caught:  # by the call, on the driver
            out(**arguments, **known)
        assert "\n" not in str(caught.value)
    with pytest.raises(Exception, match="keys: k then, w now"):  # by the query, in a worker
        streams.run(out("1 minute", by="w"), tmp_path)
    goes_on = out("30 seconds", shards=None, answer=sf.max("v"), **known)  # with one shard
    streams.run(goes_on, tmp_path)
    found = streams.written(spark, tmp_path)
    before = sash.windowed(table, "k", time="ts").agg(s=sf.sum("v").over("1 minute"))
    after = sash.windowed(table, "k", time="ts").agg(s=sf.max("v").over("30 seconds"))
    expected = pa.concat_tables([streams.only(before, first), streams.without(after, first)])
    assert 0 < len(first) < 90
    assert streams.differing(found, expected, ["i"]) == {}


@pytest.mark.slow
def test_a_source_that_repeats_rows(spark: SparkSession, tmp_path: Path) -> None:
    """It gives two rows of one, unless duplicates are dropped before the call."""
    table = streams.rows(np.random.default_rng(12), 120, disorder=5)
    half, rest = streams.cut(table, 2)

    def out(drop: bool) -> Any:
        stream = streams.source(spark, tmp_path / "in", "30 seconds")
        stream = stream.dropDuplicatesWithinWatermark(["i"]) if drop else stream
        work = sash.windowed(stream, "k", time="ts", shards=1)
        return work.agg(n=sf.count().over("20 seconds"))

    streams.write(tmp_path / "in", [half])
    streams.run(out(True), tmp_path, "once")
    streams.write(tmp_path / "in", [half.slice(half.num_rows - 20), rest, streams.last()])
    streams.run(out(True), tmp_path, "once")
    streams.run(out(False), tmp_path, "twice")
    found = streams.written(spark, tmp_path, "once")
    expected = sash.windowed(table, "k", time="ts").agg(n=sf.count().over("20 seconds"))
    assert streams.differing(found, expected, ["i"]) == {}
    assert streams.written(spark, tmp_path, "twice").num_rows == 140


def test_state_of_an_earlier_version(spark: SparkSession, tmp_path: Path) -> None:
    """It has hashes of integers: a call that knows the checkpoint goes on with them."""
    stream = streams.source(spark, tmp_path)
    query = sash.windowed(stream, "g", time="ts").query(n=N)
    job = prepare(stream, query, SparkStreamOptions())
    known = definition_of(job, SparkStreamOptions(shards=16))
    before = described(known)
    assert before.pop("numbers") == "own"
    with pytest.raises(StateError, match=r"earlier version of Sash.*windowed\(…, checkpoint=…\)"):
        accepts(known, before, None, None)
    goes_on = definition_of(job, SparkStreamOptions(), [[Manifest(before)]])
    assert (goes_on.numbers, goes_on.shards) == ("hashed", 16)
    assert not accepts(goes_on, before, None, None)
    again = definition_of(job, SparkStreamOptions(), [[Manifest(described(goes_on))]])
    assert again.numbers == "hashed"
