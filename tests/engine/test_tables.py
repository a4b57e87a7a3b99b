"""pyarrow, pandas and polars tables: the same answers, rows in their order, every core."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.engine import parts
from sash.engine.team import Team
from tests.engine.oracle import alike, expected
from tests.engine.streams import aggregate
from tests.engine.test_row_windows import sample

ASKED = {
    "n": sf.count().over(sash.range_between(-20, 0)),
    "hi": sf.max("x").over(sash.range_between(-20, 5)),
    "who": sf.argmax("x", "w").over(sash.rows(4)),
    "mean": sf.mean("x").over(sash.rows_between(-3, 2)),
}


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    """Rows in any order, but ties in the order they have."""
    order = np.random.default_rng(seed).permutation(table.num_rows)
    return table.take(order)


def answers_by_row(table: pa.Table, found: Any) -> dict[Any, tuple[Any, ...]]:
    rows = pa.table({name: found.column(name) for name in ("id", *ASKED)}).to_pylist()
    return {row["id"]: tuple(row[name] for name in ASKED) for row in rows}


def numbered(seed: int = 1, n: int = 300) -> pa.Table:
    """A sorted table whose times have no ties, so that any order of rows is as good."""
    table = sample(n, seed)
    return table.set_column(1, "s", pa.array(np.arange(n) * 3)).append_column(
        "id", pa.array(range(n))
    )


def test_rows_keep_their_order_and_get_the_sorted_rows_answers() -> None:
    table = numbered()
    straight = sash.windowed(table, "k", time="s").agg(**ASKED)
    mixed = shuffled(table)
    found = sash.windowed(mixed, "k", time="s").agg(**ASKED)
    assert found.column("id").equals(mixed.column("id"))
    assert answers_by_row(mixed, found) == answers_by_row(table, straight)


def test_pandas_and_polars_give_what_pyarrow_gives() -> None:
    table = numbered().drop_columns(["f"])
    wanted = sash.windowed(table, "k", time="s").agg(**ASKED)
    polars = sash.windowed(pl.from_arrow(table), "k", time="s").agg(**ASKED)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == wanted.column_names
    assert polars["hi"].to_list() == wanted.column("hi").to_pylist()
    frame = table.to_pandas().set_index(np.arange(300) + 7)
    pandas = sash.windowed(frame, "k", time="s").agg(**ASKED)
    assert isinstance(pandas, pd.DataFrame)
    assert pandas.index.equals(frame.index)
    assert (
        pandas["who"].where(pandas["who"].notna(), None).tolist()
        == wanted.column("who").to_pylist()
    )
    assert pandas["n"].tolist() == wanted.column("n").to_pylist()


@pytest.mark.parametrize("keys", [1, 2, 40])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_parts_give_what_the_whole_gives(keys: int, threads: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(parts, "WORTH_A_THREAD", 1)
    table = sample(400, keys, keys)
    query = sash.windowed(table, "k", time="s").query(**ASKED)
    whole = aggregate(query, table, threads=1)
    with Team(threads) as team:
        assert len(parts.split(query, parts.Sorted(table, None), team)) == threads
    found = aggregate(query, table, threads=threads)
    for name in ASKED:
        assert found.column(name).to_pylist() == whole.column(name).to_pylist(), name


def test_frames_without_end_are_cut_at_keys_only(monkeypatch: Any) -> None:
    monkeypatch.setattr(parts, "WORTH_A_THREAD", 1)
    table = sample(400, 5, keys=6)
    asked = {"all": sf.sum("x").over(sash.lifetime()), "burst": sf.count().over(sash.session(4))}
    query = sash.windowed(table, "k", time="s").query(**asked)
    found = aggregate(query, table, threads=3)
    for name, answers in expected(query, table).items():
        assert all(map(alike, found.column(name).to_pylist(), answers))


def test_no_rows_and_one_row() -> None:
    table = sample(1, 1)
    one = sash.windowed(table, "k", time="s").agg(**ASKED)
    assert one.column("n").to_pylist() == [1]
    none = sash.windowed(table.slice(0, 0), "k", time="s").agg(**ASKED)
    assert none.num_rows == 0
    assert none.schema.names == one.schema.names
    assert none.schema.field("n").type == pa.int64()


def test_features_are_named_by_column_aggregation_and_window() -> None:
    start = dt.datetime(2024, 1, 1)
    hours = [start + dt.timedelta(hours=h) for h in (0, 1, 30, 190)]
    table = pa.table({"u": ["a"] * 4, "ts": hours, "amount": [1.0, 2.0, 4.0, 8.0]})
    found = sash.features(table, ["u"], "ts", {"amount": ["sum", "max"]}, ["1h", "7d"])
    assert found.column_names[3:] == [
        "amount_sum_1h", "amount_sum_7d", "amount_max_1h", "amount_max_7d",
    ]  # fmt: skip
    assert found.column("amount_sum_7d").to_pylist() == [1.0, 3.0, 7.0, 12.0]
    with pytest.raises(ValueError, match="no aggregation 'total'"):
        sash.features(table, ["u"], "ts", {"amount": ["total"]}, ["1h"])


def test_what_is_not_a_table_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes a Spark DataFrame, a pandas or .* not list"):
        sash.windowed([1, 2], time="t").agg(n=sf.count().over(sash.rows(2)))
    with pytest.raises(TypeError, match="at least one aggregation"):
        sash.windowed(sample(2, 1), time="s").agg()
    with pytest.raises(TypeError, match=r"n: expected sf\.max"):
        sash.windowed(sample(2, 1), time="s").agg(n=3)
    assert "add .agg(" in repr(sash.windowed(sample(2, 1), "k", time="s"))


def test_an_error_in_a_users_function_shows_its_own_line() -> None:
    def lift(x: Any) -> Any:
        return {"total": x["no such field"]}

    monoid = sash.Monoid("broken", {}, lift, lambda a, b: a)
    table = pa.table({"t": [1], "x": [[1]]})
    with pytest.raises(TypeError) as caught:
        sash.windowed(table, time="t").agg(y=sf.apply(monoid, "x").over(sash.rows(2)))
    assert any("no such field" in str(line) for line in caught.traceback)


def test_decimals_of_38_digits_are_summed_exactly() -> None:
    digits = "1234567890123456789012345678901234"  # Python's own arithmetic keeps 28
    big, less, more = (Decimal(text) for text in (f"{digits}5", f"-{digits}5", f"{digits}6"))
    column = pa.array([big, Decimal(1), less], pa.decimal128(38, 0))
    table = pa.table({"t": [1, 2, 3], "x": column})
    found = sash.windowed(table, time="t").agg(s=sf.sum("x").over(sash.rows(3)))
    assert found.column("s").to_pylist() == [big, more, 1]
