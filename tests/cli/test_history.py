"""Pipeline files with a [history]: the stream goes on from it; what is wrong in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from sash.cli import on_spark, pipeline_file
from sash.cli.errors import EndError
from tests.cli.conftest import rows

Change = Callable[..., Path]
HISTORY = '[history]\nformat = "parquet"\npath = "past.parquet"\n'


@pytest.mark.slow
def test_a_stream_goes_on_from_a_history(changed: Change, home: Path, spark: Any) -> None:
    """Half of the rows are history, of which the stream has some too."""
    table = rows()
    cut = table["ts"][150].as_py()
    parquet.write_table(table.slice(0, 170), home / "past.parquet")
    (home / "rows").mkdir()
    parquet.write_table(table.slice(120), home / "rows" / "0.parquet")
    more = f"{HISTORY}cut = {cut.isoformat()}\n\n[sink]"
    file = changed(("rows.parquet", "rows"), ("[sink]", more))
    streamed = on_spark.stream(pipeline_file.load(file), spark)
    parquet.write_table(table, home / "rows" / "0.parquet")
    text = file.read_text().replace(more, "[sink]").replace('path = "out"', 'path = "all"')
    file.write_text(text)
    on_spark.batch(pipeline_file.load(file), spark)
    order = [("ts", "ascending"), ("user", "ascending"), ("amount", "ascending")]
    found = parquet.read_table(home / "out").sort_by(order)
    wanted = parquet.read_table(home / "all").sort_by(order)
    wanted = wanted.filter(pc.greater(wanted["ts"], wanted["ts"][150]))
    assert streamed.late > 0  # the history has them
    assert 100 < found.num_rows <= wanted.num_rows
    assert found.to_pylist() == wanted.slice(0, found.num_rows).to_pylist()


@pytest.mark.parametrize(
    ("history", "says"),
    [
        (HISTORY, "history.path: there is no file or directory"),
        (HISTORY.replace("parquet", "kafka", 1), "no format 'kafka'"),
        (HISTORY + "cut = 3\n", "history.cut: takes"),
        (HISTORY + "cuts = 3\n", "history.cuts: no such key"),
        ("[history]\nformat = 'csv'\n", "'path' is missing"),
    ],
)
def test_what_is_wrong_is_said(changed: Change, history: str, says: str) -> None:
    file = changed(("[sink]", f"{history}\n[sink]"))
    with pytest.raises(EndError, match=says):
        on_spark.stream(pipeline_file.load(file), None)


def test_a_batch_has_no_history(changed: Change, home: Path) -> None:
    parquet.write_table(rows(), home / "past.parquet")
    file = changed(("[sink]", f"{HISTORY}\n[sink]"))
    with pytest.raises(EndError, match="is for a stream"):
        on_spark.batch(pipeline_file.load(file), None)
