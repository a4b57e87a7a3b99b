"""The same definition, the same answers: Spark's rows are those of a table in process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sash
from sash import Monoid
from sash import functions as sf
from sash import monoids as m
from tests.spark.native import pairs_that_differ, table

FRAMES: dict[str, Any] = {
    "time": sash.range_between(-30, 0),
    "rows": sash.rows(7),
    "session": sash.session(4),
    "delta": sash.delta("id", 40),
    "until": sash.until("end"),
    "tumbling": sash.tumbling(25),
    "sliding": sash.sliding(40, 10, offset=3),
}


@pytest.fixture(scope="module")
def input() -> pa.Table:
    found = table(300).sort_by([("k", "ascending"), ("seq", "ascending")])
    return found.append_column("end", pa.array(np.arange(300) % 11 == 0))


def drop() -> Monoid:
    """How far a number lies below an earlier one at most: not commutative."""

    def combine(a: Any, b: Any) -> Any:
        return max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2], a[0] - b[1])

    return Monoid("drop", (-np.inf, np.inf, 0.0), lambda x: (x, x, 0.0), combine, lambda v: v[2])


class Longest:
    """Spark's aggregator protocol, over objects."""

    zero = ""

    def reduce(self, buffer: str, x: Any) -> str:
        return self.merge(buffer, x or "")

    def merge(self, a: str, b: str) -> str:
        return a if len(a) >= len(b) else b

    def finish(self, buffer: str) -> str:
        return buffer


def asked(frame: Any) -> dict[str, Any]:
    """What Spark has not, and one of what it has."""
    return {
        "sum": sf.sum("n").over(frame),
        "geomean": sf.geomean("small").over(frame),
        "argmin": sf.argmin("id", "s").over(frame),
        "drop": sf.apply(drop(), "y").over(frame),
        "regression": sf.apply(m.LinearRegression(), "id", "y").over(frame),
        "join": sf.apply(m.join(hi=m.Max(), known=m.Count()), "y").over(frame),
        "run": sf.apply(m.LongestRun(), "b").over(frame),
        "bloom": sf.apply(m.Bloom(64, 2), "n").over(frame),
        "top": sf.apply(m.TopK(3), "n", returns=pa.list_(pa.int64())).over(frame),
        "median": sf.apply(m.Quantiles(), "y", returns=pa.float64()).over(frame),
        "longest": sf.apply(Longest(), "s", returns=pa.string()).over(frame),
    }


@pytest.mark.slow
def test_every_frame(spark: SparkSession, input: pa.Table) -> None:
    wanted = {f"{f}_{n}": a for f, frame in FRAMES.items() for n, a in asked(frame).items()}
    df = spark.createDataFrame(input)
    assert_same(df, input, wanted)


def test_policy(spark: SparkSession, input: pa.Table) -> None:
    frame = sash.policy(lambda total, old: total - old >= 5, of=m.Count())
    wanted = {"tot": sf.sum("small").over(frame), "hi": sf.max("s").over(frame)}
    assert_same(spark.createDataFrame(input), input, wanted)


def assert_same(df: Any, input: pa.Table, wanted: dict[str, Any]) -> None:
    ours = sash.windowed(df, "k", time="seq").agg(**wanted).toArrow().sort_by("id")
    there = sash.windowed(input, "k", time="seq").agg(**wanted).sort_by("id")
    for name in wanted:
        ours = ours.append_column(f"{name}__", there.column(name))
    assert pairs_that_differ(ours, list(wanted)) == {}


def test_types_of_any_kind(spark: SparkSession) -> None:
    """Nested columns are collected, and pass; so do the least common ones."""
    rows = 40
    nested = pa.array([{"a": i, "b": [str(i), None]} for i in range(rows)])
    input = pa.table(
        {
            "id": np.arange(rows),
            "seq": np.arange(rows),
            "k": np.arange(rows) % 3,
            "nested": nested,
            "raw": pa.array([bytes([i]) for i in range(rows)]),
            "span": pa.array(range(rows), pa.duration("us")),
            "byte": pa.array(range(rows), pa.int8()),
            "single": pa.array(range(rows), pa.float32()),
        }
    )
    wanted = {
        "all": sf.collect_list("nested"),
        "first": sf.first("nested"),
        "by": sf.max_by("nested", "id"),
        "raws": sf.max("raw"),
        "spans": sf.max("span"),
        "bytes": sf.sum("byte"),
        "singles": sf.max("single"),
    }
    wanted = {name: a.over(sash.rows(4)) for name, a in wanted.items()}
    assert_same(spark.createDataFrame(input), input, wanted)


def test_features(spark: SparkSession, input: pa.Table) -> None:
    out = sash.features(
        spark.createDataFrame(input), "k", "ts", {"y": ["sum", "max"]}, ["1h", "7d"]
    )
    there = sash.features(input, "k", "ts", {"y": ["sum", "max"]}, ["1h", "7d"]).sort_by("id")
    both = out.toArrow().sort_by("id")
    names = ["y_sum_1h", "y_sum_7d", "y_max_1h", "y_max_7d"]
    for name in names:
        both = both.append_column(f"{name}__", there.column(name))
    assert pairs_that_differ(both, names) == {}


def test_transform(spark: SparkSession, input: pa.Table) -> None:
    df = spark.createDataFrame(input)
    out = df.transform(
        lambda d: sash.windowed(d, "k", time="seq").agg(c=sf.count().over(sash.rows(2)))
    )
    assert out.where("c > 2").count() == 0
