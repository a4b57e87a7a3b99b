"""One definition in every executor in process: a table, a table in pieces, a stream."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import sash


def table(x: Any, kind: pa.DataType | None = None, **more: Any) -> pa.Table:
    """Rows at the times 1, 2, 3, … of one column x."""
    values = x if isinstance(x, pa.Array) else pa.array(x, kind)
    return pa.table({"t": range(1, len(values) + 1), "x": values, **more})


def answers(rows: pa.Table, asked: Any, reach: int = 1) -> pa.ChunkedArray:
    """An aggregation over the rows up to `reach` before; all executors agree."""
    y = asked.over(sash.range_between(-reach, 0))
    found = sash.windowed(rows, time="t").agg(y=y).column("y")
    live = sash.stream(time="t").agg(y=y)
    given = pa.concat_tables(live.feed(rows.slice(i, 1)) for i in range(rows.num_rows))
    assert repr(given.column("y").to_pylist()) == repr(found.to_pylist())  # NaN is like NaN
    assert given.schema.field("y").type == found.type
    by_rows = sash.windowed(rows, time="t").agg(y=asked.over(sash.rows(reach + 1))).column("y")
    assert repr(by_rows.to_pylist()) == repr(found.to_pylist())
    return found
