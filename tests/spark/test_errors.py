"""What is wrong with a call is said when it is made, before any job; what can't be, in the job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sash
from sash import Monoid
from sash import functions as sf
from sash.spark.workers import WorkerError
from tests.spark.native import settings, table


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table(50))


@pytest.fixture
def no_job(df: DataFrame) -> Iterator[None]:
    """Fails if a job starts."""
    context = df.sparkSession.sparkContext
    context.setJobGroup("checked", "a call that must not start a job")
    yield
    assert list(context.statusTracker().getJobIdsForGroup("checked")) == []
    context.setLocalProperty("spark.jobGroup.id", None)


class Stubborn:
    """Refuses to be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("no pickle of this")


def stuck(stubborn: Stubborn) -> Monoid:
    return Monoid("stuck", 0, int, lambda a, b: a if stubborn else b)


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "unknown key": ({"by": "kk"}, {"c": sf.count()}, KeyError, "no column 'kk'.*did you mean 'k'"),
    "unknown time": ({"time": "tss"}, {"c": sf.count()}, KeyError, "no column 'tss'.*'ts'"),
    "unknown column": ({}, {"c": sf.max("y1")}, KeyError, "no column 'y1'"),
    "time of text": ({"time": "s"}, {"c": sf.count()}, TypeError, "time column 's' is string"),
    "time of decimals": ({"time": "d"}, {"c": sf.count()}, TypeError, "time column 'd' is decimal"),
    "duration on integers": ({"time": "seq"}, {"c": sf.count()}, TypeError, "c: .*is a duration"),
    "sum of text": (
        {},
        {"c": sf.sum("s")},
        TypeError,
        "c: sum takes a column of numbers, but s is",
    ),
    "any of numbers": ({}, {"c": sf.bool_or("n")}, TypeError, "c: bool_or takes .*but n is int64"),
    "name that is there": ({}, {"x": sf.count()}, ValueError, "x: .*choose another"),
    "and in another case": ({}, {"TS": sf.count()}, ValueError, "TS: .*'ts'.*choose another"),
    "split that is not": ({"partitions": 0}, {"c": sf.count()}, ValueError, "partitions must be"),
    "a monoid that cannot be pickled": (
        {},
        {"c": sf.apply(stuck(Stubborn()), "n")},
        TypeError,
        "combine of monoid 'stuck' cannot be sent to other processes: it uses stubborn, a Stubborn",
    ),
    "unknown option": ({"banana": 1}, {"c": sf.count()}, TypeError, "banana"),
}


@pytest.mark.usefixtures("no_job")
def test_a_broken_law_is_a_warning_before_any_job(df: DataFrame) -> None:
    wrong = Monoid("wrong", 0.0, float, lambda a, b: a + b + 5 * a * a * b)
    asked = {"c": sf.apply(wrong, "n").over("1 hour")}
    with pytest.warns(RuntimeWarning, match="^c: monoid wrong is not associative") as caught:
        sash.windowed(df, "k", time="ts").agg(**asked)
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("no_job")
@pytest.mark.parametrize("case", WRONG)
def test_before_any_job(df: DataFrame, case: str) -> None:
    given, asked, error, message = WRONG[case]
    arguments = {"by": "k", "time": "ts", **given}
    with pytest.raises(error, match=message):
        sash.windowed(df, **arguments).agg(**{n: a.over("1 hour") for n, a in asked.items()})


@pytest.mark.usefixtures("no_job")
def test_no_time(df: DataFrame) -> None:
    with pytest.raises(TypeError, match="windowed needs time="):
        sash.windowed(df, "k").agg(c=sf.count().over("1 hour"))


@pytest.mark.usefixtures("no_job")
def test_a_number_over_times(df: DataFrame) -> None:
    frame = sash.range_between(-3600, 0)
    with pytest.raises(TypeError, match=r'c: .*plain number.*"1 hour"'):
        sash.windowed(df, "k", time="ts").agg(c=sf.count().over(frame))


@pytest.mark.usefixtures("no_job")
def test_answers_of_unknown_type(df: DataFrame) -> None:
    longest = Monoid("longest", "", str, lambda a, b: max(a, b, key=len))
    with pytest.raises(TypeError, match=r"c: Spark must know the type of longest\(s\).*returns="):
        sash.windowed(df, "k", time="ts").agg(c=sf.apply(longest, "s").over("1 hour"))


@pytest.mark.usefixtures("no_job")
def test_a_column_that_python_does_not_get(df: DataFrame) -> None:
    odd = df.withColumn("span", F.expr("make_interval(1, 2)"))
    with pytest.raises(TypeError, match=r"column 'span' is .*does not hand to Python"):
        sash.windowed(odd, "k", time="ts").agg(c=sf.count().over("1 hour"))


@pytest.mark.usefixtures("no_job")
def test_a_column_that_is_there_twice(df: DataFrame) -> None:
    twice = df.select("*", F.col("n").alias("N"))
    with pytest.raises(ValueError, match="'n' more than once"):
        sash.windowed(twice, "k", time="ts").agg(c=sf.sum("n").over("1 hour"))


def test_twice_but_not_needed(df: DataFrame) -> None:
    twice = df.select("id", "k", "ts", "n", F.col("n").alias("n"))
    out = sash.windowed(twice, "k", time="ts").agg(c=sf.count().over("1 hour"))
    assert out.columns == ["id", "k", "ts", "n", "n", "c"]
    assert out.count() == 50


def test_names_in_any_case_and_with_dots(df: DataFrame) -> None:
    dotted = df.withColumnRenamed("n", "a.n").withColumnRenamed("k", "the `key`")
    out = sash.windowed(dotted, "THE `key`", time="Ts").agg(**{"c.d": sf.sum("A.n").over("1 h")})
    plain = sash.windowed(df, "k", time="ts").agg(c=sf.sum("n").over("1 h"))
    assert out.columns == [*dotted.columns, "c.d"]
    assert {(r["id"], r["c.d"]) for r in out.collect()} == {(r.id, r.c) for r in plain.collect()}


def test_null_times_have_no_window_by_the_clock(df: DataFrame) -> None:
    holes = df.withColumn("ts", F.when(F.col("id") > 3, F.col("ts")))
    work = sash.windowed(holes, "k", time="ts").every("1 hour")
    with pytest.raises(Exception, match=r"the time column 'ts' has \d null\(s\): drop those rows"):
        work.agg(c=sf.count().over("1 hour")).collect()


def test_an_error_in_a_users_function(df: DataFrame) -> None:
    def careless(x: Any) -> Any:
        return 1 / (x - x)

    broken = Monoid("broken", None, careless, lambda a, b: a)
    asked = sf.apply(broken, "s", returns=pa.float64()).over("1 hour")
    with pytest.raises(Exception, match=r"(?s)in careless.*1 / \(x - x\)"):
        sash.windowed(df, "k", time="ts").agg(c=asked).collect()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_of_integers_that_overflow(spark: SparkSession, ansi: str) -> None:
    """An error, whatever Spark's own would do."""
    df = spark.createDataFrame(pa.table({"t": [1, 2], "n": [2**63 - 1, 1]}))
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        out = sash.windowed(df, time="t").agg(c=sf.sum("n").over(sash.rows(2)))
        with pytest.raises(Exception, match="the sum of integers does not fit in 64 bits"):
            out.collect()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_of_decimals_that_overflow(spark: SparkSession, ansi: str) -> None:
    from decimal import Decimal

    large = pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))
    df = spark.createDataFrame(pa.table({"t": [1, 2], "d": large}))
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        out = sash.windowed(df, time="t").agg(c=sf.sum("d").over(sash.rows(2)))
        with pytest.raises(Exception, match=r"does not fit in decimal128"):
            out.collect()


def test_workers_with_another_python_are_named_before_a_job(
    df: DataFrame, no_job: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.9\n")
    other.chmod(0o755)
    monkeypatch.setattr(df.sparkSession.sparkContext, "pythonExec", str(other))
    with pytest.raises(WorkerError, match=r"workers would run Python 3\.9"):
        sash.windowed(df, "k", time="ts").agg(rows=sf.count().over("1 hour"))
