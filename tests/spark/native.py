"""Random rows with all that is awkward, and what Spark's own frames say about them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, None, None]
UTC = dt.UTC


def table(rows: int = 400, seed: int = 7) -> pa.Table:
    """Keys with many rows and with one, a null key, ties in time, nulls, NaN, infinities."""
    random = np.random.default_rng(seed)
    key = np.where(random.random(rows) < 0.03, np.arange(rows) + 100, random.integers(0, 4, rows))
    seconds = random.integers(0, 40_000, rows) // 60 * 60
    start = dt.datetime(2024, 3, 30, 20, tzinfo=UTC)  # clocks go forward five hours later
    numbers = random.integers(-50, 50, rows) / 4
    whole = random.integers(-(2**40), 2**40, rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "k": pa.array([None if k == 3 else int(k) for k in key], pa.int64()),
            "ts": pa.array([start + dt.timedelta(seconds=int(s)) for s in seconds]),
            "seq": random.permutation(rows),
            "day": pa.array([dt.date(2024, 1, 1) + dt.timedelta(int(s) // 1200) for s in seconds]),
            "x": with_(numbers, random, SPECIAL, 0.15),
            "y": with_(numbers, random, [None], 0.1),
            "n": pa.array(with_(whole, random, [None], 0.1), pa.int64()),
            "small": pa.array(with_(random.integers(0, 9, rows), random, [None], 0.2), pa.int32()),
            "d": pa.array(decimals(numbers, random), pa.decimal128(12, 3)),
            "s": with_([f"é{i % 13}" for i in range(rows)], random, [None], 0.1),
            "b": with_(random.random(rows) < 0.6, random, [None], 0.2),
        }
    )


def with_(values: Any, random: Any, others: list[Any], share: float) -> list[Any]:
    """The values, some of them replaced."""
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return [
        others[int(random.integers(len(others)))] if random.random() < share else v for v in plain
    ]


def decimals(numbers: Any, random: Any) -> list[Any]:
    return with_([Decimal(str(round(v, 3))) for v in numbers.tolist()], random, [None], 0.1)


@contextmanager
def settings(spark: SparkSession, changed: dict[str, str]) -> Iterator[None]:
    """The session with other settings for a while."""
    before = {name: spark.conf.get(name) for name in changed}
    for name, value in changed.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def differing(
    ours: DataFrame, theirs: dict[str, Column], rows: int | None = None
) -> dict[str, list[Any]]:
    """The answers that Spark's own give otherwise: by column, some pairs (ours, theirs).

    `rows`: how many there must be; each `id` once.
    """
    both = ours.select("*", *[column.alias(f"{name}__") for name, column in theirs.items()])
    found = both.toArrow()
    assert rows is None or found.num_rows == len(set(found["id"].to_pylist())) == rows
    return pairs_that_differ(found, list(theirs))


def pairs_that_differ(both: pa.Table, names: list[str]) -> dict[str, list[Any]]:
    """Pairs of `name` and `name__` that are not alike, three at most of each."""
    assert both.num_rows > 0
    found = {}
    for name in names:
        pairs = zip(both.column(name).to_pylist(), both.column(f"{name}__").to_pylist())
        if wrong := [pair for pair in pairs if not alike(*pair)]:
            found[name] = [len(wrong), *wrong[:3]]
    return found


def alike(a: Any, b: Any) -> bool:
    """Equal; floats within a rounding error, NaN like NaN, lists item by item."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b
