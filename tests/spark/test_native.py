"""Every aggregation that Spark has, over every frame that it has: the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import differing, pairs_that_differ, settings, table

HOUR = 3_600_000_000  # in microseconds
UNBOUNDED = (Window.unboundedPreceding, Window.unboundedFollowing)

Asked = dict[str, tuple[Any, Any]]
"""By a name: an aggregation of ours, and Spark's own, or a function from a spec to it."""


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table()).cache()


def aggregations() -> Asked:
    """Ours and Spark's own, by a name."""
    x, y, n, d, s = (F.col(name) for name in ("x", "y", "n", "d", "s"))
    return {
        "rows": (sf.count(), F.count("*")),
        "count_x": (sf.count("x"), F.count(x)),
        "sum_x": (sf.sum("x"), F.sum(x)),
        "sum_n": (sf.sum("n"), F.sum(n)),
        "sum_small": (sf.sum("small"), F.sum("small")),
        "sum_d": (sf.sum("d"), F.sum(d)),
        "avg_x": (sf.avg("x"), F.avg(x)),
        "mean_n": (sf.mean("n"), F.mean(n)),
        "avg_small": (sf.avg("small"), F.avg("small")),
        "avg_d": (sf.avg("d"), F.avg(d)),
        "product": (sf.product("small"), F.product("small")),
        "min_x": (sf.min("x"), F.min(x)),
        "max_x": (sf.max("x"), F.max(x)),
        "min_n": (sf.min("n"), F.min(n)),
        "max_d": (sf.max("d"), F.max(d)),
        "min_s": (sf.min("s"), F.min(s)),
        "max_s": (sf.max("s"), F.max(s)),
        "max_day": (sf.max("day"), F.max("day")),
        "min_ts": (sf.min("ts"), F.min("ts")),
        "max_b": (sf.max("b"), F.max("b")),
        "range_y": (sf.range("y"), lambda w: F.max(y).over(w) - F.min(y).over(w)),
        "variance": (sf.variance("y"), F.variance(y)),
        "var_pop": (sf.var_pop("y"), F.var_pop(y)),
        "stddev": (sf.stddev("y"), F.stddev(y)),
        "stddev_pop": (sf.stddev_pop("y"), F.stddev_pop(y)),
        "all_b": (sf.bool_and("b"), F.bool_and("b")),
        "any_b": (sf.bool_or("b"), F.bool_or("b")),
        "distinct_small": (
            sf.count_distinct("small"),
            lambda w: F.size(F.collect_set("small").over(w)).cast("long"),
        ),
        "distinct_s": (
            sf.count_distinct("s"),
            lambda w: F.size(F.collect_set(s).over(w)).cast("long"),
        ),
    }


def ordered_aggregations() -> Asked:
    """Those that depend on the order of rows, or on which of two equals is taken."""
    return {
        "first_x": (sf.first("x"), F.first("x")),
        "last_s": (sf.last("s"), F.last("s")),
        "last_d": (sf.last("d"), F.last("d")),
        "any_x": (sf.any_value("x"), F.any_value("x")),
        "list_s": (sf.collect_list("s"), F.collect_list("s")),
        "list_n": (sf.collect_list("n"), F.collect_list("n")),
        "max_by": (sf.max_by("s", "seq"), F.max_by("s", "seq")),
        "min_by": (sf.min_by("x", "seq"), F.min_by("x", "seq")),
        "argmax": (sf.argmax("id", "day"), F.max_by("day", "id")),
        "max_by_s": (sf.max_by("id", "s_id"), F.max_by("id", "s_id")),
        "concat": (sf.concat("s"), lambda w: joined(F.collect_list("s").over(w))),
    }


def spec(order: Any, start: int, end: int, rows: bool = False) -> WindowSpec:
    ordered = Window.partitionBy("k").orderBy(order)
    return ordered.rowsBetween(start, end) if rows else ordered.rangeBetween(start, end)


def joined(strings: Column) -> Column:
    """Null, not "", where there is none."""
    return F.when(F.size(strings) > 0, F.concat_ws("", strings))


def own(theirs: Any, over: WindowSpec) -> Column:
    return theirs.over(over) if isinstance(theirs, Column) else theirs(over)


def check(ours: DataFrame, over: WindowSpec, asked: Asked) -> None:
    assert differing(ours, {name: own(theirs, over) for name, (_, theirs) in asked.items()}) == {}


TIMES = {
    "the last hour": ("1 hour", -HOUR, 0),
    "around": (sash.range_between("-30 min", "30 min"), -HOUR // 2, HOUR // 2),
    "past": (sash.range_between("-2 h", "-1 h"), -2 * HOUR, -HOUR),
    "future": (sash.range_between("10 min", "1 h"), HOUR // 6, HOUR),
    "so far": (sash.lifetime(), UNBOUNDED[0], 0),
    "from now on": (sash.range_between(0, None), 0, UNBOUNDED[1]),
    "all": (sash.range_between(None, None), *UNBOUNDED),
}


@pytest.mark.parametrize("frame", TIMES)
def test_frames_by_time(df: DataFrame, frame: str) -> None:
    ours, start, end = TIMES[frame]
    asked = aggregations()
    out = sash.windowed(df, "k", time="ts").agg(**{n: a.over(ours) for n, (a, _) in asked.items()})
    check(out, spec(F.unix_micros("ts"), start, end), asked)


def test_half_open(df: DataFrame) -> None:
    asked = {"rows": (sf.count(), F.count("*")), "hi": (sf.max("x"), F.max("x"))}
    for closed, start, end in (
        ("right", 1 - HOUR, 0),
        ("left", -HOUR, -1),
        ("neither", 1 - HOUR, -1),
    ):
        frames = {name: a.over("1 hour", closed=closed) for name, (a, _) in asked.items()}
        check(
            sash.windowed(df, "k", time="ts").agg(**frames),
            spec(F.unix_micros("ts"), start, end),
            asked,
        )


ROWS = {
    "the last 5": (sash.rows(5), -4, 0),
    "around": (sash.rows_between(-3, 3), -3, 3),
    "past": (sash.rows_between(-6, -2), -6, -2),
    "future": (sash.rows_between(1, 4), 1, 4),
    "from now on": (sash.rows_between(0, None), 0, UNBOUNDED[1]),
}


@pytest.mark.parametrize("frame", ROWS)
def test_frames_by_rows(df: DataFrame, frame: str) -> None:
    ours, start, end = ROWS[frame]
    asked = ordered_aggregations()
    input = df.withColumn("s_id", F.format_string("%05d", "id"))
    out = sash.windowed(input, "k", time="seq").agg(
        **{n: a.over(ours) for n, (a, _) in asked.items()}
    )
    check(out, spec("seq", start, end, rows=True), asked)


def test_numbers_as_time(df: DataFrame) -> None:
    frame = sash.range_between(-40, 10)
    asked = ordered_aggregations()
    input = df.withColumn("s_id", F.format_string("%05d", "id"))
    out = sash.windowed(input, "k", time="seq").agg(
        **{n: a.over(frame) for n, (a, _) in asked.items()}
    )
    check(out, spec("seq", -40, 10), asked)


def test_fractions_as_time(df: DataFrame) -> None:
    halves = df.withColumn("t", F.col("seq") / 2)
    asked = {"rows": (sf.count(), F.count("*")), "hi": (sf.max("n"), F.max("n"))}
    frame = sash.range_between(-10.5, 0)
    out = sash.windowed(halves, "k", time="t").agg(
        **{n: a.over(frame) for n, (a, _) in asked.items()}
    )
    twice = spec(F.col("t") * 2, -21, 0)
    check(out, twice, asked)


def test_days(df: DataFrame) -> None:
    asked = {"rows": "count(*)", "hi": "max(day)", "tot": "sum(n)"}
    ours = {"rows": sf.count(), "hi": sf.max("day"), "tot": sf.sum("n")}
    out = sash.windowed(df, "k", time="day").agg(**{n: a.over("7 days") for n, a in ours.items()})
    check_sql(out, asked, "PARTITION BY k ORDER BY day RANGE BETWEEN 7 PRECEDING AND CURRENT ROW")


def check_sql(out: DataFrame, asked: dict[str, str], window: str) -> None:
    out.createOrReplaceTempView("answers")
    native = ", ".join(f"{theirs} OVER ({window}) AS {name}__" for name, theirs in asked.items())
    found = out.sparkSession.sql(f"SELECT *, {native} FROM answers")
    assert pairs_that_differ(found.toArrow(), list(asked)) == {}


def test_several_keys_of_any_type(df: DataFrame) -> None:
    asked = {"rows": (sf.count(), F.count("*")), "tot": (sf.sum("n"), F.sum("n"))}
    keys = ["x", "s", "b"]  # with NaN, both zeros and nulls
    out = sash.windowed(df, keys, time="ts").agg(
        **{n: a.over("3 hours") for n, (a, _) in asked.items()}
    )
    over = Window.partitionBy(*keys).orderBy(F.unix_micros("ts")).rangeBetween(-3 * HOUR, 0)
    check(out, over, asked)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_clocks_that_change(df: DataFrame, zone: str) -> None:
    """Hours are hours, in winter, in summer and in between."""
    with settings(df.sparkSession, {"spark.sql.session.timeZone": zone}):
        ours = {"rows": sf.count().over("6 hours"), "hi": sf.max("ts").over("6 hours")}
        out = sash.windowed(df, "k", time="ts").agg(**ours)
        window = "PARTITION BY k ORDER BY ts RANGE INTERVAL 6 HOURS PRECEDING"
        check_sql(out, {"rows": "count(*)", "hi": "max(ts)"}, window)
        assert out.schema["hi"].dataType == df.schema["ts"].dataType


def test_times_without_a_zone(df: DataFrame) -> None:
    local = df.withColumn("t", F.col("ts").cast("timestamp_ntz"))
    ours = {"rows": sf.count().over("90 min"), "hi": sf.max("t").over("90 min")}
    out = sash.windowed(local, "k", time="t").agg(**ours)
    window = "PARTITION BY k ORDER BY t RANGE INTERVAL 90 MINUTES PRECEDING"
    check_sql(out, {"rows": "count(*)", "hi": "max(t)"}, window)
    assert out.schema["hi"].dataType == local.schema["t"].dataType


def test_distinct_counts_by_sketch(df: DataFrame) -> None:
    frame = {"about": sf.approx_count_distinct("id").over("3 hours")}
    out = sash.windowed(df, "k", time="ts").agg(**frame)
    exact = F.count("id").over(spec(F.unix_micros("ts"), -3 * HOUR, 0))
    found = out.select("about", exact.alias("exact")).toArrow().to_pylist()
    assert all(abs(row["about"] - row["exact"]) <= 1 + 0.06 * row["exact"] for row in found)


def test_sets(df: DataFrame) -> None:
    frame = {"found": sf.collect_set("small").over("1 hour")}
    out = sash.windowed(df, "k", time="ts").agg(**frame)
    sorted_ = out.withColumn("found", F.array_sort("found"))
    theirs = F.array_sort(F.collect_set("small").over(spec(F.unix_micros("ts"), -HOUR, 0)))
    assert differing(sorted_, {"found": theirs}) == {}


def test_types_are_those_of_spark(df: DataFrame) -> None:
    asked = {**aggregations(), **ordered_aggregations()}
    del asked["max_by_s"]
    over = spec("seq", -3, 0)
    ours = sash.windowed(df, "k", time="seq").agg(
        **{n: a.over(sash.rows(3)) for n, (a, _) in asked.items()}
    )
    theirs = df.select("*", *[own(theirs, over).alias(n) for n, (_, theirs) in asked.items()])
    kinds = {n: (ours.schema[n].dataType, theirs.schema[n].dataType) for n in asked}
    assert {n: k for n, k in kinds.items() if len({kind.simpleString() for kind in k}) > 1} == {}
    assert ours.columns[: len(df.columns)] == df.columns
    assert ours.schema.fields[: len(df.columns)] == df.schema.fields


def test_empty(df: DataFrame) -> None:
    out = sash.windowed(df.where("false"), "k", time="ts").agg(rows=sf.count().over("1 hour"))
    assert out.collect() == []
    assert out.columns == [*df.columns, "rows"]
