"""Running: what an aggregation answers over all rows so far, to try one out."""

from __future__ import annotations

from typing import Any

from sash.plan.aggregation import TIME, Aggregation
from sash.testing.oracle import Oracle


def running(aggregation: Aggregation, **columns: Any) -> list[Any]:
    """The aggregation's answer after each row of `columns`, as plain Python, nothing compiled.

    Rows have the times 1, 2, 3, … for aggregations that take them.

    >>> from sash import functions as sf
    >>> running(sf.max("x"), x=[2, None, 3])
    [2, 2, 3]
    """
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError("running: give columns, all of one length")
    rows = lengths.pop()
    known = {TIME: range(1, rows + 1), **columns}
    taken = [known[name] for name in aggregation.columns or (TIME,)]
    items = list(taken[0]) if len(taken) == 1 else list(zip(*taken, strict=True))
    return Oracle(aggregation.combined()).slide(items, rows)
