"""Tables of all kinds: the same answers, in the kind that came in."""

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

ROWS = pa.table(
    {
        "user": ["a", "b", "a", "b", "a"],
        "ts": [dt.datetime(2024, 1, 1, 0, i) for i in range(5)],
        "amount": [1, 2, 3, 4, 5],
    }
)
TOTAL = [1, 2, 4, 6, 8]
ASKED = {"total": sf.sum("amount").over("2 minutes")}


class Exporter:
    """A table of a library that Sash does not know."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return ROWS.__arrow_c_stream__(requested_schema)


KINDS: dict[str, tuple[Callable[[], Any], type, Callable[[Any], pa.Table]]] = {
    "Table": (lambda: ROWS, pa.Table, lambda found: found),
    "RecordBatch": (lambda: ROWS.to_batches()[0], pa.RecordBatch, lambda b: pa.table(b)),
    "RecordBatchReader": (ROWS.to_reader, pa.RecordBatchReader, lambda r: r.read_all()),
    "pandas": (ROWS.to_pandas, pd.DataFrame, pa.Table.from_pandas),
    "polars": (lambda: pl.from_arrow(ROWS), pl.DataFrame, lambda found: found.to_arrow()),
    "LazyFrame": (
        lambda: pl.from_arrow(ROWS).lazy(), pl.LazyFrame, lambda found: found.collect().to_arrow()
    ),
    "DuckDB": (lambda: duckdb.from_arrow(ROWS), duckdb.DuckDBPyRelation, lambda r: pa.table(r)),
    "__arrow_c_stream__": (Exporter, pa.Table, lambda found: found),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_in_its_kind(kind: str) -> None:
    make, wanted, arrow = KINDS[kind]
    asked = sash.windowed(make(), "user", time="ts")
    assert "sum(amount)" in asked.explain(**ASKED)
    found = asked.agg(**ASKED)
    assert isinstance(found, wanted)
    assert arrow(found).column("total").to_pylist() == TOTAL
    assert arrow(found).column_names == ["user", "ts", "amount", "total"]
    again = asked.every("2 minutes").agg(n=sf.count().over("2 minutes"))
    assert isinstance(again, wanted)
    assert arrow(again).column("n").to_pylist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_gives_the_kind_that_it_was_fed(kind: str) -> None:
    make, wanted, arrow = KINDS[kind]
    live = sash.stream("user", time="ts", emit="arrival").agg(**ASKED)
    found = live.feed(make())
    assert isinstance(found, wanted)
    assert sorted(arrow(found).column("total").to_pylist()) == sorted(TOTAL)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind: str) -> None:
    none = ROWS.slice(0, 0)
    made = {
        "Table": none, "RecordBatch": pa.RecordBatch.from_pylist([], schema=none.schema),
        "RecordBatchReader": none.to_reader(), "pandas": none.to_pandas(),
        "polars": pl.from_arrow(none), "LazyFrame": pl.from_arrow(none).lazy(),
        "DuckDB": duckdb.from_arrow(none), "__arrow_c_stream__": none,
    }  # fmt: skip
    _, wanted, arrow = KINDS[kind]
    found = sash.windowed(made[kind], "user", time="ts").agg(**ASKED)
    assert isinstance(found, wanted)
    assert arrow(found).num_rows == 0


def test_a_relation_of_another_connection_stays_there() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS FROM ROWS")
    found = sash.windowed(connection.table("rows"), "user", time="ts").agg(**ASKED)
    joined = found.set_alias("found").join(connection.table("rows"), "amount").order("amount")
    assert [row[0] for row in joined.project("total").fetchall()] == TOTAL


def test_a_subclass_is_a_table_of_its_base() -> None:
    class Frame(pd.DataFrame):
        pass

    found = sash.windowed(Frame(ROWS.to_pandas()), "user", time="ts").agg(**ASKED)
    assert found["total"].tolist() == TOTAL
