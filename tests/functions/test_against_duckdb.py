"""The catalogue over tables against DuckDB: random windows, nulls, ties, and few values."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.testing import alike

rng = np.random.default_rng(17)
N = 250


def some(values: Any, kind: pa.DataType) -> pa.Array:
    """The values, every tenth or so a null."""
    return pa.array([None if rng.random() < 0.1 else v for v in values.tolist()], kind)


TABLE = pa.table(
    {
        "t": range(N),
        "i": some(rng.integers(-5, 6, N), pa.int64()),
        "x": some(rng.normal(size=N).round(2) + 1000, pa.float64()),
        "y": some(np.repeat(rng.integers(0, 4, N // 2), 2) / 4, pa.float32()),
        "w": some(rng.choice(["ann", "bob", "eve", "joe", ""], N), pa.string()),
        "ok": some(rng.random(N) < 0.4, pa.bool_()),
    }
)
CASES: dict[str, tuple[sf.Aggregation, str]] = {
    "corr": (sf.corr("x", "y"), "corr(b.x, b.y)"),
    "covar_pop": (sf.covar_pop("x", "i"), "covar_pop(b.x, b.i)"),
    "covar_samp": (sf.covar_samp("x", "y"), "covar_samp(b.x, b.y)"),
    **{
        f"regr_{of}": (getattr(sf, f"regr_{of}")("x", "y"), f"regr_{of}(b.x, b.y)")
        for of in ("count", "slope", "intercept", "r2", "avgx", "avgy", "sxx", "syy", "sxy")
    },
    "skewness": (sf.skewness("x", bias=False), "skewness(b.x)"),
    "kurtosis": (sf.kurtosis("x"), "kurtosis_pop(b.x)"),
    "kurtosis_samp": (sf.kurtosis("x", bias=False), "kurtosis(b.x)"),
    "sem": (sf.sem("x"), "stddev_samp(b.x) / sqrt(count(b.x))"),
    "variance": (sf.variance("x"), "var_samp(b.x)"),
    "weighted": (
        sf.weighted_mean("x", "y"),
        "sum(b.x * b.y) / nullif(sum(b.y) FILTER (b.x IS NOT NULL), 0)",
    ),
    "mad": (sf.mad("x"), "mad(b.x)"),
    "median": (sf.median("i"), "median(b.i)"),
    "count_if": (sf.count_if("ok"), "count(*) FILTER (b.ok)"),
    "sum_distinct": (sf.sum("i", distinct=True), "sum(DISTINCT b.i)"),
    "mean_distinct": (sf.avg("i", distinct=True), "avg(DISTINCT b.i)"),
    "count_distinct": (sf.count("w", distinct=True), "count(DISTINCT b.w)"),
    "histogram": (sf.histogram("i"), "map_entries(histogram(b.i))"),
    "bins": (
        sf.histogram("i", bins=[-5, -1, 0, 3]),
        "[count(*) FILTER (b.i >= -5 AND b.i < -1), count(*) FILTER (b.i = -1), "
        "count(*) FILTER (b.i >= 0 AND b.i <= 3)]",
    ),
    "listagg": (sf.listagg("w", "-"), "string_agg(b.w, '-' ORDER BY b.t)"),
    "ordered": (
        sf.listagg("w", "-", order_by="i", descending=True),
        "string_agg(b.w, '-' ORDER BY b.i DESC NULLS LAST, b.t)",
    ),
    "ordered_distinct": (
        sf.string_agg("w", "-", distinct=True, order_by="w"),
        "string_agg(DISTINCT b.w, '-' ORDER BY b.w)",
    ),
    "list": (
        sf.collect_list("w", order_by="y"),
        "list(b.w ORDER BY b.y NULLS FIRST, b.t) FILTER (b.w IS NOT NULL)",
    ),
    "top_k": (sf.top_k("i", 3), "list(b.i ORDER BY b.i DESC) FILTER (b.i IS NOT NULL)[1:3]"),
    "first_k": (sf.first_k("w", 3), "list(b.w ORDER BY b.t) FILTER (b.w IS NOT NULL)[1:3]"),
    "last_k": (sf.last_k("w", 3), "list(b.w ORDER BY b.t) FILTER (b.w IS NOT NULL)[-3:]"),
    "max_count": (
        sf.max_count("i"),
        "nullif(len(list_filter(list(b.i), lambda v: v = list_max(list(b.i)))), 0)",
    ),
}


def plain(value: Any, empty: Any) -> Any:
    """DuckDB's answer as Sash has it: NaN of a ratio to nothing is null, maps are pairs."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return empty
    if isinstance(value, list):
        return [tuple(v.values()) if isinstance(v, dict) else plain(v, None) for v in value]
    return int(value) if isinstance(value, Decimal) else value


@pytest.fixture(scope="module", params=[(2, 4), pytest.param((5, 23), marks=pytest.mark.slow)])
def sizes(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Of windows: the first have fewer rows. From 5 rows on another algorithm is compiled, which
    takes three times as long."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def duck(sizes: tuple[int, int]) -> dict[int, list[dict[str, Any]]]:
    """For windows of some sizes, DuckDB's answers row by row."""
    connection = duckdb.connect()
    connection.register("rows", TABLE)
    columns = ", ".join(f"{sql} AS {name}" for name, (_, sql) in CASES.items())
    return {
        size: connection.sql(
            f"SELECT {columns} FROM rows a JOIN rows b ON b.t BETWEEN a.t - {size - 1} AND a.t "
            "GROUP BY a.t ORDER BY a.t"
        ).to_arrow_table().to_pylist()
        for size in sizes
    }  # fmt: skip


@pytest.fixture(scope="module")
def ours(sizes: tuple[int, int]) -> dict[int, pa.Table]:
    """The same from Sash, all in one call, where those that can share a state do."""
    return {
        size: sash.windowed(TABLE, time="t").agg(
            **{f"_{name}": a.over(sash.rows(size)) for name, (a, _) in CASES.items()}
        )
        for size in sizes
    }


EMPTY: dict[str, Any] = {name: [] for name in ("list", "top_k", "first_k", "last_k", "histogram")}


@pytest.mark.parametrize("name", CASES)
def test_windows_over_a_table(name: str, sizes: tuple[int, int], ours: Any, duck: Any) -> None:
    for size in sizes:
        answers = ours[size][f"_{name}"].to_pylist()
        for i, (answer, row) in enumerate(zip(answers, duck[size], strict=True)):
            expected = plain(row[name], EMPTY.get(name))
            assert alike(answer, expected, 1e-9), (size, i, answer, expected)
