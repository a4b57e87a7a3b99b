"""OVER in process: statements from a grammar against DuckDB, and what is around the windows."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import Monoid
from sash.sql.errors import SqlError
from sash.testing import alike
from tests.language.duck import same
from tests.sql.grammar import sample, statements

ROWS = sample(40, 1)
T = pa.table({"k": [1, 1, 2, 1], "ts": [1, 2, 2, 4], "x": [5, 3, 4, 1], "Name": list("abcd")})


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("rows", ROWS)
        yield connection


def compare(query: str, oracle: duckdb.DuckDBPyConnection) -> None:
    ours = sash.sql(query, rows=ROWS, dialect="duckdb").to_pylist()
    theirs = oracle.sql(query).to_arrow_table().to_pylist()
    assert len(ours) == len(theirs), query
    for a, b in zip(ours, theirs, strict=True):
        for name in b:
            assert same(a[name], b[name]), (query, a["id"], name, a[name], b[name])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_statements_of_the_grammar_equal_duckdb(
    seed: int, oracle: duckdb.DuckDBPyConnection
) -> None:
    for query in statements(12, seed):
        compare(query, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 115))
def test_many_statements_equal_duckdb(seed: int, oracle: duckdb.DuckDBPyConnection) -> None:
    for query in statements(40, seed):
        compare(query, oracle)


def answers(query: str, **more: Any) -> list[Any]:
    """The answers of the last column, for the rows of T."""
    found = sash.sql(query, t=T, **more)
    return found.column(found.num_columns - 1).to_pylist()


def test_named_windows_extend_others() -> None:
    query = """SELECT sum(x) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t
               WINDOW k AS (PARTITION BY k), w AS (k ORDER BY ts)"""
    assert answers(query) == [5, 8, 4, 4]
    with pytest.raises(SqlError, match="no window of that name; WINDOW has w"):
        answers("SELECT sum(x) OVER v FROM t WINDOW w AS (ORDER BY ts)")
    with pytest.raises(SqlError, match="w has an order already"):
        answers("SELECT sum(x) OVER (w ORDER BY x) FROM t WINDOW w AS (ORDER BY ts)")


def test_answers_are_of_the_kind_of_the_table() -> None:
    query = "SELECT k, max(x) OVER (PARTITION BY k ORDER BY ts) AS hi FROM t"
    assert isinstance(sash.sql(query, t=T.to_pandas()), pd.DataFrame)
    frame = sash.sql(query, t=pl.from_arrow(T))
    assert isinstance(frame, pl.DataFrame)
    assert frame["hi"].to_list() == [5, 5, 4, 5]


def test_expressions_over_windows_and_qualify() -> None:
    query = """SELECT Name, x / sum(x) OVER (PARTITION BY k) AS share FROM t
               QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts DESC) = 1 ORDER BY name"""
    found = sash.sql(query, t=T)
    assert found.to_pylist() == [{"Name": "c", "share": 1.0}, {"Name": "d", "share": 1 / 9}]


def test_windows_over_groups_and_joins() -> None:
    query = """SELECT k, sum(x) AS s, sum(sum(x)) OVER (ORDER BY k) AS running,
                      rank() OVER (ORDER BY sum(x) DESC) AS r
               FROM t GROUP BY k HAVING count(*) > 0 ORDER BY k"""
    first, second = sash.sql(query, t=T).to_pylist()
    assert first == {"k": 1, "s": 9, "running": 9, "r": 1}
    assert second == {"k": 2, "s": 4, "running": 13, "r": 2}
    u = pa.table({"k": [1, 2], "x": [10, 20]})
    query = """SELECT t.x, u.x AS ux, sum(t.x + u.x) OVER (PARTITION BY t.k ORDER BY t.ts) AS s
               FROM t JOIN u ON t.k = u.k ORDER BY t.ts, t.x"""
    assert [row["s"] for row in sash.sql(query, t=T, u=u).to_pylist()] == [15, 28, 24, 39]


def test_subqueries_and_common_table_expressions() -> None:
    query = """WITH w AS (SELECT k, x, sum(x) OVER (PARTITION BY k ORDER BY ts) AS s FROM t),
                    v AS (SELECT k, s, lag(s) OVER (PARTITION BY k ORDER BY s) AS l FROM w)
               SELECT k, count(l) AS n, max(s) AS m FROM v GROUP BY k ORDER BY k"""
    assert sash.sql(query, t=T).to_pylist() == [{"k": 1, "n": 2, "m": 9}, {"k": 2, "n": 0, "m": 4}]
    query = """SELECT s FROM (SELECT sum(x) OVER (ORDER BY ts, Name) AS s FROM t) q
               WHERE s > 5 ORDER BY s DESC LIMIT 2"""
    assert answers(query) == [13, 12]
    both = "SELECT max(x) OVER () AS m FROM t UNION ALL SELECT count(*) OVER () FROM t"
    assert sorted(answers(both)) == [4, 4, 4, 4, 5, 5, 5, 5]


def test_monoids_by_name() -> None:
    joined = Monoid("joined", "", str, lambda a, b: a + b)  # not commutative
    query = "SELECT Joined(Name) OVER (ORDER BY ts ROWS 1 PRECEDING) AS j FROM t"
    assert answers(query, functions={"joined": joined}) == ["a", "ab", "bc", "cd"]
    hidden = "SELECT max(x) OVER (ORDER BY ts ROWS 1 PRECEDING) AS j FROM t"
    least = Monoid("least", 1 << 60, int, min)
    assert answers(hidden, functions={"max": least}) == [5, 3, 3, 1]


@pytest.mark.parametrize(
    "call",
    ["decayed_sum(x, 1)", "percentile(x, 0.5)", "argmax(x, Name)", "max_by(Name, x)",
     "collect_list(x)", "collect_set(k)", "top_k(x, 2)", "count_if(x > 3)", "mode(x)", "mad(x)",
     "approx_count_distinct(x)", "string_agg(Name, ',')", "weighted_mean(x, k)",
     "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "first(Name, TRUE)", "product(x)",
     "longest_run(x)", "histogram(x)", "sem(x)", "regr_r2(x, ts)", "geomean(x)"],
)  # fmt: skip
def test_functions_by_their_names_in_spark(call: str) -> None:
    text = sash.sql.explain(f"SELECT {call} OVER (ORDER BY ts ROWS 2 PRECEDING) AS c FROM t", t=T)
    assert text.startswith("1. Sash")
    assert len(answers(f"SELECT {call} OVER (ORDER BY ts ROWS 2 PRECEDING) AS c FROM t")) == 4


def test_what_sash_does_not_take_goes_to_duckdb() -> None:
    query = "SELECT count(DISTINCT x, k) OVER () AS n, sum(x) OVER (ORDER BY ts) AS s FROM t"
    text = sash.sql.explain(query, t=T)
    assert "DuckDB, because" in text
    assert "distinct values of several columns" in text
    assert "Sash" in text


def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.sql.in_process.find_spec", lambda name: None)
    plain = """WITH c AS (SELECT *, x * 2 AS y FROM t WHERE x > 1)
               SELECT Name, sum(y) OVER (ORDER BY ts) AS s FROM c ORDER BY s DESC, Name LIMIT 2"""
    assert sash.sql(plain, t=T).to_pylist() == [{"Name": "b", "s": 24}, {"Name": "c", "s": 24}]
    with pytest.raises(SqlError, match="DuckDB, which is not installed: pip install duckdb"):
        sash.sql("SELECT k, sum(x) AS s FROM t GROUP BY k", t=T)


def test_dialects() -> None:
    whole = "SELECT x / 2 AS h, sum(x / 2) OVER (ORDER BY ts, x) AS s FROM t ORDER BY ts, x"
    assert answers(whole, dialect="postgres") == [2, 3, 5, 5]
    assert answers(whole, dialect="duckdb") == [2.5, 4.0, 6.0, 6.5]
    times = pa.table({"x": [1, None, 2]})
    first = "SELECT row_number() OVER (ORDER BY x) AS n FROM t"
    for dialect, expected in {
        "spark": [2, 1, 3],
        "duckdb": [1, 3, 2],
        "postgres": [1, 3, 2],
    }.items():
        assert sash.sql(first, t=times, dialect=dialect)["n"].to_pylist() == expected
    with pytest.raises(SqlError, match="dialect must be one of spark, duckdb, postgres"):
        answers("SELECT 1 FROM t", dialect="oracle")


def test_empty_tables_and_no_columns() -> None:
    empty = T.slice(0, 0)
    query = "SELECT sum(x) OVER (PARTITION BY k ORDER BY ts, Name) AS s, k FROM t"
    assert sash.sql(query, t=empty).num_rows == 0
    assert answers("SELECT count(*) OVER () AS n FROM t") == [4, 4, 4, 4]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT sum(y) OVER () FROM t", "'y' could not be resolved.*t has k, ts, x, Name"),
        ("SELECT sum(x) OVER () FROM u", "no table 'u'.*there are t"),
        ("SELECT sum(x) OVER ( FROM t", "cannot be read as SQL of spark"),
        ("DROP TABLE t", "takes one query"),
        ("SELECT sum(x) OVER (ORDER BY ts ROWS -1 PRECEDING) FROM t", "must not be negative"),
        ("SELECT sum(x) OVER (ORDER BY ts ROWS 1.5 PRECEDING) FROM t", "whole number of rows"),
        ("SELECT nothing(x) OVER (ORDER BY ts) FROM t", "no aggregation nothing.*DuckDB"),
    ],
)
def test_mistakes_are_named(query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        sash.sql(query, t=T)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("sash.sql.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(sys.modules["sash.sql"], "run", raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sash\[sql\]'"):
        sash.sql("SELECT 1", t=T)


def test_nan_and_null_in_the_order_of_a_range() -> None:
    nan = float("nan")
    t = pa.table({"f": [1.0, nan, None, 2.0, nan], "x": [1, 2, 4, 8, 16]})
    query = "SELECT sum(x) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND {}) AS s FROM t"
    found = sash.sql(query.format("CURRENT ROW"), t=t)["s"].to_pylist()
    assert alike(found, [1, 18, 4, 9, 18])
    assert sash.sql(query.format("1 PRECEDING"), t=t)["s"].to_pylist() == [None, 18, 4, 1, 18]


def test_intervals_decimals_and_arguments_that_skip_nulls() -> None:
    start = dt.datetime(2024, 1, 1)
    t = pa.table(
        {
            "ts": [start + dt.timedelta(hours=h) for h in (0, 20, 30)],
            "d": pa.array([Decimal("1.00"), Decimal("1.50"), None], pa.decimal128(9, 2)),
            "x": [None, 1, 2],
        }
    )
    for length in ("INTERVAL 1 DAY 4 HOURS", "INTERVAL '1 04:00:00' DAY TO SECOND",
                   "INTERVAL '28' HOURS"):  # fmt: skip
        frame = f"ORDER BY ts RANGE BETWEEN {length} PRECEDING AND CURRENT ROW"
        assert sash.sql(f"SELECT count(*) OVER ({frame}) AS n FROM t", t=t)["n"].to_pylist() == [
            1, 2, 2]  # fmt: skip
    by_decimal = "SELECT sum(x) OVER (ORDER BY d RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW) AS s"
    assert sash.sql(f"{by_decimal} FROM t", t=t)["s"].to_pylist() == [None, 1, 2]
    for call, expected in {"first_value(x, true)": 1, "first_value(x, false)": None,
                           "last(x) IGNORE NULLS": 2}.items():  # fmt: skip
        query = f"SELECT {call} OVER (ORDER BY ts ROWS BETWEEN 9 PRECEDING AND 9 FOLLOWING) AS v"
        assert sash.sql(f"{query} FROM t", t=t)["v"].to_pylist() == [expected] * 3
    exact = sash.sql("SELECT sum(d * 1.5) OVER () AS s FROM t", t=t)["s"].to_pylist()[0]
    assert exact == Decimal("3.75")


def test_types_that_an_aggregation_does_not_take_are_the_hosts() -> None:
    query = "SELECT avg(ts) OVER (ORDER BY ts) AS a, sum(x) OVER (ORDER BY ts) AS s FROM t"
    times = T.set_column(1, "ts", T["ts"].cast(pa.timestamp("s")))
    text = sash.sql.explain(query, t=times)
    assert "DuckDB, because a: mean takes a column of numbers" in text
    assert sash.sql(query, t=times)["s"].to_pylist() == [5, 12, 12, 13]


def test_capital_letters_do_not_tell_names_apart() -> None:
    query = """WITH C AS (SELECT NAME, X AS Y FROM T AS Rows WHERE rows.K = 1)
               SELECT name, SUM(y) OVER (ORDER BY c.NAME) AS Total FROM c ORDER BY total DESC"""
    found = sash.sql(query, t=T)
    assert found.to_pydict() == {"Name": ["d", "b", "a"], "Total": [9, 8, 5]}


def test_queries_within_expressions() -> None:
    u = pa.table({"k": [1, 2, 2], "y": [10, 20, 30]})
    query = """WITH v AS (SELECT k, y FROM u WHERE y > 5)
               SELECT x, (SELECT max(y) FROM v) AS m, (SELECT sum(y) FROM v WHERE v.k = t.k) AS s,
                      sum(x) OVER (ORDER BY ts, x) AS running
               FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.k = t.k) ORDER BY ts, x"""
    assert [tuple(row.values()) for row in sash.sql(query, t=T, u=u).to_pylist()] == [
        (5, 30, 10, 5), (3, 30, 10, 8), (4, 30, 50, 12), (1, 30, 10, 13)]  # fmt: skip
    query = """SELECT k, (SELECT max(y) FROM u) AS m, sum(sum(x)) OVER (ORDER BY k) AS s
               FROM t GROUP BY k ORDER BY k"""
    assert [tuple(row.values()) for row in sash.sql(query, t=T, u=u).to_pylist()] == [
        (1, 30, 9), (2, 30, 13)]  # fmt: skip


def test_functions_and_values_in_from() -> None:
    series = "SELECT n, sum(n) OVER (ORDER BY n ROWS 1 PRECEDING) AS s FROM {} ORDER BY n"
    for source in ("generate_series(1, 3) AS g(n)", "(VALUES (1), (2), (3)) AS v(n)",
                   "unnest([2, 3, 1]) AS u(n)"):  # fmt: skip
        found = sash.sql(series.format(source), dialect="duckdb")
        assert found.to_pydict() == {"n": [1, 2, 3], "s": [1, 3, 5]}
    query = "WITH v(x, y) AS (VALUES (1, 3), (2, 2)) SELECT max(y) OVER (ORDER BY x) AS m FROM v"
    assert sash.sql(query)["m"].to_pylist() == [3, 3]


@pytest.mark.parametrize("call", ["mode(x)", "array_agg(x)", "corr(x, k)", "kurtosis(x)"])
def test_what_a_dialect_means_otherwise_is_the_hosts(call: str) -> None:
    query = f"SELECT {call} OVER (PARTITION BY k ORDER BY ts) AS c FROM t"
    assert sash.sql.explain(query, t=T).startswith("1. Sash")
    assert sash.sql.explain(query, t=T, dialect="duckdb").startswith("1. DuckDB, because")
