"""The processor of a shard, called as Spark calls it: what a micro-batch reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.keys import with_keys
from sash.engine.stream.pages import from_bytes, to_bytes
from sash.engine.stream.stats import Stats
from sash.plan.plan import Options
from sash.plan.planner import plan_of
from sash.spark import processor as processors
from sash.spark.processor import Processor
from sash.tables import windowed
from tests.engine.streams import aggregate

SCHEMA = pa.schema({"k": pa.string(), "t": pa.timestamp("us", "UTC"), "x": pa.float64()})


class Spark:
    """Map state, timers and a watermark, in memory; counts calls that change something."""

    def __init__(self) -> None:
        self.values: dict[tuple[str], tuple[bytes]] = {}
        self.timers: list[int] = []
        self.watermark = self.reads = self.changes = 0

    def getMapState(self, *_: Any) -> Spark:
        return self

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        self.reads += 1
        return self.values.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.changes += 1
        self.values[key] = value

    def removeKey(self, key: tuple[str]) -> None:
        self.changes += 1
        del self.values[key]

    def listTimers(self) -> Iterator[int]:
        return iter(self.timers)

    def registerTimer(self, time: int) -> None:
        self.changes += 1
        self.timers.append(time)

    def deleteTimer(self, time: int) -> None:
        self.changes += 1
        self.timers.remove(time)

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark


def processor() -> Processor:
    frames = {"n": sf.count().over("1 minute"), "last": sf.sum("x").over(sash.rows(3))}
    query = windowed(SCHEMA.empty_table(), "k", time="t").query(**frames)
    found = aggregate(query, SCHEMA.empty_table()).schema
    types = {name: found.field(name).type for name in frames}
    definition = StreamDefinition(plan_of(query, SCHEMA, Options(rows="stream")), types)
    options = {"ticks": 1000, "late": "count", "cache": False, "cut": None}
    return Processor(definition, tuple(SCHEMA.names), options)


def called(work: Processor, spark: Spark, seconds: list[int]) -> pa.Table:
    """A micro-batch of one shard, with rows at these seconds."""
    columns = [["a"] * len(seconds), [s * 10**6 for s in seconds], [1.0] * len(seconds)]
    table = with_keys(pa.table(columns, schema=SCHEMA), ["k"])
    table = table.select(["_sash", "_check", *SCHEMA.names])
    (given,) = work.handleInputRows(1, [pd.DataFrame({"rows": [bytes(to_bytes(table))]})], spark)
    block = given["rows"][0]
    return from_bytes(block) if block else SCHEMA.empty_table()


def test_nothing_new_reads_the_manifest_and_changes_nothing() -> None:
    spark, work = Spark(), processor()
    work.init(spark)  # type: ignore[arg-type]
    called(work, spark, [1, 2, 3])
    spark.watermark = 2_000
    assert called(work, spark, [4])["n"].to_pylist() == [1, 2]
    spark.reads = spark.changes = 0
    assert called(work, spark, []).num_rows == 0
    assert (spark.reads, spark.changes) == (1, 0)


def test_a_shard_is_called_again_when_the_watermark_moves_on() -> None:
    spark, work = Spark(), processor()
    work.init(spark)  # type: ignore[arg-type]
    called(work, spark, [1, 2, 3])
    assert spark.timers == [1]
    spark.watermark = 2_500
    (given,) = work.handleExpiredTimer(1, spark, None)
    assert from_bytes(given["rows"][0])["last"].to_pylist() == [1.0, 2.0]
    assert spark.timers == [2_501]


def test_spark_gets_few_columns_and_blocks_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column of a data frame takes Spark a while, and a cell has less than 2 GB."""
    seconds, found = list(range(40)), []
    for largest in (1 << 28, 500):
        monkeypatch.setattr(processors, "LARGEST", largest)
        spark, work = Spark(), processor()
        work.init(spark)  # type: ignore[arg-type]
        called(work, spark, seconds)
        spark.watermark = 1_000_000
        (given,) = work.handleExpiredTimer(1, spark, None)
        assert list(given.columns) == ["rows", "figures"]
        assert [f is not None for f in given["figures"]] == [True] + [False] * (len(given) - 1)
        assert Stats(*given["figures"][0]).rows_out == len(seconds)
        found.append(pa.concat_tables([from_bytes(block) for block in given["rows"]]))
    assert len(given) > 2
    assert found[0].equals(found[1].combine_chunks())


def test_a_worker_makes_the_windows_of_a_definition_once() -> None:
    works = []
    for _ in range(2):
        spark, work = Spark(), processor()
        work.init(spark)  # type: ignore[arg-type]
        called(work, spark, [1])
        works.append(work._work)
    assert works[0] is works[1]
