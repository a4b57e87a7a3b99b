"""Ranks, rows before and after, and values by position, with DuckDB and pandas as oracles."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import row_windows
from tests.language import duck

ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
ROWS = "ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING"
LAST = sash.rows_between(-3, 2)


def places() -> dict[str, tuple[Any, str]]:
    by_time, by_row = duck.over("", "t"), duck.over("", "t, id")
    near = duck.over(ROWS)
    return {
        "number": (sf.row_number(), f"row_number() {by_row}"),
        "rank": (sf.rank(), f"rank() {by_time}"),
        "dense": (sf.dense_rank(), f"dense_rank() {by_time}"),
        "percent": (sf.percent_rank(), f"percent_rank() {by_time}"),
        "cume": (sf.cume_dist(), f"cume_dist() {by_time}"),
        "four": (sf.ntile(4), f"ntile(4) {by_row}"),
        "many": (sf.ntile(1000), f"ntile(1000) {by_row}"),
        "lag": (sf.lag("x"), f"lag(x) {by_row}"),
        "lag3": (sf.lag("s", 3, default="none"), f"lag(s, 3, 'none') {by_row}"),
        "back": (sf.lag("i", -2), f"lag(i, -2) {by_row}"),
        "itself": (sf.lag("i", 0), f"lag(i, 0) {by_row}"),
        "lead": (sf.lead("i", 2, default=sf.col("id")), f"lead(i, 2, id) {by_row}"),
        "lag_known": (sf.lag("x", 2, ignore_nulls=True), f"lag(x, 2 IGNORE NULLS) {by_row}"),
        "lead_known": (
            sf.lead("x", 1, default=9.0, ignore_nulls=True),
            f"lead(x, 1, 9.0 IGNORE NULLS) {by_row}",
        ),
        "first": (sf.first_value("x").over(LAST), f"first_value(x) {near}"),
        "first_known": (
            sf.first_value("x", ignore_nulls=True).over(LAST),
            f"first_value(x IGNORE NULLS) {near}",
        ),
        "last_known": (
            sf.last_value("s", ignore_nulls=True).over(LAST),
            f"last_value(s IGNORE NULLS) {near}",
        ),
        "third": (sf.nth_value("s", 3).over(LAST), f"nth_value(s, 3) {near}"),
        "third_known": (
            sf.nth_value("x", 3, ignore_nulls=True).over(LAST),
            f"nth_value(x, 3 IGNORE NULLS) {near}",
        ),
        "change": (sf.col("x") - sf.lag("x"), f"x - lag(x) {by_row}"),
        "without": (
            sf.nth_value("i", 2).over(LAST, exclude="current row"),
            f"nth_value(i, 2) {duck.over(ROWS + ' EXCLUDE CURRENT ROW')}",
        ),
    }


@pytest.mark.parametrize("block", [9, 1 << 17])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_places_are_duckdbs(seed: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", block)
    rows = duck.sample(60 * seed, seed, keys=4, ties=seed)
    asked = places()
    found = sash.windowed(rows, "k", time="t").agg(**{out: a for out, (a, _) in asked.items()})
    duck.assert_same(found, duck.answers(rows, {out: sql for out, (_, sql) in asked.items()}))
    for out in ("number", "rank", "dense", "four"):
        assert found.schema.field(out).type == pa.int32()


def test_a_key_of_one_row_has_all_its_ranks() -> None:
    found = sash.windowed(pa.table({"t": [5], "x": [1]}), time="t").agg(
        percent=sf.percent_rank(), cume=sf.cume_dist(), tile=sf.ntile(3), before=sf.lag("x")
    )
    assert found.drop_columns(["t", "x"]).to_pylist() == [
        {"percent": 0.0, "cume": 1.0, "tile": 1, "before": None}
    ]


def test_places_keep_no_state() -> None:
    work = sash.windowed(duck.sample(5, 1), "k", time="t")
    plan = work.explain(**{out: a for out, (a, _) in places().items()}).plan
    assert plan.combines == 0


@pytest.mark.parametrize("method", ["average", "min", "max"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("pct", [False, True])
def test_the_rank_of_a_row_within_its_window_is_pandas(
    method: Any, descending: bool, pct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_windows, "BLOCK", 13)
    table = duck.sample(100, 6, keys=1)
    asked = sf.window_rank("x", method, descending, pct).over(sash.rows(7))
    found = sash.windowed(table, "k", time="t").agg(r=asked).column("r").to_pylist()
    x = pd.Series(table.column("x").to_numpy(zero_copy_only=False))
    theirs = x.rolling(7, min_periods=1).rank(method, ascending=not descending, pct=pct)
    wanted = [None if pd.isna(own) else r for own, r in zip(x, theirs, strict=True)]
    assert all(map(duck.same, found, wanted))


def test_a_row_that_is_not_in_its_window_has_the_rank_it_would_have() -> None:
    table = pa.table({"t": range(5), "x": [3.0, 1.0, 2.0, 9.0, 2.0]})
    asked = sf.window_rank("x", "min").over(sash.rows(3), delay=1)
    found = sash.windowed(table, time="t").agg(r=asked).column("r").to_pylist()
    assert found == [1, 1, 2, 4, 2]


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="ntile: n must be"):
        sf.ntile(0)
    with pytest.raises(ValueError, match="nth_value: n must be"):
        sf.nth_value("x", 0)
    with pytest.raises(TypeError, match="lag: offset must be"):
        sf.lag("x", "1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method must be one of average, min, max"):
        sf.window_rank("x", "dense")
    work = sash.windowed(pa.table({"t": [1], "x": [1]}), time="t").every(1)
    with pytest.raises(ValueError, match="no row of its own that could have a rank"):
        work.agg(r=sf.window_rank("x").over(sash.range_between(-1, 0)))
