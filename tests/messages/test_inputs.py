"""Columns of other libraries and of the wrong type as inputs of aggregations."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import functions as sf

TABLE = pa.table({"ts": [1, 2], "amount": [1.0, 2.0], "ok": [True, False], "note": ["1", "2"]})


def error(make: Any) -> str:
    def run() -> None:
        sash.windowed(TABLE, time="ts").agg(x=make().over(sash.rows(2)))

    with pytest.raises(TypeError) as caught:
        run()
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (TABLE.to_pandas().amount, "a pandas Series: write 'amount'"),
        (pl.col("amount"), "a polars Expr: write 'amount'"),
        (pl.col("amount") * 2, "a polars Expr: give the column's name"),
        (pl.from_arrow(TABLE)["amount"], "a polars Series: write 'amount'"),
        (TABLE["amount"], "a pyarrow ChunkedArray: give the column's name"),
        (pd.Series([1]), "a pandas Series: give the column's name"),
    ],
    ids=["Series", "pl.col", "pl.col * 2", "pl.Series", "ChunkedArray", "unnamed"],
)
def test_a_column_of_another_library(column: Any, what: str) -> None:
    tail = f'{what}, or sf.col("…") to compute with it'
    assert (
        error(lambda: sf.sum(column)) == f"sum takes a column's name or an expression, not {tail}"
    )
    assert error(lambda: sf.count_distinct(column)).startswith("count_distinct takes a column's")
    assert error(lambda: sf.sum("amount").where(column)).endswith(tail)


def test_anything_else_is_shown_in_one_line() -> None:
    assert error(lambda: sf.sum(3)).endswith("or an expression, not 3")
    assert error(lambda: sf.sum(["x"] * 99)).endswith(" …")


def test_a_sum_of_booleans() -> None:
    assert error(lambda: sf.sum("ok")) == (
        "x: sum takes a column of numbers, but ok is bool: count the rows where it is true with "
        'sf.count_if("ok"), or cast it, sf.col("ok").cast("int")'
    )
    assert 'sf.count_if("NOT ok")' in error(lambda: sf.mean(~sf.col("ok")))
    asked = sash.windowed(TABLE, time="ts")
    count = sf.count_if("ok").over(sash.rows(2))
    mean = sf.mean(sf.col("ok").cast("int")).over(sash.rows(2))
    found = asked.agg(n=count, share=mean)
    assert found.select(["n", "share"]).to_pydict() == {"n": [1, 1], "share": [1.0, 0.5]}


def test_a_sum_of_text() -> None:
    assert error(lambda: sf.sum("note")).endswith('cast it, sf.col("note").cast("double")')
    total = sf.sum(sf.col("note").cast("double")).over(sash.rows(2))
    found = sash.windowed(TABLE, time="ts").agg(total=total)
    assert found["total"].to_pylist() == [1.0, 3.0]


def test_aggregations_without_a_name() -> None:
    told = r'^agg takes aggregations by name, as in \.agg\(total=sf.sum\("x"\).over\("1 hour"\)\)$'
    count = sf.count().over(sash.rows(2))
    for asked in (
        sash.windowed(TABLE, time="ts"), sash.windowed(TABLE, time="ts").at(TABLE),
        sash.stream(time="ts"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=told):
            asked.agg(count)
        with pytest.raises(TypeError, match=told):
            asked.agg([count])


def test_sql_that_cannot_be_read() -> None:
    for sql, what in {
        "amount >": "an operand of > is missing. Line 1, Col: 8.",
        "(amount": "Expecting ). Line 1, Col: 7.",
        "NOT": "a part of NOT is missing. Line 1, Col: 3.",
    }.items():
        with pytest.raises(ValueError) as caught:
            sf.count_if(sql)
        assert str(caught.value) == f"{sql!r} is not an expression of SQL: {what}"
    with pytest.raises(ValueError, match=r"as SQL of spark: an operand of = is missing. Line 1"):
        sash.sql("SELECT ts = FROM t", t=TABLE)
    with pytest.raises(ValueError, match=r"'amont'.*\(t has .*\); did you mean 'amount'\?$"):
        sash.sql("SELECT sum(amont) OVER (ORDER BY ts) FROM t", t=TABLE)


def test_a_slide_longer_than_the_size() -> None:
    asked = sash.windowed(TABLE, time="ts").every("1 hour")
    with pytest.raises(ValueError) as caught:
        asked.agg(x=sf.count().over("1 minute"))
    lost = "rows between windows would be lost"
    assert str(caught.value) == (
        f"x: the slide, 1 hour, is longer than the size, 1 minute: {lost}; give "
        '.over("1 hour") or more, or a shorter slide'
    )
    with pytest.raises(ValueError, match=r"^the slide, 3, is longer than the size, 2: "):
        sash.sliding(2, 3)
