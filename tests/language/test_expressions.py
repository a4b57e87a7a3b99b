"""Expressions: their text, their types, their values, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import functions as sf
from sash.plan import arrow_expressions
from sash.plan.arrow_expressions import evaluate, types_of
from sash.plan.expressions import Expression
from tests.language import duck

NAN = float("nan")
TABLE = pa.table(
    {
        "x": pa.array([1, 2, None, 0]),
        "i": pa.array([1, 2, 3, 4], pa.int32()),
        "y": pa.array([1.5, NAN, None, -2.0]),
        "s": ["ok", "no", None, "ok"],
        "b": [True, False, None, True],
        "ts": pa.array([0, 3_600_000_000, None, 5], pa.timestamp("us")),
    }
)

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "x * 2 + y": (pa.float64(), [3.5, NAN, None, -2.0]),
    "x / (x - 1)": (pa.float64(), [None, 2.0, None, 0.0]),
    "i + 1": (pa.int32(), [2, 3, 4, 5]),
    "i * 1.5": (pa.float64(), [1.5, 3.0, 4.5, 6.0]),
    "x % 2": (pa.int64(), [1, 0, None, 0]),
    "-7 % i": (pa.int32(), [0, -1, -1, -3]),
    "x DIV 2": (pa.int64(), [0, 1, None, 0]),
    "y > 1": (pa.bool_(), [True, True, None, False]),
    "y = y": (pa.bool_(), [True, True, None, True]),
    "y <= 1.5": (pa.bool_(), [True, False, None, True]),
    "s = 'ok' AND b": (pa.bool_(), [True, False, None, True]),
    "b OR s = 'no'": (pa.bool_(), [True, True, None, True]),
    "NOT b": (pa.bool_(), [False, True, None, False]),
    "coalesce(y, x, 0)": (pa.float64(), [1.5, NAN, 0.0, -2.0]),
    "CASE WHEN x > 1 THEN 'a' WHEN isnull(x) THEN 'n' ELSE s END": (
        pa.string(), ["ok", "a", "n", "ok"],
    ),
    "CASE WHEN b THEN 1 ELSE y END": (pa.float64(), [1.0, NAN, None, 1.0]),
    "ln(x)": (pa.float64(), [0.0, math.log(2), None, None]),
    "sqrt(y)": (pa.float64(), [math.sqrt(1.5), NAN, None, NAN]),
    "abs(y)": (pa.float64(), [1.5, NAN, None, 2.0]),
    "pow(i, 2)": (pa.float64(), [1.0, 4.0, 9.0, 16.0]),
    "round(y, 0)": (pa.float64(), [2.0, NAN, None, -2.0]),
    "floor(y)": (pa.int64(), [1, None, None, -2]),
    "greatest(x, y)": (pa.float64(), [1.5, NAN, None, 0.0]),
    "least(x, y)": (pa.float64(), [1.0, 2.0, None, -2.0]),
    "x IN (1, 2)": (pa.bool_(), [True, True, None, False]),
    "s LIKE 'o%'": (pa.bool_(), [True, False, None, True]),
    "x <=> NULL": (pa.bool_(), [False, False, True, False]),
    "cast(ts AS double)": (pa.float64(), [0.0, 3600.0, None, 5e-6]),
    "ts > '1970-01-01 00:30:00'": (pa.bool_(), [False, True, None, False]),
    "ts >= TIMESTAMP '1970-01-01 01:00:00'": (pa.bool_(), [False, True, None, False]),
    "ts - INTERVAL '3600.0 SECONDS' >= DATE '1970-01-01'": (pa.bool_(), [False, True, None, False]),
    "hour(ts)": (pa.int32(), [0, 1, None, 0]),
    "dayofweek(ts)": (pa.int32(), [5, 5, None, 5]),
    "length(concat(s, '!'))": (pa.int32(), [3, 3, None, 3]),
}  # fmt: skip


@pytest.mark.parametrize("sql", VALUES)
def test_an_expression_has_its_type_before_it_runs_and_its_text_is_itself(sql: str) -> None:
    kind, wanted = VALUES[sql]
    e = sf.expr(sql)
    assert types_of({"r": e}, TABLE.schema) == {"r": kind}
    found = evaluate({"r": e}, TABLE)["r"]
    assert found.type == kind
    assert all(map(duck.same, found.to_pylist(), wanted))
    assert str(e) == sql
    assert str(pickle.loads(pickle.dumps(e))) == sql


def test_python_writes_what_sql_writes() -> None:
    x, y, b = sf.col("x"), sf.col("y"), sf.col("b")
    pairs: list[tuple[Expression, str]] = [
        ((x + 1) * y, "(x + 1) * y"),
        (1 - x / 2, "1 - x / 2"),
        ((x > 1) & ~b | (y == 2), "x > 1 AND NOT b OR y = 2"),
        (x.between(0, 3), "x >= 0 AND x <= 3"),
        (x.isin(1, 2), "x IN (1, 2)"),
        (sf.when(x > 1, "a").when(x.is_null(), "n").otherwise(sf.col("s")),
         "CASE WHEN x > 1 THEN 'a' WHEN isnull(x) THEN 'n' ELSE s END"),
        (sf.col("a b").cast("double"), "cast(`a b` AS double)"),
        (-(x - y), "-(x - y)"),
        (sf.log(sf.abs("x")), "ln(abs(x))"),
        (sf.lit("it's") == sf.col("s"), "'it\\'s' = s"),
        (sf.col("ts") > dt.datetime(2024, 1, 2), "ts > TIMESTAMP '2024-01-02 00:00:00'"),
    ]  # fmt: skip
    for e, sql in pairs:
        assert str(e) == sql
        assert str(sf.expr(sql)) == sql


@pytest.mark.parametrize(
    ("sql", "error", "said"),
    [
        ("s + 1", TypeError, "s + 1: + does not take string, int32"),
        ("nope(x)", ValueError, "no function 'nope'"),
        ("abs(x, y)", (ValueError, TypeError), "abs"),
        ("x +", ValueError, "is not an expression of SQL"),
        ("sum(x) over ()", ValueError, "is not known in an expression"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(sql: str, error: Any, said: str) -> None:
    with pytest.raises(error) as problem:
        types_of({"r": sf.expr(sql)}, TABLE.schema)
    assert said in str(problem.value)


def test_a_type_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="no type 'money'; there are boolean"):
        types_of({"r": sf.col("x").cast("money")}, TABLE.schema)


def test_an_expression_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="use & for and"):
        bool(sf.col("x") > 1)


def test_integers_overflow_with_an_error_that_has_the_expression() -> None:
    table = pa.table({"t": [1], "x": [1 << 62]})
    with pytest.raises(OverflowError, match=r"x \* 4"):
        sash.windowed(table, time="t").agg(s=sf.sum(sf.col("x") * 4).over(sash.rows(1)))


LAST = sash.rows(5)


def test_inputs_and_results_are_what_duckdb_computes() -> None:
    table = duck.sample(400, 1)
    x, i = sf.col("x"), sf.col("i")
    frame = duck.over("ROWS 4 PRECEDING")
    found = sash.windowed(table, "k", time="t").agg(
        product=sf.sum(x * i).over(LAST),
        ratio=sf.sum(x * i).over(LAST) / sf.sum("i").over(LAST),
        z=(x - sf.mean("x").over(LAST)) / sf.stddev("x").over(LAST),
        text=sf.max(sf.when(sf.col("b"), sf.col("s")).otherwise("none")).over(LAST),
        more=sf.count().over(LAST) - sf.count("x").over(LAST) > 1,
    )
    expected = duck.answers(
        table,
        {
            "product": f"sum(x * i) {frame}",
            "ratio": f"sum(x * i) {frame} / nullif(sum(i) {frame}, 0)",
            "z": f"(x - avg(x) {frame}) / nullif(stddev_samp(x) {frame}, 0)",
            "text": f"max(CASE WHEN b THEN s ELSE 'none' END) {frame}",
            "more": f"count(*) {frame} - count(x) {frame} > 1",
        },
    )
    duck.assert_same(found, expected)
    assert found.column_names == [*table.column_names, "product", "ratio", "z", "text", "more"]


def test_equal_expressions_are_computed_once_and_share_a_state() -> None:
    a = sf.sum(sf.col("x") * sf.col("i")).over(LAST)
    b = sf.mean(sf.expr("x * i")).over(LAST)
    query = sash.windowed(duck.sample(5, 1), "k", time="t").query(a=a, r=b / a, c=a)
    assert list(query.derived) == ["= x * i"]
    plan = sash.windowed(duck.sample(5, 1), "k", time="t").explain(a=a, r=b / a, c=a).plan
    assert len(plan.states) == 1
    assert plan.states[0].kept == ("Mean",)


def test_an_aggregation_of_an_aggregation_is_refused() -> None:
    with pytest.raises(TypeError, match="second call of windowed"):
        sf.sum(sf.mean("x").over(LAST) + 1)


def test_results_with_every_are_made_of_aggregations_and_the_window() -> None:
    table = pa.table({"t": [0, 1, 2, 5], "x": [1, 2, 3, 4]})
    size = sash.range_between(-2, 0)
    work = sash.windowed(table, time="t").every(2)
    found = work.agg(mid=sf.sum("x").over(size) / sf.count().over(size) + sf.col("window_end"))
    assert found.column("mid").to_pylist() == [3.5, 7.0, 10.0]
    assert found.column_names == ["window_start", "window_end", "mid"]
    with pytest.raises(ValueError, match="no row of its own to take x"):
        work.agg(r=sf.col("x") - sf.sum("x").over(size))


def test_pandas_and_polars_have_expressions_too() -> None:
    import polars as pl

    table = duck.sample(50, 3)
    asked = {"r": sf.col("x") - sf.min("x").where("i > 0").over(LAST)}
    wanted = sash.windowed(table, "k", time="t").agg(**asked).column("r").to_pylist()
    polars = sash.windowed(pl.from_arrow(table), "k", time="t").agg(**asked)
    assert all(map(duck.same, polars["r"].to_list(), wanted))
    pandas = sash.windowed(table.to_pandas(), "k", time="t").agg(**asked)
    assert [None if v != v else v for v in pandas["r"].tolist()] == wanted


def test_expressions_as_columns_of_frames() -> None:
    """Frames by content over an expression are those over a column that has its values."""
    table = duck.sample(300, 4)
    double, large = pc.multiply(pc.fill_null(table["x"], 0), 2), pc.greater(table["x"], 0)
    table = table.append_column("double", double).append_column("large", large)
    x = sf.coalesce("x", 0) * 2
    found = sash.windowed(table, "k", time="t").agg(
        near=sf.sum("i").over(sash.delta(x, 3)),
        near_column=sf.sum("i").over(sash.delta("double", 3)),
        since=sf.sum("i").over(sash.until(sf.col("x") > 0)),
        since_column=sf.sum("i").over(sash.until("large")),
        of=sf.sum("i").over(sash.until(lambda v: v > 4, x)),
        of_column=sf.sum("i").over(sash.until(lambda v: v > 4, "double")),
    )
    for name in ("near", "since", "of"):
        assert found[name].to_pylist() == found[f"{name}_column"].to_pylist()
    with pytest.raises(TypeError, match="must be a column's name or an expression, not 3"):
        sf.sum("i").over(sash.delta(3, 3))


RESULTS: dict[str, Callable[..., Any]] = {
    "v * 2": lambda v, w, i: v * 2,
    "2 - v": lambda v, w, i: 2 - v,
    "v / 4": lambda v, w, i: v / 4,
    "v / 0": lambda v, w, i: v / 0,
    "v / w": lambda v, w, i: v / w,
    "v / i": lambda v, w, i: v / i,
    "i / w": lambda v, w, i: i / w,
    "i / 3": lambda v, w, i: i / 3,
    "1 / w": lambda v, w, i: 1 / w,
    "(v - w) / w": lambda v, w, i: (v - w) / w,
    "v + w": lambda v, w, i: v + w,
    "i * 2": lambda v, w, i: i * 2,
    "7 - i": lambda v, w, i: 7 - i,
    "i + i": lambda v, w, i: i + i,
    "i * 3000000000": lambda v, w, i: i * 3000000000,
    "i - w": lambda v, w, i: i - w,
    "-v": lambda v, w, i: -v,
    "cast(v as int)": lambda v, w, i: v.cast("int"),
}


@pytest.mark.parametrize("text", RESULTS)
def test_results_written_in_place_are_those_of_arrow(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of doubles go to their column at once, and those of integers that fit."""
    n = 300_000  # several blocks, of which only the first has windows without rows
    rng = np.random.default_rng(1)
    columns = {"t": np.arange(n), "x": rng.integers(-2, 3, n) / 2.0, "y": rng.integers(0, 9, n)}
    table, frame = pa.table(columns), sash.rows_between(-3, -1)
    made = {
        "v": sf.sum("x").over(frame),
        "w": sf.max("x").over(frame),
        "i": sf.sum("y").over(frame),
    }
    answers = sash.windowed(table, time="t").agg(**made).combine_chunks()
    found = sash.windowed(table, time="t").agg(r=RESULTS[text](**made)).column("r")
    monkeypatch.setattr(arrow_expressions, "written", lambda *_: None)
    wanted = evaluate({"r": sf.expr(text)}, answers)["r"]
    assert found.type == wanted.type
    assert found.to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("large", [2**62 - 1, 2**62, -(2**62), -(2**62) - 1])
@pytest.mark.parametrize("sql", ["i + i", "i * 2", "2 * i", "-1 - i - i", "i - j"])
def test_integers_are_added_where_all_fit_and_refused_where_one_does_not(
    sql: str, large: int
) -> None:
    table = pa.table({"i": [1, large, None], "j": [0, -large, 5]})
    i, j = large, -large
    wanted = {
        "i + i": i + i,
        "i * 2": 2 * i,
        "2 * i": 2 * i,
        "-1 - i - i": -1 - i - i,
        "i - j": i - j,
    }
    if -(2**63) <= wanted[sql] < 2**63:
        found = evaluate({"r": sf.expr(sql)}, table)["r"]
        assert found.type == pa.int64()
        assert found.to_pylist()[1:] == [wanted[sql], None]
    else:
        with pytest.raises(OverflowError, match="r: "):
            evaluate({"r": sf.expr(sql)}, table)
