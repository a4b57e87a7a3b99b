"""The language of windows on Spark: the answers of Spark's own SQL."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import differing, settings, table

EXPRESSIONS = (
    "x + n", "small * 2 - n", "n / small", "x / n", "n % small", "x % 2", "small + 1", "n * 0.5D",
    "x > y", "x = x", "x <= 0 OR b", "NOT b AND s = 'é1'", "coalesce(x, n, 0)",
    "CASE WHEN b THEN n ELSE x END", "ln(x)", "sqrt(y)", "abs(n)", "greatest(x, y)",
    "least(x, y)", "small IN (1, 2, NULL)", "s LIKE 'é1%'", "n <=> NULL", "pow(small, 2)",
    "cast(ts AS double)", "cast(small AS string)", "length(s)", "isnan(x)", "d + d",
    "n DIV small", "small - INT('1')", "day > DATE '2024-01-10'",
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
