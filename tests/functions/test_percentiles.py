"""Percentiles between two values: NumPy's names and answers, over tables and as a monoid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.testing import Oracle, alike

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")
rng = np.random.default_rng(5)
VALUES = [None if rng.random() < 0.1 else float(x) for x in rng.integers(-9, 9, 200)]


def windows(size: int) -> list[list[float]]:
    return [
        [x for x in VALUES[max(0, i + 1 - size) : i + 1] if x is not None]
        for i in range(len(VALUES))
    ]


@pytest.mark.parametrize("share", [0, 0.1, 0.25, 0.5, 0.9, 1])
def test_every_interpolation_is_numpys(share: float) -> None:
    table = pa.table({"t": range(len(VALUES)), "x": pa.array(VALUES, pa.float64())})
    asked = {
        f"{method}_{size}": sf.percentile("x", share, method).over(sash.rows(size))
        for method in METHODS
        for size in (1, 6, 31)
    }
    found = sash.windowed(table, time="t").agg(**asked)
    for method in METHODS:
        for size in (1, 6, 31):
            expected = [
                float(np.quantile(w, share, method=method)) if w else None for w in windows(size)
            ]
            assert alike(found[f"{method}_{size}"].to_pylist(), expected, 1e-12), (method, size)


@pytest.mark.parametrize("method", METHODS)
def test_the_monoid_gives_what_tables_give(method: str) -> None:
    monoid = m.Percentile(0.3, method)
    expected = [float(np.quantile(w, 0.3, method=method)) if w else None for w in windows(9)]
    assert alike(Oracle(monoid).slide(VALUES, 9), expected, 1e-12)


def test_a_value_that_is_picked_keeps_the_columns_type() -> None:
    when = pa.array([3, 1, 2], pa.timestamp("us"))
    table = pa.table({"t": [1, 2, 3], "i": pa.array([2**62 + 1, 5, 7]), "when": when})
    found = sash.windowed(table, time="t").agg(
        top=sf.percentile("i", 1.0, "lower").over(sash.rows(3)),
        near=sf.percentile("when", 0.5, "nearest").over(sash.rows(3)),
        mid=sf.percentile("i", 0.5, "midpoint").over(sash.rows(3)),
    )
    assert found["top"].to_pylist() == [2**62 + 1] * 3
    assert found.schema.field("near").type == when.type
    assert found.schema.field("mid").type == pa.float64()


def test_infinities_and_nan_are_values() -> None:
    inf, nan = float("inf"), float("nan")
    table = pa.table({"t": range(3), "x": [inf, inf, nan]})
    found = sash.windowed(table, time="t").agg(
        lin=sf.percentile("x", 0.4).over(sash.rows(3)),
        hi=sf.percentile("x", 0.9, "higher").over(sash.rows(3)),
    )
    assert alike(found["lin"].to_pylist(), [inf, inf, inf])
    assert alike(found["hi"].to_pylist(), [inf, inf, nan])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.percentile("x", 0.5, "closest"), "must be one of linear, lower, .* 'closest'"),
        (lambda: sf.percentile("x", 2), "share must be from 0 to 1"),
        (lambda: m.Percentile(0.5, "closest"), "Percentile: interpolation must be one of"),
        (lambda: m.Percentile(1.5), "Percentile: share must be a number from 0 to 1"),
    ],
)
def test_what_is_wrong_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
