"""Periodic windows of Arrow tables that `every` does not give: those that grow by steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.columns import answers_as, numbers, one_array
from sash.plan.types import unit_of


def edges_of(table: pa.Table) -> pa.Array:
    """Both ends of windows in one column, as Spark's window() has them."""
    edges = [one_array(table.column(name)) for name in ("window_start", "window_end")]
    return pa.StructArray.from_arrays(edges, ["start", "end"])


def cumulated(
    table: pa.Table, time: str, following: str, names: list[str], lengths: tuple[Any, ...]
) -> pa.Table:
    """Windows from the start of each period to the end of each step, for answers so far.

    A step's answer is that of its last row; steps without rows have that of the step before.
    `following`: the time of the key's next row.
    """
    kind = table.schema.field(time).type
    unit = unit_of(kind) or 1
    size, step, offset = (length.ns // unit if length else 0 for length in lengths)
    ticks = numbers(one_array(table.column(time))) - offset
    column = one_array(table.column(following))
    last = np.asarray(column.is_null())
    after = numbers(column.fill_null(pa.scalar(0, pa.int64()).cast(kind))) - offset
    cells, periods = ticks // step, ticks // size
    alone = last | (after // size != periods)
    stops = np.where(alone, (periods + 1) * (size // step), after // step)
    rows = np.flatnonzero(last | (after // step != cells))
    counts = (stops - cells)[rows]
    repeated = np.repeat(rows, counts)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = table.select(names).take(pa.array(repeated))
    starts = periods[repeated] * size + offset
    ends = (cells[repeated] + within + 1) * step + offset
    found = found.append_column("window_start", answers_as(starts, None, kind))
    return found.append_column("window_end", answers_as(ends, None, kind))
