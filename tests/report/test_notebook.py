"""What a notebook shows of `sash.windowed(...)`, for a table of each kind."""

import pandas as pd
import polars
import pyarrow as pa
import pytest

import sash

ROWS = {"user": [1, 2], "ts": [1, 2], "a<b": [0.5, 1.5]}


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars"])
def test_columns_and_their_parts(kind: str) -> None:
    data = {"pyarrow": pa.table, "pandas": pd.DataFrame, "polars": polars.DataFrame}[kind](ROWS)
    shown = sash.windowed(data, by="user", time="ts").every("1 hour")._repr_html_()
    assert f"over a {kind} table, 2 rows, one row every 1 hour" in shown
    assert 'user <small style="opacity: .7">key</small>' in shown
    assert 'ts <small style="opacity: .7">time</small>' in shown
    assert "a&lt;b</span>" in shown
    assert shown.count("<div") == shown.count("</div>")


def test_a_column_that_is_not_there_is_said() -> None:
    shown = sash.windowed(pa.table(ROWS), by="usr", time="ts")._repr_html_()
    assert "No column usr." in shown
