"""The answers of due rows from each structure of a shard, and what they leave behind there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine import row_windows
from sash.engine.columns import one_array
from sash.engine.rows import HELD
from sash.engine.stream.bulk_rows import Rows, taken
from sash.engine.stream.current import named
from sash.engine.stream.due import Due, Edges, marked
from sash.engine.stream.shard_state import ShardState
from sash.plan.plan import Plan


def by_time(state: ShardState, groups: list[Due]) -> dict[str, Any]:
    """Answers over windows by time, of all groups in turn."""
    found: dict[str, Any] = {}
    for windows in state.work.by_time:
        found |= named(state.definition, windows, windows.answer(state.forest, groups))
    return found | _from_rows(state, groups)


def per_key(state: ShardState, rows: pa.Table) -> dict[str, Any]:
    """Answers from keys' tails, of rows in order of key and time."""
    found: dict[str, Any] = {}
    for name, tailed in state.work.tails.items():
        found |= tailed.answer(state.tails(name), rows)
    for name, so_far in state.work.so_far.items():
        found |= named(state.definition, so_far, so_far.answer(state.tails(name), rows))
    return found


def advance(state: ShardState, rows: pa.Table) -> None:
    """Let keys' tails end with rows, in order of key and time."""
    for name, tailed in state.work.tails.items():
        tailed.advance(state.tails(name), rows)
    for name, so_far in state.work.so_far.items():
        so_far.advance(state.tails(name), rows)


def _from_rows(state: ShardState, groups: list[Due]) -> dict[str, Any]:
    """Answers that are no small partials, from all rows of the windows."""
    plan = state.work.rows
    if plan is None:
        return {}
    edges = [Edges.of(frame.frame, plan.unit) for frame in plan.frames]
    parts = []
    for due in groups:
        least = min(due.span.least, *(edge.left(due.span).least for edge in edges))
        most = max(due.span.most, *(edge.right(due.span).most for edge in edges))
        rows = state.forest.rows_between(least, most, due.keys)
        assert rows is not None  # those that are due are among them
        parts.append(_answered(plan, due, rows))
    return {o.name: pa.concat_arrays([p[o.name] for p in parts]) for o in plan.outputs}


def _answered(plan: Plan, due: Due, rows: Rows) -> dict[str, pa.Array]:
    rows = in_order_of_key(rows)
    table = rows.table.append_column(HELD, pa.array(np.zeros(len(rows.ids), np.bool_)))
    whole = pa.Table.from_batches(list(row_windows.run(plan, table.to_batches(), ordered=True)))
    marks = pa.array(marked(due, rows))
    return {o.name: one_array(whole.column(o.name).filter(marks)) for o in plan.outputs}


def in_order_of_key(rows: Rows) -> Rows:
    """Rows in order of key and time."""
    return taken(rows, np.lexsort([rows.times, rows.ids]))
