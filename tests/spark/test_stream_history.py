"""A streaming DataFrame that begins with a history: every answer is that of one batch over both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from tests.spark import streams
from tests.spark.test_stream import all_frames, by_time
from tests.spark.test_stream_kills import apart

CUT = 60  # seconds


def saved(spark: SparkSession, table: pa.Table, folder: Path, files: int = 3) -> Any:
    """A table as a DataFrame of several files."""
    streams.write(folder, streams.cut(table, files))
    return spark.read.schema(streams.SPARK).parquet(str(folder))


def parts(seed: int, spark: SparkSession, base: Path) -> tuple[Any, pa.Table, pa.Table]:
    """A history, and the rows of a stream that is written; some are in both. And all that count."""
    table = apart(streams.rows(np.random.default_rng(seed), 300, disorder=5))
    old = pc.less_equal(table.column("ts"), streams.at([CUT])[0])
    past, young = table.filter(old), table.filter(pc.invert(old))
    more = pa.concat_tables([past, young.slice(0, 20)])  # the stream has these too
    overlap = pa.concat_tables([past.slice(past.num_rows - 15), young])
    streams.write(base / "in", [*streams.cut(overlap, 3), streams.last()])
    mixed = more.take(pa.array(np.random.default_rng(seed).permutation(more.num_rows)))
    return saved(spark, mixed, base / "past"), overlap, table


def test_every_frame(spark: SparkSession, tmp_path: Path) -> None:
    past, overlap, table = parts(1, spark, tmp_path)
    cut = streams.at([CUT])[0].as_py()
    stream = streams.source(spark, tmp_path / "in")
    out = all_frames(stream, late="side", shards=2, history=past, cut=cut)
    streams.run(out, tmp_path)
    found = streams.written(spark, tmp_path)
    late = set(found.filter(found.column("late")).column("i").to_pylist())
    again = pc.less_equal(overlap.column("ts"), streams.at([CUT])[0])
    assert late == set(overlap.filter(again).column("i").to_pylist())  # the history has them
    on_time = found.filter(pc.invert(found.column("late"))).drop_columns(["late"])
    expected = all_frames(table)
    ready = set(on_time.column("i").to_pylist())
    young = expected.filter(pc.greater(expected.column("ts"), streams.at([CUT])[0]))
    assert len(set(young.column("i").to_pylist()) - ready) <= 2 * 6  # wait for rows after them
    assert streams.differing(on_time, streams.only(expected, ready), ["i"]) == {}


@pytest.mark.slow
def test_the_cut_is_the_youngest_time_and_a_restart_reads_no_history(
    spark: SparkSession, tmp_path: Path
) -> None:
    past, _, table = parts(2, spark, tmp_path)
    past = past.where(past.ts <= streams.at([CUT])[0].as_py())
    files = sorted((tmp_path / "in").glob("*.parquet"))
    for file in files[2:]:
        file.rename(tmp_path / file.name)

    def run(**options: Any) -> None:
        stream = streams.source(spark, tmp_path / "in")
        streams.run(by_time(stream, shards=2, history=past, **options), tmp_path)

    run()
    for file in (tmp_path / "past").iterdir():
        file.unlink()
    for file in files[2:]:
        (tmp_path / file.name).rename(file)
    run(cut=streams.at([CUT])[0].as_py())  # as a job would look for the youngest time
    found = streams.written(spark, tmp_path)
    expected = by_time(table)
    youngest = pc.max(table.filter(pc.less_equal(table["ts"], streams.at([CUT])[0]))["ts"])
    expected = expected.filter(pc.greater(expected.column("ts"), youngest))
    assert streams.differing(found, expected, ["i"]) == {}


@pytest.mark.slow
def test_a_history_without_rows_and_a_cut(spark: SparkSession, tmp_path: Path) -> None:
    table = apart(streams.rows(np.random.default_rng(3), 60, disorder=0))
    streams.write(tmp_path / "in", [table, streams.last()])
    past = spark.createDataFrame([], streams.SPARK)
    stream = streams.source(spark, tmp_path / "in")
    out = by_time(stream, shards=2, history=past, cut="2024-01-01 01:00:10")  # in Berlin
    streams.run(out, tmp_path)
    found = streams.written(spark, tmp_path)
    young = table.filter(pc.greater(table.column("ts"), streams.at([10])[0]))
    assert streams.differing(found, by_time(young), ["i"]) == {}


def test_what_is_wrong_is_said(spark: SparkSession, tmp_path: Path) -> None:
    streams.write(tmp_path / "in", [streams.last()])
    stream = streams.source(spark, tmp_path / "in")
    past = spark.createDataFrame([], streams.SPARK)

    def asked(**options: Any) -> Any:
        return sash.windowed(stream, "k", time="ts", **options).agg(n=sf.count().over("1 second"))

    with pytest.raises(KeyError, match="the history has no column 'w'"):
        asked(history=past.drop("w"))
    with pytest.raises(TypeError, match="history must be a batch DataFrame, not a streaming"):
        asked(history=stream)
    with pytest.raises(TypeError, match="history must be a batch DataFrame"):
        asked(history=streams.last())
    with pytest.raises(TypeError, match=r"cut is .* give history="):
        asked(cut="2024-01-01")
    with pytest.raises(TypeError, match="cut: 'soon' is no time of 'ts'"):
        asked(history=past, cut="soon")
    with pytest.raises(TypeError, match="history is for a streaming DataFrame"):
        sash.windowed(past, "k", time="ts", history=past).agg(n=sf.count().over("1 second"))
    said = sash.windowed(stream, "k", time="ts", history=past).explain(n=sf.count().over("1 hour"))
    assert "the state is built from it in a batch" in str(said)
