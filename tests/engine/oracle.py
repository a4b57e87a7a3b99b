"""What the engine should say, row by row: the frame's rows by brute force, combined anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.plan.aggregation import Aggregation
from sash.plan.definition import Query
from sash.windows import bounds
from sash.windows.frames import Delta, Until, length

Row = dict[str, Any]


def expected(query: Query, table: pa.Table) -> dict[str, list[Any]]:
    """Each aggregation's answers for a sorted table."""
    rows = table.to_pylist()
    answers: dict[str, list[Any]] = {out: [None] * len(rows) for out in query.aggregations}
    times = numbers(table.column(query.time))
    for places in by_key(query, rows):
        for out, a in query.aggregations.items():
            for i, inside in zip(places, windows(a, times[places], [rows[i] for i in places])):
                answers[out][i] = answer(a, inside)
    return answers


def numbers(column: pa.ChunkedArray) -> np.ndarray:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return np.asarray(column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64()))
    return np.asarray(column)


def by_key(query: Query, rows: list[Row]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(map(str, (row[k] for k in query.by))), []).append(i)
    return list(groups.values())


def windows(a: Aggregation, times: np.ndarray, rows: list[Row]) -> list[list[Row]]:
    frame, content = a.frame, None
    if isinstance(frame, Delta):
        content = [row[frame.column] for row in rows]
        assert length(frame.d) is not None
    elif isinstance(frame, Until):
        values = [row[frame.column] for row in rows]  # type: ignore[index]
        content = values if frame.predicate is None else [frame.predicate(v) for v in values]
    assert frame is not None
    lo, hi = bounds(frame, times, content)
    return [rows[begin:end] for begin, end in zip(lo, hi, strict=True)]


def answer(a: Aggregation, rows: list[Row]) -> Any:
    if a.how == "count":
        return sum(all(row[c] is not None for c in a.columns) for row in rows)
    if a.how in ("first", "last"):
        return rows[0 if a.how == "first" else -1][a.columns[0]] if rows else None
    assert a.monoid is not None
    total = a.monoid.identity
    for row in rows:
        values = tuple(row[c] for c in a.columns)
        total = a.monoid.combine(total, a.monoid.lift(values[0] if len(values) == 1 else values))
    return a.monoid.lower(total)


def alike(a: Any, b: Any) -> bool:
    """Equal, floats to a rounding error, NaN like NaN."""
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(a == b)
