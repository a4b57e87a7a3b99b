"""Frames whose bounds are columns: each row's window lies where the row says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import Monoid
from sash import functions as sf

ROWS = sash.rows_between(sf.col("a"), sf.col("b"))
RANGE = sash.range_between(sf.col("a"), sf.col("b"))

joined = Monoid("joined", "", lambda x: f"{x};", lambda a, b: a + b)  # not commutative


def rows(n: int, seed: int, keys: int = 3) -> pa.Table:
    dice = np.random.default_rng(seed)
    values = [None if dice.random() < 0.2 else int(x) for x in dice.integers(0, 99, n)]
    return pa.table({
        "id": np.arange(n), "k": dice.integers(0, keys, n), "t": dice.integers(0, 2 * n, n),
        "a": dice.integers(-9, 5, n), "b": dice.integers(-5, 9, n), "x": pa.array(values),
    })  # fmt: skip


def plain(table: pa.Table, by_rows: bool, exclude: bool = False) -> list[list[Any]]:
    """Each row's window, row by row."""
    order = sorted(table.to_pylist(), key=lambda r: (r["k"], r["t"], r["id"]))
    found: dict[int, list[Any]] = {}
    for at, row in enumerate(order):
        mine = [
            (i, r)
            for i, r in enumerate(order)
            if r["k"] == row["k"]
            and (row["a"] <= (i - at if by_rows else r["t"] - row["t"]) <= row["b"])
        ]
        found[row["id"]] = [r["x"] for i, r in mine if not (exclude and i == at)]
    return [found[i] for i in range(len(order))]


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_plain_python(by_rows: bool, seed: int) -> None:
    table = rows(150, seed, keys=1 + seed)
    frame = ROWS if by_rows else RANGE
    out = sash.windowed(table, "k", time="t").agg(
        n=sf.count().over(frame), known=sf.count("x").over(frame), s=sf.sum("x").over(frame),
        text=sf.apply(joined, "x", returns=pa.string()).over(frame),
        ends=sf.collect_list("x").over(frame), short=sf.max("x").over(sash.rows(3)),
    )  # fmt: skip
    for window, row in zip(plain(table, by_rows), out.to_pylist(), strict=True):
        known = [x for x in window if x is not None]
        assert (row["n"], row["known"]) == (len(window), len(known))
        assert row["s"] == (sum(known) if known else None)
        assert row["text"] == "".join(f"{x};" for x in window)
        assert row["ends"] == known


@pytest.mark.slow
@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_largest(by_rows: bool, seed: int) -> None:
    table, frame = rows(150, seed, keys=1 + seed), ROWS if by_rows else RANGE
    out = sash.windowed(table, "k", time="t").agg(hi=sf.max("x").over(frame))
    for window, row in zip(plain(table, by_rows), out.to_pylist(), strict=True):
        assert row["hi"] == max((x for x in window if x is not None), default=None)


@pytest.mark.slow
@pytest.mark.parametrize("by_rows", [True, False])
def test_the_first_the_row_of_the_largest_and_the_spread(by_rows: bool) -> None:
    table = rows(150, 5)
    table = table.set_column(5, "x", pa.array(np.random.default_rng(5).permutation(150)))
    frame = ROWS if by_rows else RANGE
    out = sash.windowed(table, "k", time="t").agg(
        first=sf.first("x").over(frame), best=sf.argmax("x", "id").over(frame),
        spread=sf.stddev_pop("x").over(frame),
    )  # fmt: skip
    place = {x: i for i, x in enumerate(table["x"].to_pylist())}
    for window, row in zip(plain(table, by_rows), out.to_pylist(), strict=True):
        assert row["first"] == (window[0] if window else None)
        assert row["best"] == (place[max(window)] if window else None)
        assert row["spread"] == (pytest.approx(np.std(window)) if window else None)


def test_without_the_row_itself() -> None:
    table = rows(120, 9)
    text = sf.apply(joined, "x", returns=pa.string()).over(ROWS, exclude="current row")
    out = sash.windowed(table, "k", time="t").agg(text=text)
    for window, row in zip(plain(table, True, exclude=True), out.to_pylist(), strict=True):
        assert (row["text"] or "") == "".join(f"{x};" for x in window)


@pytest.mark.slow
def test_without_the_row_itself_compiled() -> None:
    table = rows(120, 9)
    s = sf.sum("x").over(ROWS, exclude="current row")
    out = sash.windowed(table, "k", time="t").agg(s=s)
    for window, row in zip(plain(table, True, exclude=True), out.to_pylist(), strict=True):
        known = [x for x in window if x is not None]
        assert row["s"] == (sum(known) if known else None)


@pytest.mark.parametrize("unit", ["ROWS", "RANGE"])
@pytest.mark.parametrize("name", ["sum", pytest.param("max", marks=pytest.mark.slow)])
def test_as_duckdb(unit: str, name: str) -> None:
    dice = np.random.default_rng(4)
    table = rows(300, 4)
    before, after = dice.integers(0, 12, 300), dice.integers(0, 12, 300)
    table = table.set_column(3, "a", pa.array(-before)).set_column(4, "b", pa.array(after))
    table = table.append_column("p", pa.array(before))
    times = pa.array(dice.permutation(300))  # without ties: DuckDB orders them as it likes
    table = table.set_column(2, "t", times)
    query = f"""SELECT {name}(x) OVER w AS answer, count(*) OVER w AS n FROM t WINDOW
        w AS (PARTITION BY k ORDER BY t {unit} BETWEEN p PRECEDING AND b FOLLOWING) ORDER BY id"""
    expected = duckdb.sql(query.replace(" FROM t ", " FROM tbl "), connection=connection(table))
    frame = ROWS if unit == "ROWS" else RANGE
    out = sash.windowed(table, "k", time="t").agg(
        answer=getattr(sf, name)("x").over(frame), n=sf.count().over(frame)
    )
    found = [tuple(row.values()) for row in out.select(["answer", "n"]).to_pylist()]
    assert found == [(None if a is None else int(a), n) for a, n in expected.fetchall()]


def connection(table: pa.Table) -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.register("tbl", table)
    return made


def test_durations_and_floats() -> None:
    start = dt.datetime(2026, 1, 1)
    hours = [start + dt.timedelta(hours=h) for h in range(5)]
    table = pa.table({
        "t": pa.array(hours, pa.timestamp("us")), "x": [1, 2, 3, 4, 5],
        "a": pa.array([dt.timedelta(hours=-h) for h in (0, 1, 2, 9, 1)], pa.duration("s")),
        "b": pa.array([dt.timedelta(hours=h) for h in (1, 0, 0, -1, 0)], pa.duration("s")),
    })  # fmt: skip
    out = sash.windowed(table, time="t").agg(s=sf.sum("x").over(RANGE))
    assert out["s"].to_pylist() == [3, 3, 6, 6, 9]
    floats = pa.table({"t": [0.0, 0.5, 1.0], "x": [1, 2, 4], "a": [-0.5] * 3, "b": [0.5, 0.0, 9.0]})
    assert sash.windowed(floats, time="t").agg(s=sf.sum("x").over(RANGE))["s"].to_pylist() == [
        3, 3, 6,
    ]  # fmt: skip


def test_the_ends_of_time() -> None:
    least, most = -(1 << 63), (1 << 63) - 1
    table = pa.table(
        {"t": [least, 0, most], "x": [1, 2, 4], "a": [-5, least, -5], "b": [5, most, 5]}
    )
    out = sash.windowed(table, time="t").agg(s=sf.sum("x").over(RANGE))
    assert out["s"].to_pylist() == [1, 7, 4]


def test_many_batches_and_threads_make_no_difference() -> None:
    table = rows(700_000, 3, keys=4000)
    whole = sash.windowed(table, "k", time="t").agg(s=sf.sum("x").over(ROWS))
    order = np.lexsort([table["id"], table["t"], table["k"]])
    sorted_rows = table.take(order)
    again = sash.windowed(sorted_rows, "k", time="t").agg(s=sf.sum("x").over(ROWS))
    assert whole["s"].take(order).equals(again["s"])


def test_what_is_refused() -> None:
    table = rows(5, 1)
    with pytest.raises(TypeError, match="both columns or neither"):
        sash.rows_between(sf.col("a"), 3)
    with pytest.raises(TypeError, match="both columns or neither"):
        sash.range_between(sf.col("a"), sf.col("b") + 1)
    nulls = table.set_column(5, "x", pa.array([None, 1, 2, 3, 4]))
    frame = sash.rows_between(sf.col("x"), sf.col("b"))
    with pytest.raises(ValueError, match="column 'x' has nulls"):
        sash.windowed(nulls, time="t").agg(n=sf.count().over(frame))
    floats = table.set_column(3, "a", table["a"].cast(pa.float64()))
    with pytest.raises(TypeError, match=r"the bound 'a' is double; it must be whole numbers"):
        sash.windowed(floats, time="t").agg(n=sf.count().over(ROWS))
    with pytest.raises(ValueError, match="bounds of each row's own go anywhere"):
        sash.windowed(table, time="t").agg(n=sf.median("x").over(ROWS))
    with pytest.raises(ValueError, match="do not run on a stream"):
        sash.stream(time="t").agg(n=sf.count().over(ROWS)).feed(table)
    with pytest.raises(ValueError, match="only FiBA"):
        sash.windowed(table, time="t", algorithm="DABA").agg(n=sf.max("x").over(ROWS))


def test_explained() -> None:
    text = str(sash.windowed(rows(5, 1), "k", time="t").explain(s=sf.sum("x").over(ROWS)))
    assert "rows from a to b, of each row's own" in text
    assert "FiBA" in text
