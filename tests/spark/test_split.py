"""No key, or a key that dominates: cut at times, every core at work, the same answers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import differing, settings

ROWS = 3000
SECOND = 1_000_000


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """Nine of ten rows have one key; times are not spread evenly, and many are tied."""
    random = np.random.default_rng(3)
    seconds = (random.random(ROWS) ** 2 * 20_000).astype(int)
    start = dt.datetime(2024, 10, 26, 22, tzinfo=dt.UTC)  # clocks go back in between
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "k": np.where(random.random(ROWS) < 0.9, 7, random.integers(0, 5, ROWS)),
            "ts": pa.array([start + dt.timedelta(seconds=int(s)) for s in seconds]),
            "n": random.integers(-100, 100, ROWS),
            "whole": seconds,
        }
    )
    return spark.createDataFrame(table).cache()


FRAMES: dict[str, tuple[Any, int, int]] = {
    "before": ("5 minutes", -300, 0),
    "around": (sash.range_between("-2 min", "3 min"), -120, 180),
    "after": (sash.range_between("1 min", "5 min"), 60, 300),
    "long before": (sash.range_between("-10 min", "-8 min"), -600, -480),
}


KEYS: dict[str, list[str]] = {"no key": [], "a key that dominates": ["k"]}
QUICK = {
    ("before", "no key"),
    ("around", "a key that dominates"),
    ("after", "a key that dominates"),
    ("long before", "no key"),
}


@pytest.mark.parametrize(
    ("frame", "by"),
    [
        pytest.param(
            frame,
            KEYS[by],
            id=f"{frame}-{by}",
            marks=() if (frame, by) in QUICK else pytest.mark.slow,
        )
        for frame in FRAMES
        for by in KEYS
    ],
)
def test_same_as_spark(df: DataFrame, by: list[str], frame: str) -> None:
    ours, start, end = FRAMES[frame]
    windows = sash.windowed(df, by, time="ts", split=True, partitions=4)
    out = windows.agg(rows=sf.count().over(ours), tot=sf.sum("n").over(ours))
    over = Window.partitionBy(*by).orderBy(F.unix_micros("ts"))
    over = over.rangeBetween(start * SECOND, end * SECOND)
    theirs = {"rows": F.count("*").over(over), "tot": F.sum("n").over(over)}
    assert differing(out, theirs, ROWS) == {}
    assert out.columns == [*df.columns, "rows", "tot"]


LOCAL = "timestamp_ntz'2024-10-27 00:00:00'"
KINDS = {
    "integers": ("whole", F.col, "long"),
    "dates": ("whole", lambda name: F.date_add(F.lit("1990-01-01"), F.col(name).cast("int")), None),
    "fractions": ("whole", F.col, "double"),
    "single precision": ("whole", F.col, "float"),
    "no zone": ("whole", lambda name: F.expr(f"{LOCAL} + make_dt_interval(0, 0, 0, {name})"), None),
}


LONG = pytest.mark.slow
ORDERS = [
    pytest.param(kind, False, marks=LONG if kind in ("integers", "single precision") else ())
    for kind in KINDS
] + [("integers", True), pytest.param("no zone", True, marks=LONG)]


@pytest.mark.parametrize(("kind", "descending"), ORDERS)
def test_times_of_any_type(df: DataFrame, kind: str, descending: bool) -> None:
    name, column, cast = KINDS[kind]
    time = column(name) if cast is None else column(name).cast(cast)
    times = df.select("id", "n", "whole", time.alias("t"))
    frame: Any = sash.range_between(-300, 60)
    if kind in ("dates", "no zone"):
        unit = "days" if kind == "dates" else "s"
        frame = sash.range_between(f"-300 {unit}", f"60 {unit}")
    asked = {"rows": sf.count().over(frame), "tot": sf.sum("n").over(frame)}
    query = sash.windowed(times, time="t").query(**asked)
    out = run(times, query, descending)
    order = F.col("whole").desc() if descending else F.col("whole").asc()
    over = Window.orderBy(order).rangeBetween(-300, 60)
    assert differing(out, {"rows": F.count("*").over(over), "tot": F.sum("n").over(over)}) == {}


def run(df: DataFrame, query: Any, descending: bool) -> DataFrame:
    from dataclasses import replace

    from sash.spark.batch import aggregate

    return aggregate(df, replace(query, descending=descending), partitions=3, split=True)


@pytest.mark.parametrize("by", KEYS.values(), ids=KEYS)
def test_every_partition_has_its_share(df: DataFrame, by: list[str]) -> None:
    windows = sash.windowed(df, by, time="ts", split=True, partitions=3)
    out = windows.agg(rows=sf.count().over("1 minute"))
    counts = out.groupBy(F.spark_partition_id()).count().toArrow().column("count").to_pylist()
    assert len(counts) == 3
    assert max(counts) < 0.5 * ROWS


def test_windows_as_long_as_all_rows(df: DataFrame) -> None:
    """Then there is nothing to cut, and nothing is copied."""
    out = sash.windowed(df, time="ts", split=True, partitions=3).agg(rows=sf.count().over("9 h"))
    assert out.groupBy(F.spark_partition_id()).count().count() == 1
    assert out.agg(F.max("rows")).first()[0] == ROWS


def test_times_at_the_ends_of_the_integers(spark: SparkSession) -> None:
    times = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
    df = spark.createDataFrame(pa.table({"t": times * 60}))
    frame = sash.range_between(-2, 2)
    with settings(spark, {"spark.sql.ansi.enabled": "true"}):
        out = sash.windowed(df, time="t", split=True, partitions=3).agg(rows=sf.count().over(frame))
        found = {(row.t, row.rows) for row in out.collect()}
    assert found == {(t, 60 * sum(abs(t - u) <= 2 for u in times)) for t in times}


@pytest.mark.parametrize("by", [pytest.param([], marks=LONG), ["k"]], ids=KEYS)
def test_rows_without_a_time_are_not_lost(df: DataFrame, by: list[str]) -> None:
    holes = df.withColumn("ts", F.when(F.col("id") != 5, F.col("ts")))
    asked = {"rows": sf.count().over("1 minute")}
    out = sash.windowed(holes, by, time="ts", split=True).agg(**asked)
    whole = sash.windowed(holes, by, time="ts", split=False).agg(**asked)
    found = {row.id: row.rows for row in out.collect()}
    assert found == {row.id: row.rows for row in whole.collect()}
    assert found[5] == 1


def test_what_can_not_be_cut(df: DataFrame) -> None:
    asked = {"last": sf.count().over(sash.rows(5))}
    with pytest.raises(ValueError, match=r"split=True, but last: the last 5 rows cannot be cut"):
        sash.windowed(df, time="ts", split=True).agg(**asked)
    text = sash.windowed(df, time="ts").explain(**asked)
    assert "split     no: last: the last 5 rows cannot be cut at a time" in text
    assert "shuffle   into 1 partition: one core does all the work" in text


def test_explain_tells(df: DataFrame) -> None:
    asked = {"rows": sf.count().over("1 minute")}
    text = sash.windowed(df, "k", time="ts", split=True).explain(**asked)
    assert "split     yes: a key with more than 1.5 / 3 of the rows at times" in text
    assert "60000000 before, 0 after" in text
    small = sash.windowed(df, "k", time="ts").explain(**asked)
    assert "MB are not worth it; split=True insists" in small
    assert "split=False" in sash.windowed(df, "k", time="ts", split=False).explain(**asked)
