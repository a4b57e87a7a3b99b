"""Streams from outside: progress as a person reads it, a checkpoint's rows, the plan in words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import functions as sf
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.keys import with_keys
from sash.engine.stream.manifest import NAME, Manifest
from sash.engine.stream.pages import BytesPages
from sash.engine.stream.shard import Shard
from sash.engine.stream.work import Work
from sash.plan.plan import Options
from sash.plan.planner import plan_of
from sash.spark.state import rows_of
from tests.spark import streams


def windows(data: Any, **options: Any) -> Any:
    return sash.windowed(data, "k", time="ts", **options).agg(
        n=sf.count().over("20 seconds"), s=sf.sum("v").over("20 seconds")
    )


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not until() and time.monotonic() < end:
        time.sleep(0.05)


def test_progress_and_state(spark: SparkSession, tmp_path: Path) -> None:
    table = streams.rows(np.random.default_rng(20), 200, disorder=5)
    streams.write(tmp_path / "in", streams.cut(table, 2))
    lines: list[str] = []
    listener = sash.spark.Progress(lines.append)
    spark.streams.addListener(listener)
    try:
        streams.run(windows(streams.source(spark, tmp_path / "in"), shards=2), tmp_path)
        wait(lambda: len(lines) == 3)
    finally:
        spark.streams.removeListener(listener)
    first, second, third = listener.recent
    assert (first["rows_in"], second["rows_in"], third["rows_in"]) == (100, 100, 0)
    assert first["aggregations"] == "n, s"
    assert first["watermark"] is None
    assert sum(each["rows_out"] for each in listener.recent) == answered(spark, tmp_path)
    pattern = (
        r".*, batch 1: 100 rows in, \d+ out, 0 late; \d+ keys; state 200 rows, \d+\.\d kB; "
        r"\d+\.\d\d s, \d+ rows/s; watermark 2024-01-01T00:00:\d\d.\d+Z"
    )
    assert re.fullmatch(pattern, lines[1]), lines
    held = sash.spark.read_state(spark, str(tmp_path / "out.checkpoint")).toArrow()
    check_rows(held, table, third["state_rows"], answered(spark, tmp_path))
    about = sash.spark.describe_state(spark, str(tmp_path / "out.checkpoint"))
    assert (about["rows"], about["bytes"]) == (third["state_rows"], third["state_bytes"])
    assert about["shards"] == about["definition"]["shards"] == 2
    assert about["watermark"].isoformat()[:19] == third["watermark"][:19]
    assert about["definition"]["aggregations"]["s"] == "sum(v) over the last 20 seconds"
    leaves_nothing(spark, tmp_path)


def answered(spark: SparkSession, base: Path) -> int:
    return streams.written(spark, base).num_rows


def check_rows(held: Any, table: Any, count: int, out: int) -> None:
    """Rows that wait have all of their columns; those that are answered, what windows read."""
    names = ["shard", "k", "ts", "v", "g", "x", "w", "i", "answered"]
    assert sorted(held.column_names) == sorted(names)
    rows = held.to_pylist()
    assert len(rows) == count
    waiting = [row for row in rows if not row["answered"]]
    assert len(waiting) == table.num_rows - out > 0
    assert len(waiting) < len(rows)
    known = {row["i"]: row for row in table.to_pylist()}
    for row in waiting:
        same = known[row["i"]]
        assert [row[c] for c in ("k", "ts", "v", "w")] == [same[c] for c in ("k", "ts", "v", "w")]
    shards: dict[Any, set[int]] = {}
    for row in rows:
        shards.setdefault(row["k"], set()).add(row["shard"])
    assert all(len(found) == 1 for found in shards.values())


def leaves_nothing(spark: SparkSession, base: Path) -> None:
    """Keys whose windows are empty have no rows in the state."""
    streams.write(base / "in", [streams.last()])
    streams.run(windows(streams.source(spark, base / "in"), shards=2), base)
    rows = sash.spark.read_state(spark, str(base / "out.checkpoint")).collect()
    assert [(row.k, row.answered) for row in rows] == [("end", False)]


class InMemory(dict[str, bytes]):
    """A shard's pages, as a state store has them."""

    def put(self, name: str, data: Any) -> None:
        self[name] = bytes(memoryview(data))

    def delete(self, name: str) -> None:
        del self[name]


ASKED = {
    "around": {"s": sf.sum("v").over(sash.rows_between(-2, 2))},
    "following": {"s": sf.sum("v").over(sash.range_between("-9 seconds", "7 seconds"))},
    "delta": {"s": sf.sum("v").over(sash.delta("v", 300))},
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_answered(name: str) -> None:
    """A row that waits is one that has not come out, whatever it waits for."""
    table = streams.rows(np.random.default_rng(21), 300, disorder=5)
    query = sash.windowed(table, "k", time="ts").query(**ASKED[name])
    work = Work(
        StreamDefinition(plan_of(query, table.schema, Options(rows="stream")), {"s": pa.int64()})
    )
    store, out, mark = InMemory(), set(), None
    for batch in streams.cut(table, 5):
        known = Manifest.load(store[NAME]) if NAME in store else None
        shard = Shard(work, BytesPages(store), known)
        step = shard.step(with_keys(batch, ["k"]), mark)
        store[NAME] = shard.manifest.dump()
        out |= set(step.rows.column("i").to_pylist())
        mark = int(np.asarray(batch.column("ts").cast(pa.int64())).max()) - 5 * streams.SECOND
    pages = pa.table({"shard": [3] * len(store), "name": [*store], "page": [*store.values()]})
    fields = [f for f in table.schema if f.name != "x"]
    schema = pa.schema([("shard", pa.int32()), *fields, ("answered", pa.bool_())])
    rows = rows_of(pages, schema).to_pylist()
    waiting = {row["i"] for row in rows if not row["answered"]}
    assert waiting == set(range(300)) - out
    assert 0 < len(waiting) < len(rows)


def test_no_checkpoint_of_sash(spark: SparkSession, tmp_path: Path) -> None:
    streams.write(tmp_path / "in", [streams.last()])
    stream = streams.source(spark, tmp_path / "in").dropDuplicates(["i"])
    streams.run(stream, tmp_path)
    with pytest.raises(ValueError, match=r"is no checkpoint of a stream with sash\.windowed"):
        sash.spark.read_state(spark, str(tmp_path / "out.checkpoint"))


def test_explain(spark: SparkSession, tmp_path: Path) -> None:
    stream = streams.source(spark, tmp_path, "10 minutes")
    asked = {"n": sf.count().over("1 hour"), "hi": sf.max("x").over("1 hour")}
    text = sash.windowed(stream, "k", time="ts", shards=4).explain(**asked)
    expected = """\
2 aggregations over 1 frame, by k, in order of ts
shards    4, by the hash of k; one call of transformWithState has a shard's keys
emit      final: each row once the watermark, 10 minutes behind the youngest row, has passed it
late      rows that the watermark had passed before their micro-batch are counted
keeps     of k, ts, x, what later rows reach: see each frame; of g, v, w, i, until a row is answered
state     pages in Spark's state store, written once; copies in local files
1. the last 1 hour; bounds: two pointers over the rows in order
   keeps the rows of the last 1 hour in bulks"""
    shown = "\n".join(line for line in text.splitlines() if not line.startswith("Arrow"))
    assert shown.startswith(expected), text
    assert "hi: max(x), Forest: AMTA" in text
    asked = {"n": sf.count().over(sash.rows_between(-2, 1)), "s": sf.sum("v").over(sash.rows(3))}
    text = sash.windowed(stream, time="ts", late="side", cache=False).explain(**asked)
    assert "no key: one does all" in text
    assert "has passed it, and 1 row of its key after it are settled" in text
    assert "keeps the last rows of each key that a later one reaches" in text
    assert "keeps rows until those after them have come" in text
    assert "come out without answers, their column late true" in text
    text = sash.windowed(stream, "k", time="ts", emit="arrival").explain(**asked)
    assert "arrival: each row in its own micro-batch" in text
    every = sash.windowed(stream, "k", time="ts").every("1 minute")
    assert "each window once the watermark" in every.explain(n=sf.count().over("1 hour"))
