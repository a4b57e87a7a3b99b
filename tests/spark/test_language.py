"""The language of windows on Spark: the answers of Spark's own SQL."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import differing, settings, table

EXPRESSIONS = (
    "x + n", "small * 2 - n", "n / small", "x / n", "n % small", "small + 1", "n * 0.5D",
    "x > y", "x = x", "x <= 0 OR b", "NOT b AND s = 'é1'", "coalesce(x, n, 0)",
    "CASE WHEN b THEN n ELSE x END", "ln(x)", "sqrt(y)", "abs(n)", "greatest(x, y)",
    "least(x, y)", "small IN (1, 2, NULL)", "s LIKE 'é1%'", "n <=> NULL", "pow(small, 2)",
    "cast(ts AS double)", "cast(small AS string)", "length(s)", "isnan(x)", "d + d",
    "n DIV small", "small - INT('1')", "day > DATE '2024-01-10'",
    *(["x % 2"] if hasattr(pc, "remainder") else []),  # since pyarrow 26
)  # fmt: skip


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table()).cache()


def test_expressions_have_sparks_values_and_types(df: DataFrame) -> None:
    """The last row of a window of one row is the expression itself."""
    texts = {f"e{i}": e for i, e in enumerate(EXPRESSIONS)}
    ours = {out: sf.last(sf.expr(e)).over(sash.rows(1)) for out, e in texts.items()}
    with settings(df.sparkSession, {"spark.sql.ansi.enabled": "false"}):
        found = sash.windowed(df, "k", time="ts").agg(**ours)
        theirs = {out: F.expr(e) for out, e in texts.items()}
        wrong = differing(found, theirs, rows=400)
        kinds = found.select(*(column.alias(out) for out, column in theirs.items())).schema
    assert {texts[out]: pairs for out, pairs in wrong.items()} == {}
    for out, e in texts.items():
        assert found.schema[out].dataType == kinds[out].dataType, e


def test_filters_and_results_are_sparks(df: DataFrame) -> None:
    spec = Window.partitionBy("k").orderBy("ts", "id").rowsBetween(-6, 0)
    found = sash.windowed(df).agg(
        above=sf.count_if("x > 0").over(spec),
        total=sf.sum("small").where("b").over(spec),
        ratio=sf.sum(sf.col("Y") * sf.col("small")).over(spec) / sf.sum("small").over(spec),
        z=(sf.col("y") - sf.mean("y").over(spec)) / sf.stddev("y").over(spec),
    )
    assert found.columns == [*df.columns, "above", "total", "ratio", "z"]
    y, small = F.col("y"), F.col("small")
    theirs = {
        "above": F.count(F.when(F.col("x") > 0, 1)).over(spec),
        "total": F.sum(F.when(F.col("b"), small)).over(spec),
        "ratio": F.try_divide(F.sum(y * small).over(spec), F.sum(small).over(spec)),
        "z": F.try_divide(y - F.mean(y).over(spec), F.stddev(y).over(spec)),
    }
    assert differing(found, theirs, rows=400) == {}


def test_results_come_out_of_a_key_that_is_split(df: DataFrame) -> None:
    asked = {
        "share": sf.sum("small").where("b").over("1 hour") / sf.sum("small").over("1 hour"),
    }
    whole = sash.windowed(df, time="ts", split=False).agg(**asked)
    parts = sash.windowed(df, time="ts", split=True, partitions=3).agg(**asked)
    assert sorted(map(str, parts.collect())) == sorted(map(str, whole.collect()))


def test_rows_without_a_time_are_not_lost_where_a_key_is_split(df: DataFrame) -> None:
    rows = df.withColumn("at", F.when(F.col("id") % 7 > 0, F.col("ts")))
    asked = {"known": sf.count().over("20 minutes")}
    whole = sash.windowed(rows, time="at", split=False).agg(**asked)
    parts = sash.windowed(rows, time="at", split=True, partitions=3).agg(**asked)
    assert sorted(map(str, parts.collect())) == sorted(map(str, whole.collect()))


def test_ranks_and_rows_before_and_after_are_sparks(df: DataFrame) -> None:
    found = sash.windowed(df, "k", time=["ts", "id"]).agg(
        number=sf.row_number(),
        percent=sf.percent_rank(),
        share=sf.cume_dist(),
        tile=sf.ntile(3),
        before=sf.lag("x", 2, default=0.5),
        known=sf.lag("small", 1, ignore_nulls=True),
        after=sf.lead("s"),
        third=sf.nth_value("n", 3).over(sash.rows(5)),
    )
    spec = Window.partitionBy("k").orderBy("ts", "id")
    theirs = {
        "number": F.row_number().over(spec),
        "percent": F.percent_rank().over(spec),
        "share": F.cume_dist().over(spec),
        "tile": F.ntile(3).over(spec),
        "before": F.lag("x", 2, 0.5).over(spec),
        "known": F.expr("lag(small, 1) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts, id)"),
        "after": F.lead("s").over(spec),
        "third": F.nth_value("n", 3).over(spec.rowsBetween(-4, 0)),
    }
    assert differing(found, theirs, rows=400) == {}
    kinds = found.select(*(column.alias(out) for out, column in theirs.items())).schema
    assert [found.schema[out].dataType for out in theirs] == [f.dataType for f in kinds]


def test_peers_and_rows_without_a_time_are_sparks(df: DataFrame) -> None:
    rows = df.withColumn("at", F.when(F.col("id") % 7 > 0, F.col("ts").cast("long")))
    found = sash.windowed(rows, "k", time="at").agg(
        rank=sf.rank(),
        dense=sf.dense_rank(),
        near=sf.sum("small").over(sash.range_between(-3600, 600)),
        far=sf.sum("small").over(sash.lifetime()),
    )
    spec = Window.partitionBy("k").orderBy("at")
    theirs = {
        "rank": F.rank().over(spec),
        "dense": F.dense_rank().over(spec),
        "near": F.sum("small").over(spec.rangeBetween(-3600, 600)),
        "far": F.sum("small").over(spec.rangeBetween(Window.unboundedPreceding, 0)),
    }
    assert differing(found, theirs, rows=400) == {}


def test_the_rest_of_the_language_is_what_it_is_in_process(df: DataFrame) -> None:
    asked = {
        "others": sf.mean("y").over("2 hours", exclude="group"),
        "ties": sf.max("small").over(sash.groups_between(-3, 1), exclude="ties"),
        "late": sf.sum("small").over("2 hours", delay="1 hour", min_periods=2),
        "centre": sf.count().over("1 hour", center=True, most=3),
        "month": sf.count().over(sash.calendar("1 day", tz="Europe/Berlin")),
        "rank": sf.window_rank("y").over("3 hours"),
        "spread": sf.function(lambda y: y.max() - y.min(), "y").over("3 hours"),
        "tenth": sf.sum("small").over("3 hours", step=10),
    }
    ours = sash.windowed(df, "k", time=["ts", "id"]).agg(**asked).toArrow().sort_by("id")
    here = sash.windowed(table(), "k", time=["ts", "id"]).agg(**asked)
    for out in asked:
        pairs = zip(ours.column(out).to_pylist(), here.column(out).to_pylist(), strict=True)
        assert [pair for pair in pairs if pair[0] != pytest.approx(pair[1])] == [], out


def test_calendar_windows_are_those_that_spark_truncates_to(df: DataFrame) -> None:
    day = sash.calendar("1 day", tz="Europe/Berlin")  # the session's own zone
    found = sash.windowed(df, "k", time="ts").every(day).agg(n=sf.count().over(day))
    ours = sorted((row.k or -1, row.window_start, row.n) for row in found.collect())
    truncated = df.groupBy("k", F.date_trunc("day", "ts").alias("start")).count()
    assert ours == sorted((row.k or -1, row.start, row["count"]) for row in truncated.collect())
