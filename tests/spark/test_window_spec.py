"""A pyspark.sql.Window spec as the frame: its keys, its order and its bounds."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sash
from sash import functions as sf
from sash.spark import window_spec
from tests.spark.native import differing, table


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table(200)).cache()


def test_read(df: DataFrame) -> None:
    spec = Window.partitionBy("k", df["s"], F.col("n") % 7).orderBy(F.col("ts").cast("long").desc())
    read = window_spec.read(spec.rangeBetween(-3600, Window.currentRow))
    assert [e.name for e in read.keys] == ["k", "s", None]
    assert (read.order[0].name, read.order[0].descending) == (None, True)
    assert read.frame == ("range", -3600, 0)
    far = window_spec.read(spec.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing))
    assert far.frame == ("rows", None, None)
    assert window_spec.read(spec).frame is None


EVERYTHING = (Window.unboundedPreceding, Window.unboundedFollowing)
SECOND = "cast(ts as long)"
SPECS: dict[str, Any] = {  # made when a session is there
    "seconds": lambda: by("k").orderBy(F.expr(SECOND)).rangeBetween(-3600, 0),
    "seconds, backwards": lambda: by("k").orderBy(F.expr(SECOND).desc()).rangeBetween(-3600, 600),
    "so far": lambda: by("k").orderBy("ts"),
    "backwards so far": lambda: by("k").orderBy(F.desc("ts")),
    "all": lambda: by("k").orderBy("ts").rangeBetween(*EVERYTHING),
    "numbers": lambda: by("k").orderBy("seq").rangeBetween(-50, 50),
    "rows": lambda: by("k").orderBy("seq").rowsBetween(-5, 2),
    "rows, backwards": lambda: by("k").orderBy(F.desc("seq")).rowsBetween(-5, -1),
    "ties broken": lambda: by("k").orderBy("ts", F.desc("seq")).rowsBetween(-3, 0),
    "keys computed": lambda: by(F.col("seq") % 3, F.col("b")).orderBy("ts"),
    "no key": lambda: Window.orderBy("seq").rangeBetween(-20, 0),
    "names with dots": lambda: by("`a.b`").orderBy("`t.s`").rangeBetween(-9, 0),
}


def by(*keys: Any) -> Any:
    return Window.partitionBy(*keys)


@pytest.mark.parametrize("name", SPECS)
def test_same_as_spark(df: DataFrame, name: str) -> None:
    spec = SPECS[name]()
    input = df.withColumn("a.b", F.col("k")).withColumn("t.s", F.col("seq"))
    asked = {"rows": sf.count().over(spec), "hi": sf.max("n").over(spec)}
    theirs = {"rows": F.count("*").over(spec), "hi": F.max("n").over(spec)}
    if name.startswith(("rows", "ties")):
        asked["last"] = sf.last("id").over(spec)
        theirs["last"] = F.last("id").over(spec)
    out = sash.windowed(input).agg(**asked)
    assert out.columns == [*input.columns, *asked]
    assert differing(out, theirs) == {}


def test_with_durations_beside_it(df: DataFrame) -> None:
    spec = Window.partitionBy("k").orderBy("ts")
    out = sash.windowed(df, "k", time="ts").agg(a=sf.count().over(spec), c=sf.count().over("1 h"))
    hour = Window.partitionBy("k").orderBy(F.unix_micros("ts")).rangeBetween(-3_600_000_000, 0)
    assert differing(out, {"a": F.count("*").over(spec), "c": F.count("*").over(hour)}) == {}


def test_other_keys_or_order(df: DataFrame) -> None:
    spec = Window.partitionBy("k").orderBy("ts")
    with pytest.raises(
        ValueError, match=r"c: the window is partitionBy\(k\).*by=\['s'\].*leave by"
    ):
        sash.windowed(df, "s", time="ts").agg(c=sf.count().over(spec))
    with pytest.raises(ValueError, match=r"c: the window is .*time='seq'.*leave time= out"):
        sash.windowed(df, "k", time="seq").agg(c=sf.count().over(spec))
    other = Window.partitionBy("s").orderBy("ts")
    with pytest.raises(ValueError, match="one call has one order of rows"):
        sash.windowed(df).agg(a=sf.count().over(spec), c=sf.count().over(other))
    with pytest.raises(
        ValueError, match=r"c: the window partitionBy\(k\)\.orderBy\(\) has no order"
    ):
        sash.windowed(df).agg(c=sf.count().over(Window.partitionBy("k")))
    with pytest.raises(ValueError, match="only rowsBetween can be"):
        sash.windowed(df).agg(c=sf.count().over(Window.partitionBy("k").orderBy("ts", "seq")))
    with pytest.raises(KeyError, match="no column 'nope'"):
        sash.windowed(df).agg(c=sf.count().over(Window.partitionBy("nope").orderBy("ts")))


def test_numbers_over_timestamps(df: DataFrame) -> None:
    """Spark refuses them too; what was meant is said."""
    spec = Window.partitionBy("k").orderBy("ts").rangeBetween(-3600, 0)
    with pytest.raises(
        TypeError, match=r'c: .*has no unit.*col\("ts"\).cast\("long"\) for seconds'
    ):
        sash.windowed(df).agg(c=sf.count().over(spec))


def test_days_over_dates(df: DataFrame) -> None:
    spec = Window.partitionBy("k").orderBy("day").rangeBetween(-7, 0)
    ours = sash.windowed(df).agg(c=sf.count().over(spec), d_=sf.count().over("7 days"))
    assert ours.where("c != d_").count() == 0
