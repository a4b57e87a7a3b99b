"""Columns that are not there: what is missing, who asks for it, all columns, the nearest one."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf
from sash.options import OPTIONS, Settings

TIMES = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]
FRAME = pd.DataFrame({"user": [1, 2], "ts": TIMES, "amount": [1.0, 2.0], "note": ["a", "b"]})
TABLE = pa.Table.from_pandas(FRAME)
TOTAL = sf.sum("amount").over("1 hour")


def error(data: Any, by: str = "user", time: str = "ts", **asked: Any) -> str:
    with pytest.raises((KeyError, TypeError)) as caught:
        sash.windowed(data, by, time=time).agg(**(asked or {"total": TOTAL}))
    text = str(caught.value)
    assert "\n" not in text
    return text


KINDS = {
    "pandas": lambda: FRAME, "pyarrow": lambda: TABLE, "polars": lambda: pl.from_arrow(TABLE),
    "LazyFrame": lambda: pl.from_arrow(TABLE).lazy(), "DuckDB": lambda: duckdb.from_arrow(TABLE),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return KINDS[request.param]


def test_all_columns_are_listed_and_the_nearest_is_suggested(kind: Callable[[], Any]) -> None:
    data = kind()
    there = "there are user, ts, amount, note"
    wrong = sf.sum("amont").over("1 hour")
    assert error(data, x=wrong) == f"x: no column 'amont'; {there}; did you mean 'amount'?"
    assert error(data, by="User") == f"by: no column 'User'; {there}; did you mean 'user'?"
    assert error(data, time="tss") == f"time: no column 'tss'; {there}; did you mean 'ts'?"
    assert error(data, time="zzz") == f"time: no column 'zzz'; {there}"


def test_in_an_expression_and_in_a_result() -> None:
    ratio = sf.sum(sf.col("amont") * 2).over("1 hour") / 2
    assert error(FRAME, ratio=ratio).startswith("ratio: no column 'amont'")
    assert error(FRAME, ratio=TOTAL / sf.col("nte")).startswith("ratio: no column 'nte'")


def test_explain_says_the_same() -> None:
    with pytest.raises(KeyError, match="x: no column 'amont'; there are user, ts, amount, note"):
        sash.windowed(FRAME, "user", time="ts").explain(x=sf.sum("amont").over("1 hour"))


def test_the_time_in_a_pandas_index() -> None:
    text = error(FRAME.set_index("ts"))
    assert text.endswith("'ts' is in the index: use df.reset_index()")
    unnamed = FRAME.drop(columns="ts").set_index(pd.DatetimeIndex(TIMES))
    assert error(unnamed, time="") == (
        'windowed needs time="…": the times are in the index: use df.reset_index(names="time")'
    )
    assert error(FRAME, time="") == 'windowed needs time="…": the column that orders the rows'


def test_sql_where_a_column_is_wanted() -> None:
    text = error(FRAME, x=sf.sum("amount * 2").over("1 hour"))
    assert text.endswith("for an expression, write sf.expr('amount * 2')")


def test_an_answer_with_the_name_of_a_column(kind: Callable[[], Any]) -> None:
    windows = sash.windowed(kind(), "user", time="ts")
    with pytest.raises(ValueError, match=r"^note: there is a column of that name already; choose"):
        windows.agg(note=TOTAL)
    found = windows.every("1 day").agg(note=sf.sum("amount").over("1 day"))  # rows of its own
    assert len(found.collect() if hasattr(found, "collect") else found) == 2


def test_an_option_that_is_not_there() -> None:
    with pytest.raises(TypeError, match=r"tmie is not an option; .*; did you mean 'time'\?"):
        sash.windowed(FRAME, "user", tmie="ts")  # type: ignore[call-arg]


def test_types_know_all_options() -> None:
    assert set(Settings.__annotations__) == {name for names in OPTIONS.values() for name in names}
