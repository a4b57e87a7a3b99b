"""every: one row a key and window, as Spark's window() with groupBy gives."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from tests.spark.native import pairs_that_differ, table


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table(300)).cache()


@pytest.mark.parametrize(("size", "slide"), [("1 hour", "10 minutes"), ("90 min", "90 min")])
def test_same_as_window(df: DataFrame, size: str, slide: str) -> None:
    asked = {"rows": sf.count(), "tot": sf.sum("n"), "hi": sf.max("x"), "sd": sf.stddev("y")}
    out = sash.windowed(df, "k", time="ts").every(slide)
    ours = out.agg(**{name: a.over(size) for name, a in asked.items()})
    assert ours.columns == ["k", "window_start", "window_end", *asked]
    spark_size = size.replace("min", "minutes").replace("minutesutes", "minutes")
    native = df.groupBy("k", F.window("ts", spark_size, slide.replace("90 min", "90 minutes"))).agg(
        F.count("*").alias("rows__"), F.sum("n").alias("tot__"), F.max("x").alias("hi__"),
        F.stddev("y").alias("sd__"),
    )  # fmt: skip
    native = native.select("*", F.col("window.start").alias("s"), F.col("window.end").alias("e"))
    both = ours.join(
        native.withColumnRenamed("k", "k__"),
        F.col("k").eqNullSafe(F.col("k__"))
        & (F.col("s") == F.col("window_start"))
        & (F.col("e") == F.col("window_end")),
        "full",
    )
    found = both.drop("window").toArrow()
    assert found.column("window_start").null_count == found.column("s").null_count == 0
    assert pairs_that_differ(found, list(asked)) == {}


def test_names_may_be_the_inputs(df: DataFrame) -> None:
    """Columns that are not keys do not come out, so their names are free."""
    out = sash.windowed(df, "k", time="ts").every("1 hour").agg(n=sf.sum("n").over("1 hour"))
    assert out.columns == ["k", "window_start", "window_end", "n"]
    with pytest.raises(ValueError, match="k: there is a column of that name"):
        sash.windowed(df, "k", time="ts").every("1 hour").agg(k=sf.count().over("1 hour"))


def test_several_windows_in_one_call_are_those_in_process(df: DataFrame) -> None:
    asked = {
        "short": sf.sum("n").over("1 hour"),
        "long": sf.sum("n").over(sash.sliding("3 hours", "90 minutes")),
        "rows": sf.count().over("1 hour"),
        "words": sf.collect_list("s").over("1 hour"),
        "middle": sf.median("x").over(sash.sliding("3 hours", "90 minutes")),
    }
    call = sash.windowed(df, "k", time="ts").every("30 minutes", closed="right")
    found = call.agg(**asked)
    assert found.columns == ["k", "window", "window_start", "window_end", *asked]
    here = sash.windowed(df.toArrow(), "k", time="ts").every("30 minutes", closed="right")
    found_here = here.agg(**asked)
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(
        map(repr, found_here.to_pylist())
    )
    told, told_here = call.explain(**asked).json(), here.explain(**asked).json()
    assert told["slices"] == told_here["slices"] != []
    same = ("keys", "time", "columns", "every", "frames", "outputs")
    assert {name: told[name] for name in same} == {name: told_here[name] for name in same}


def test_windows_of_rows(df: DataFrame) -> None:
    call = sash.windowed(df, "k", time="ts").every(sash.rows(7))
    found = call.agg(n=sf.count().over(sash.rows(20))).toArrow()
    here = sash.windowed(df.toArrow(), "k", time="ts").every(sash.rows(7))
    wanted = here.agg(n=sf.count().over(sash.rows(20)))
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))
