"""Spark batch: Sash against Spark's own frames, and against the shuffle and sort alone.

    python -m benchmarks.spark_batch                       all of it, about half an hour
    python -m benchmarks.spark_batch --experiment one      one max over a frame of 10,000 rows
    python -m benchmarks.spark_batch --experiment many     4 windows × 5 aggregations
    python -m benchmarks.spark_batch --experiment uncovered    what the segment tree leaves out
    python -m benchmarks.spark_batch --experiment shuffle  10 million rows, few keys and many

Seconds are the best of several runs taken in turns, to the noop sink, warm. What is much
slower runs on fewer rows (--slow-rows), of keys as long, and is scaled up: `rows` says on how
many; a row costs the same, as its frame is as long.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StructField, StructType

import sash
import sash.spark
from benchmarks.measure import best_of, report
from sash import functions as sf

TREE = "spark.sql.window.segmentTree.enabled"
Row = dict[str, Any]


def data(spark: SparkSession, rows: int, keys: int) -> DataFrame:
    """Keys of equal length, a row a tick each; in memory, in no order that helps."""
    id_ = F.col("id")
    made = spark.range(rows).select(
        (id_ % keys).alias("k"),
        F.floor(id_ / keys).alias("t"),
        F.rand(1).alias("x"),
        (F.rand(2) * 1000).cast("long").alias("n"),
    )
    cached = made.repartition(spark.sparkContext.defaultParallelism).cache()
    run(cached)
    return cached


def run(df: DataFrame) -> None:
    """All rows, to nowhere."""
    df.write.format("noop").mode("overwrite").save()


def frame(window: int) -> Any:
    """The last `window` rows, as a range of ticks."""
    return sash.range_between(1 - window, 0)


def spec(window: int) -> Any:
    return Window.partitionBy("k").orderBy("t").rangeBetween(1 - window, 0)


def ours(df: DataFrame, **asked: Any) -> DataFrame:
    return sash.windowed(df, "k", time="t").agg(**asked)


def passed(df: DataFrame, columns: int = 0) -> DataFrame:
    """The shuffle, the sort and the trip through Python that Sash makes, and nothing else."""
    names = [f"c{i}" for i in range(columns)]

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            given = {name: batch.column("x") for name in names}
            arrays = [*batch.columns, *given.values()]
            yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *given])

    schema = StructType([*df.schema.fields, *(StructField(name, DoubleType()) for name in names)])
    return df.repartition("k").sortWithinPartitions("k", "t").mapInArrow(same, schema)


def native(df: DataFrame, columns: dict[str, Any]) -> DataFrame:
    return df.select("*", *[column.alias(name) for name, column in columns.items()])


def with_tree(spark: SparkSession, on: bool, df: Callable[[], DataFrame]) -> Callable[[], None]:
    def measured() -> None:
        spark.conf.set(TREE, on)
        run(df())

    return measured


def scaled(name: str, df: DataFrame, slow: DataFrame, make: Any, options: Any) -> Row:
    """The seconds of something slow, on fewer rows, as if on all."""
    few, all_ = slow.count(), df.count()
    seconds = best_of({name: lambda: run(make(slow))}, options.slow_repeat)[name]
    return {name: seconds * all_ / few, f"{name} rows": few}


def one(spark: SparkSession, options: argparse.Namespace) -> Iterator[Row]:
    """One max over a long range frame."""
    df = data(spark, options.rows, options.keys)
    slow = data(spark, options.slow_rows, max(1, options.slow_rows * options.keys // options.rows))
    window = options.window
    theirs = {"y": F.max("x").over(spec(window))}
    asked = {"y": sf.max("x").over(frame(window))}
    runs = {
        "sash": lambda: run(ours(df, **asked)),
        "pass-through": lambda: run(passed(df, 1)),
        "native, tree": with_tree(spark, True, lambda: native(df, theirs)),
    }
    best = warm_best(runs, options)
    spark.conf.set(TREE, False)
    best |= scaled("native, no tree", df, slow, lambda d: native(d, theirs), options)
    yield compared({"asked": f"max over {window} rows"}, best)


def many(spark: SparkSession, options: argparse.Namespace) -> Iterator[Row]:
    """Four windows of five aggregations."""
    df = data(spark, options.rows, options.keys)
    windows = [options.window // part for part in (10, 4, 2, 1)]
    pairs = {
        "sum": (sf.sum, F.sum), "mean": (sf.mean, F.avg), "min": (sf.min, F.min),
        "max": (sf.max, F.max), "stddev": (sf.stddev, F.stddev),
    }  # fmt: skip
    asked = {f"{n}_{w}": f("x").over(frame(w)) for w in windows for n, (f, _) in pairs.items()}
    theirs = {f"{n}_{w}": f("x").over(spec(w)) for w in windows for n, (_, f) in pairs.items()}
    runs = {
        "sash": lambda: run(ours(df, **asked)),
        "pass-through": lambda: run(passed(df, len(asked))),
        "native, tree": with_tree(spark, True, lambda: native(df, theirs)),
    }
    yield compared({"asked": f"5 aggregations × {windows} rows"}, warm_best(runs, options))


def uncovered(spark: SparkSession, options: argparse.Namespace) -> Iterator[Row]:
    """What the segment tree does not cover."""
    df = data(spark, options.rows, options.keys)
    slow = data(spark, options.slow_rows, max(1, options.slow_rows * options.keys // options.rows))
    window = options.window
    cases: dict[str, tuple[Any, Any]] = {
        "max_by": (sf.max_by("n", "x"), F.max_by("n", "x").over(spec(window))),
        "percentile": (
            sf.percentile_approx("x", 0.5),
            F.percentile_approx("x", 0.5).over(spec(window)),
        ),
        "distinct": (sf.count_distinct("n"), F.size(F.collect_set("n").over(spec(window)))),
        "distinct, about": (
            sf.approx_count_distinct("n"),
            F.approx_count_distinct("n").over(spec(window)),
        ),
    }
    spark.conf.set(TREE, True)
    for name in options.cases or cases:
        mine, theirs = cases[name]
        runs = {"sash": lambda a=mine: run(ours(df, y=a.over(frame(window))))}
        best: Row = dict(warm_best(runs, options))
        make = lambda d, c=theirs: native(d, {"y": c})  # noqa: E731
        best |= scaled("native, tree", df, slow, make, options)
        yield compared({"asked": f"{name} over {window} rows"}, best)


def shuffle(spark: SparkSession, options: argparse.Namespace) -> Iterator[Row]:
    """Many rows of few keys and of many, against the shuffle, the sort and Python alone."""
    for keys in options.many_keys:
        df = data(spark, options.many_rows, keys)
        asked = {"y": sf.max("x").over(frame(100)), "z": sf.mean("x").over(frame(1000))}
        runs = {
            "sash": lambda d=df, a=asked: run(ours(d, **a)),
            "pass-through": lambda d=df: run(passed(d, 2)),
            "no Python": lambda d=df: run(d.repartition("k").sortWithinPartitions("k", "t")),
        }
        yield compared(
            {"asked": f"{options.many_rows} rows, {keys} keys"}, warm_best(runs, options)
        )
        df.unpersist()


def warm_best(runs: dict[str, Callable[[], Any]], options: argparse.Namespace) -> dict[str, float]:
    for each in runs.values():
        each()
    return best_of(runs, options.repeat)


def compared(what: Row, best: Row) -> Row:
    """Seconds, and how many times those of Sash they are."""
    seconds = {k: v for k, v in best.items() if not k.endswith(" rows")}
    return (
        what | best | {f"{k} / sash": v / best["sash"] for k, v in seconds.items() if k != "sash"}
    )


EXPERIMENTS = {"one": one, "many": many, "uncovered": uncovered, "shuffle": shuffle}


def main(arguments: list[str] | None = None) -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--experiment", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--slow-rows", type=int, default=200_000, help="for what is much slower")
    parser.add_argument("--slow-repeat", type=int, default=1)
    parser.add_argument("--cases", nargs="*", help="of `uncovered`; all unless told")
    parser.add_argument("--many-rows", type=int, default=10_000_000)
    parser.add_argument("--many-keys", nargs="+", type=int, default=[1_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args(arguments)
    spark = sash.spark.session("benchmark", options.master)
    for name in options.experiment:
        report(f"spark_batch_{name}", EXPERIMENTS[name](spark, options), options.out)
        spark.catalog.clearCache()
    spark.stop()


if __name__ == "__main__":
    main()
