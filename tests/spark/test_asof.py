"""As-of windows on Spark: as in process, as a range join has it, in one shuffle and one sort."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from sash.spark import asof, asof_near
from tests.engine.oracle import alike
from tests.engine.test_asof import AFFINE, FRAMES, sample

N, M = 600, 300


@pytest.fixture(scope="module")
def tables() -> tuple[pa.Table, pa.Table]:
    """Events, some without a time or a key; a spine whose keys have events or none."""
    spine = sample(M, 22, keys=4, moments=True)
    events = sample(N, 21, keys=4).append_column("id", pa.array(np.arange(N)))
    notes = pa.array([None if i % 7 == 0 else f"note {i}" for i in range(M)])
    return events, spine.append_column("note", notes)


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tables: Any) -> tuple[DataFrame, DataFrame]:
    events, spine = (spark.createDataFrame(zoned(table)).cache() for table in tables)
    assert (events.count(), spine.count()) == (N, M)  # so that their sizes are known
    return events, spine


def zoned(table: pa.Table) -> pa.Table:
    """Times as moments, so that the session's time zone is of no matter."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            column = table.column(i).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(i, field.name, column)
    return table


def asked(frames: dict[str, Any]) -> dict[str, Any]:
    functions = {
        "rows": sf.count(), "max": sf.max("x"), "last": sf.last("s"),
        "affine": sf.apply(AFFINE, "n"),
    }  # fmt: skip
    return {
        f"{f} {name}": g.over(frame) for f, g in functions.items() for name, frame in frames.items()
    }


def assert_same(found: DataFrame, wanted: pa.Table, names: Any) -> None:
    rows = found.toArrow().to_pylist()
    ours = {row["i"]: row for row in rows}
    assert len(rows) == wanted.num_rows
    assert len(ours) == wanted.num_rows
    for row in wanted.to_pylist():
        for name in names:
            a, b = ours[row["i"]][name], row[name]
            assert alike(plain(a), plain(b)), (name, row["i"], a, b)


def plain(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def no_calendar(frames: dict[str, Any]) -> dict[str, Any]:
    return {name: frame for name, frame in frames.items() if name != "day"}


@pytest.mark.parametrize("closed", ["left", pytest.param("both", marks=pytest.mark.slow)])
def test_every_frame_as_in_process(frames: Any, tables: Any, closed: Any) -> None:
    functions = asked(no_calendar(FRAMES))
    here = {"by": "user", "time": "asked", "closed": closed}
    order = ["ts", "id"]  # of ties, which a shuffle would mix
    wanted = sash.windowed(tables[0], "k", time=order).at(tables[1], **here).agg(**functions)
    found = sash.windowed(frames[0], "k", time=order).at(frames[1], **here).agg(**functions)
    assert found.columns == [*frames[1].columns, *functions]
    assert_same(found, wanted, [*functions, "note", "user"])


JOIN = """
    SELECT s.i, count(e.id) AS n, sum(e.n) AS total, max(e.x) AS hi
    FROM spine s LEFT JOIN events e ON e.k <=> s.user
        AND e.ts {ge} s.asked - INTERVAL '{hours}' HOUR AND e.ts {lt} s.asked
    GROUP BY s.i
"""


@pytest.mark.parametrize(
    ("closed", "ge", "lt", "split"),
    [
        ("left", ">=", "<", False),
        pytest.param("right", ">", "<=", True, marks=pytest.mark.slow),
    ],
)
def test_as_a_range_join(
    spark: SparkSession, frames: Any, closed: Any, ge: str, lt: str, split: bool
) -> None:
    for name, df in zip(("events", "spine"), frames, strict=True):
        df.createOrReplaceTempView(name)
    hours, found = 8, {"n": sf.count(), "total": sf.sum("n"), "hi": sf.max("x")}
    windows = sash.windowed(frames[0], "k", time="ts", split=split, partitions=3)
    ours = windows.at(frames[1], "user", time="asked", closed=closed).agg(
        **{name: f.over(f"{hours} hours") for name, f in found.items()}
    )
    theirs = spark.sql(JOIN.format(ge=ge, lt=lt, hours=hours))
    pair = [df.select("i", *found).toArrow().sort_by("i").to_pylist() for df in (ours, theirs)]
    assert pair[0] == pair[1]


def test_one_shuffle_and_one_sort(frames: Any) -> None:
    found = (
        sash.windowed(frames[0], "k", time="ts")
        .at(frames[1], "user", time="asked")
        .agg(n=sf.count().over("1 hour"), s=sf.sum("n").over(sash.rows(9)))
    )
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("RepartitionByExpression") == plan.count("Sort ") == 1
    assert plan.count("Join") == 0


NEAR = {
    "behind": [sash.range_between("-8 hours", "0 hours")],
    "around": [sash.range_between("-8 hours", "2 hours"), sash.range_between("-1 hour", "1 hour")],
    "rows": [sash.rows(3), sash.session("1 hour")],
    "ahead": [sash.rows_between(0, 2)],
}


@pytest.mark.parametrize(
    "name", [n if n == "around" else pytest.param(n, marks=pytest.mark.slow) for n in NEAR]
)
def test_events_out_of_reach_are_not_shuffled(
    frames: Any, tables: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asof_near, "WORTH", 0)
    choice = "user IS DISTINCT FROM 1 AND asked BETWEEN '2024-04-03' AND '2024-04-05' OR i < 5"
    events, spine = frames[0], frames[1].where(choice.replace("'2024", "TIMESTAMP '2024"))
    kept = pa.array(spine.toArrow().column("i").to_pylist())
    functions = asked({str(i): frame for i, frame in enumerate(NEAR[name])})
    here = {"by": "user", "time": "asked"}
    there = sash.windowed(tables[0], "k", time=["ts", "id"])
    wanted = there.at(tables[1].take(kept), **here).agg(**functions)
    windows = sash.windowed(events, "k", time=["ts", "id"]).at(spine, **here)
    found = windows.agg(**functions)
    assert_same(found, wanted, functions)
    assert "reach     events of the spine's keys" in windows.explain(**functions)
    reach = asof.prepare(events, spine, windows.query(**functions)).merge.reach
    reached = within_reach(tables[0], tables[1].take(kept), reach)
    assert 0 < reached < N
    assert max(shuffled(found._jdf.queryExecution().executedPlan())) == reached + len(kept)


def within_reach(events: pa.Table, spine: pa.Table, reach: Any) -> int:
    """How many events are of a key of the spine, and no further from its moments than windows."""
    moments: dict[Any, list[Any]] = {}
    for row in spine.to_pylist():
        if row["asked"] is not None:
            moments.setdefault(row["user"], []).append(row["asked"])
    behind = timedelta(microseconds=reach.behind) if reach.by_time else None
    bounded = reach.ahead is not None and reach.rows_ahead == 0
    ahead = timedelta(microseconds=reach.ahead) if bounded else None
    count = 0
    for event in events.to_pylist():
        asked_at, t = moments.get(event["k"]), event["ts"]
        if asked_at is not None and t is not None:
            is_late = behind is None or t >= min(asked_at) - behind
            count += is_late and (ahead is None or t <= max(asked_at) + ahead)
    return count


def shuffled(plan: Any) -> list[int]:
    """The rows that each shuffle of a plan that has run wrote, by Spark's own count."""
    name = plan.nodeName()
    if name == "AdaptiveSparkPlan":
        return shuffled(plan.executedPlan())
    if name.endswith("QueryStage"):
        return shuffled(plan.plan())
    mine = [plan.metrics().apply("shuffleRecordsWritten").value()] if name == "Exchange" else []
    children = plan.children()
    return mine + [n for i in range(children.length()) for n in shuffled(children.apply(i))]


def test_a_spine_that_may_change_is_read_once(
    spark: SparkSession, frames: Any, tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asof_near, "WORTH", 0)
    events, spine = frames
    pq.write_table(tables[1], tmp_path / "spine.parquet")
    stored = spark.read.parquet(str(tmp_path / "spine.parquet"))
    for same in (spine, stored, stored.where("i > 3").select("user", "asked")):
        assert asof_near.is_worth(events, same)
    for other in (spine.limit(3), spine.where(F.rand() < 0.5), spine.distinct()):
        assert not asof_near.is_worth(events, other)


@pytest.mark.slow
def test_a_key_that_dominates_is_cut_at_times(spark: SparkSession) -> None:
    rng = np.random.default_rng(4)
    n, m = 4000, 1000

    def keys(n: int) -> np.ndarray:
        return np.where(rng.random(n) < 0.9, 7, rng.integers(0, 5, n))

    events = pa.table({"k": keys(n), "t": rng.integers(0, 50_000, n), "x": rng.integers(0, 99, n)})
    spine = pa.table({"k": keys(m), "t": rng.integers(0, 50_000, m), "i": np.arange(m)})
    back, around = sash.range_between(-700, 0), sash.range_between(-100, 300)
    functions = {"s": sf.sum("x").over(back), "n": sf.count().over(around)}
    for by in (["k"], []):
        wanted = sash.windowed(events, by, time="t").at(spine).agg(**functions)
        there, here = (spark.createDataFrame(table) for table in (events, spine))
        windows = sash.windowed(there, by, time="t", split=True, partitions=4).at(here)
        found = windows.agg(**functions)
        assert_same(found, wanted, functions)
        counts = found.groupBy(F.spark_partition_id()).count().toArrow().column("count").to_pylist()
        assert len(counts) == 4
        assert max(counts) < 0.6 * m
        assert "into up to 4 ranges" in windows.explain(**functions)


def test_frames_by_rows_cannot_be_cut(frames: Any) -> None:
    windows = sash.windowed(frames[0], "k", time="ts", split=True).at(
        frames[1], "user", time="asked"
    )
    with pytest.raises(ValueError, match="cannot be cut at a time"):
        windows.agg(n=sf.count().over(sash.rows(1)))


def test_names_and_types_of_the_spine_are_its_own(spark: SparkSession) -> None:
    events = spark.sql("SELECT 1L AS `a.b`, 5 AS T, 2.0D AS x UNION ALL SELECT 2L, 6, 3.0D")
    spine = spark.sql("SELECT 1 AS `User`, 9L AS `at t`, 'a' AS x, array(1) AS x2, 1 AS x2")
    found = sash.windowed(events, "a.B", time="t").at(spine, "user", time="AT T").agg(
        n=sf.count().over(sash.rows(3)), when=sf.max("T").over(sash.rows(3)),
        both=sf.col("User") + sf.sum("x").over(sash.rows(3)),
    )  # fmt: skip
    assert found.dtypes == [
        ("User", "int"), ("at t", "bigint"), ("x", "string"), ("x2", "array<int>"), ("x2", "int"),
        ("n", "bigint"), ("when", "int"), ("both", "double"),
    ]  # fmt: skip
    assert [tuple(row) for row in found.collect()] == [(1, 9, "a", [1], 1, 1, 5, 3.0)]


@pytest.mark.parametrize("side", [0, 1])
def test_empty_tables(frames: Any, side: int) -> None:
    given = [df.limit(0) if i == side else df for i, df in enumerate(frames)]
    found = (
        sash.windowed(given[0], "k", time="ts")
        .at(given[1], "user", time="asked")
        .agg(n=sf.count().over("1 hour"), hi=sf.max("x").over(sash.rows(2)))
    )
    rows = found.select("n", "hi").distinct().collect()
    assert [tuple(row) for row in rows] == ([(0, None)] if side == 0 else [])


def test_mistakes_are_named(spark: SparkSession, frames: Any, tables: Any) -> None:
    events, spine = frames
    hour = sf.count().over("1 hour")
    windows = sash.windowed(events, "k", time="ts")
    with pytest.raises(TypeError, match="both be Spark DataFrames"):
        windows.at(tables[1], "user", time="asked").agg(n=hour)
    with pytest.raises(ValueError, match="the spine has a column 'note'"):
        windows.at(spine, "user", time="asked").agg(NOTE=hour)
    with pytest.raises(TypeError, match="'note' of the spine is string: cast"):
        windows.at(spine, "note", time="asked").agg(n=hour)
    with pytest.raises(TypeError, match="emit is for a streaming DataFrame"):
        sash.windowed(events, "k", time="ts", emit="final").at(spine, "user", time="asked").agg(
            n=hour
        )
    stream = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match="for batches"):
        sash.windowed(stream, time="timestamp").at(spine, time="asked").agg(n=hour)


def test_explain_says_what_is_merged(frames: Any) -> None:
    windows = sash.windowed(frames[0], "k", time="ts").at(frames[1], "user", time="asked")
    found = windows.explain(n=sf.count().over("1 hour"))
    assert "sort      by k, ts, events and spine merged, in each partition" in found
    assert "over the events before its asked, by user" in found
