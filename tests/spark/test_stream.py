"""A stream gives what the batch gives, row for row: every frame, rows out of order, restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from tests.spark import streams
from tests.spark.native import settings
from tests.spark.streams import AFFINE, WORDS

DELAY = 10  # seconds of the watermark


def all_frames(data: Any, by: Any = "k", **options: Any) -> Any:
    """Each frame, and over each a monoid for which order matters."""
    high = sash.until(lambda x: x is not None and x > 0.8, "x")
    policy = sash.policy(lambda total, old: total - old > 2, of=sash.monoids.Count())
    affine = sf.apply(AFFINE, "v")
    return sash.windowed(data, by, time="ts", **options).agg(
        n=sf.count("x").over("20 seconds"),
        s=sf.sum("x").over("20 seconds", closed="right"),
        a=affine.over("20 seconds"),
        words=sf.apply(WORDS, "w", returns=pa.string()).over("20 seconds"),
        around=sf.sum("v").over(sash.range_between("-5 seconds", "4 seconds")),
        last4=affine.over(sash.rows(4)),
        near=sf.collect_list("i").over(sash.rows_between(-2, 2)),
        visit=affine.over(sash.session("3 seconds")),
        close=sf.collect_list("i").over(sash.delta("v", 300)),
        anew=affine.over(high),
        few=sf.sum("v").over(policy),
        slid=affine.over(sash.sliding("12 seconds", "5 seconds")),
        ever=affine.over(sash.lifetime()),
    )


def by_time(data: Any, by: Any = ("k", "g"), **options: Any) -> Any:
    """Windows by time alone, of which nothing is kept."""
    return sash.windowed(data, by, time="ts", **options).agg(
        n=sf.count().over("20 seconds"),
        mean=sf.mean("x").over("20 seconds"),
        who=sf.argmax("v", "w").over("40 seconds"),
        a=sf.apply(AFFINE, "v").over("40 seconds"),
        words=sf.apply(WORDS, "w", returns=pa.string()).over("10 seconds", closed="right"),
    )


def slides(data: Any, **options: Any) -> Any:
    work = sash.windowed(data, "k", time="ts", **options).every("5 seconds")
    return work.agg(
        n=sf.count().over("12 seconds"),
        a=sf.apply(AFFINE, "v").over("12 seconds"),
        b=sf.apply(AFFINE, "v").over(sash.sliding("20 seconds", "10 seconds", closed="right")),
    )


def slides_by_rows(data: Any, **options: Any) -> Any:
    work = sash.windowed(data, "k", time=["ts", "i"], **options).every(sash.rows(3))
    return work.agg(
        n=sf.count().over(sash.rows(5)),
        first=sf.min("i").over(sash.rows(5)),
        a=sf.apply(AFFINE, "v").over(sash.rows(7)),
    )


def test_every_frame(spark: SparkSession, tmp_path: Path) -> None:
    """With a restart in the middle, on another number of partitions."""
    table = streams.rows(np.random.default_rng(1), 400)
    files = [*streams.cut(table, 3), streams.last()]
    streams.write(tmp_path / "in", files[:2])
    figures = streams.run(
        all_frames(streams.source(spark, tmp_path / "in"), late="side", shards=4), tmp_path
    )
    streams.write(tmp_path / "in", files[2:])
    with settings(spark, {"spark.sql.shuffle.partitions": "2"}):
        out = all_frames(streams.source(spark, tmp_path / "in"), late="side", shards=4)
        figures += streams.run(out, tmp_path)
    found = streams.written(spark, tmp_path)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    assert late
    expected = all_frames(streams.without(table, late))
    on_time = found.filter(pa.array([not f for f in found.column("late").to_pylist()]))
    ready = set(on_time.column("i").to_pylist())  # the last two rows of a key wait for others
    assert len(ready) >= 400 - len(late) - 2 * 7
    expected = streams.only(expected, ready)
    assert streams.differing(on_time, expected, ["i"]) == {}
    assert sum(each["rows_in"] for each in figures) == 401
    assert sum(each["rows_late"] for each in figures) == len(late)


@pytest.mark.slow
def test_windows_by_time_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Several keys, no local copies of pages; late rows are those that Spark holds late."""
    table = streams.rows(np.random.default_rng(2), 300, disorder=120)
    files = [*streams.cut(table, 3), streams.last()]
    late = streams.late(files, DELAY)
    streams.write(tmp_path / "in", files)
    stream = streams.source(spark, tmp_path / "in")
    figures = streams.run(by_time(stream, shards=2, cache=False), tmp_path)
    found = streams.written(spark, tmp_path)
    assert late
    assert streams.differing(found, by_time(streams.without(table, late)), ["i"]) == {}
    assert sum(each["rows_late"] for each in figures) == len(late)
    assert [each["rows_in"] for each in figures] == [100] * 3 + [1, 0]
    assert sum(each["rows_out"] for each in figures) == found.num_rows
    assert figures[-1]["state_rows"] == 1  # the last row waits, all others have gone


@pytest.mark.slow
def test_windows_every_slide(spark: SparkSession, tmp_path: Path) -> None:
    table = streams.rows(np.random.default_rng(3), 300, disorder=120)
    files = [*streams.cut(table, 3), streams.last()]
    late = streams.late(files, DELAY)
    streams.write(tmp_path / "in", files)
    streams.run(slides(streams.source(spark, tmp_path / "in"), late="side", shards=2), tmp_path)
    found = streams.written(spark, tmp_path)
    marked = found.column("late")
    assert sum(marked.to_pylist()) == len(late) > 0
    on_time = found.filter(pa.compute.invert(marked)).drop_columns(["late"])
    expected = slides(streams.without(table, late))
    assert streams.differing(on_time, expected, ["k", "window", "window_start"]) == {}
    columns = ["k", "window", "window_start", "window_end", "n", "a", "b"]
    assert found.column_names == [*columns, "late"]
    assert expected.column_names == columns


@pytest.mark.slow
def test_windows_by_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = streams.rows(np.random.default_rng(3), 300, disorder=120)
    files = [*streams.cut(table, 3), streams.last()]
    late = streams.late(files, DELAY)
    streams.write(tmp_path / "in", files)
    streams.run(slides_by_rows(streams.source(spark, tmp_path / "in"), shards=2), tmp_path)
    found = streams.written(spark, tmp_path)
    expected = slides_by_rows(streams.without(table, late))
    order = ["k", "window", "window_end", "window_start", "first"]
    assert streams.differing(found, expected, order) == {}
    assert found.num_rows == expected.num_rows > 100


def test_at_once_as_known(spark: SparkSession, tmp_path: Path) -> None:
    """emit="arrival": each row in its own micro-batch, over no key."""
    table = streams.rows(np.random.default_rng(4), 300, disorder=120)
    files = streams.cut(table, 3)
    late = streams.late(files, DELAY)
    streams.write(tmp_path / "in", files)
    stream = streams.source(spark, tmp_path / "in")
    figures = streams.run(by_time(stream, (), emit="arrival", shards=2), tmp_path)
    expected, known = [], table.slice(0, 0)
    for file in files:
        known = pa.concat_tables([known, streams.without(file, late)])
        fresh = set(file.column("i").to_pylist())
        expected.append(streams.only(by_time(known, ()), fresh))
    found = streams.written(spark, tmp_path)
    assert late
    assert streams.differing(found, pa.concat_tables(expected), ["i"]) == {}
    assert [each["rows_out"] for each in figures[:3]] == [t.num_rows for t in expected]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_random_streams(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """All frames and windows by time in random micro-batches, restarted between them at random."""
    rng = np.random.default_rng(100 + seed)
    keys, disorder = int(rng.integers(1, 40)), int(rng.integers(0, 60))
    table = streams.rows(rng, 500, keys, disorder)
    edges = np.sort(rng.integers(0, 500, 4)).tolist()
    files = [table.slice(a, b - a) for a, b in zip([0, *edges], [*edges, 500])]
    for name, define, by in (("all", all_frames, "k"), ("time", by_time, ("k", "g"))):
        folder, stop = tmp_path / f"{name}-in", int(rng.integers(1, 5))
        for some in (files[:stop], [*files[stop:], streams.last()]):
            streams.write(folder, some)
            stream = streams.source(spark, folder)
            streams.run(define(stream, by, late="side", shards=4), tmp_path, name)
        found = streams.written(spark, tmp_path, name)
        late = set(found.filter(found.column("late")).column("i").to_pylist())
        on_time = streams.without(found, late)
        expected = define(streams.without(table, late), by)
        assert len(late) + on_time.num_rows >= (500 if name == "time" else 500 - 2 * (keys + 1))
        ready = set(on_time.column("i").to_pylist())
        assert streams.differing(on_time, streams.only(expected, ready), ["i"]) == {}


def test_a_file_of_a_checkpoint_replaces_the_one_that_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of a batch that is cut off and run again, the state that counts is that of the second run:
    Spark goes on from it in memory, and after the next start from the file."""
    streaming = spark._jvm.org.apache.spark.sql.execution.streaming
    newer = streaming.checkpointing.CheckpointFileManager  # Spark 4.0 has it one package further up
    managers = newer if isinstance(newer, JavaClass) else streaming.CheckpointFileManager
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    path = spark._jvm.org.apache.hadoop.fs.Path
    manager = managers.create(path(str(tmp_path)), settings)
    for text in (b"first", b"second"):
        file = manager.createAtomic(path(str(tmp_path / "state")), True)
        file.write(bytearray(text))
        file.close()
    assert (tmp_path / "state").read_bytes() == b"second"
    assert {each.name for each in tmp_path.iterdir()} == {"state"}  # and no file of checksums
