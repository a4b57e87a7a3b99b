"""Sealing: rows wait in order of time until the watermark passes them, then they are bulks.

What the watermark has passed can no longer change. It is sealed in order of key and time, and
read again only where windows begin and end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.order import tie_order
from sash.engine.stream.keys import renumbered
from sash.engine.stream.manifest import Pending
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.shard_state import ShardState

BULK = 1 << 14
"""Rows of a bulk, about: a larger batch is cut at times into several."""


def sealed(state: ShardState, rows: pa.Table, now: float | None) -> pa.Table | None:
    """The rows that the watermark has passed, in order of key and time; the others wait."""
    parts, waiting = [], []
    for each in state.manifest.pending:
        table = state.pages.table(each.page)
        times = state.times(table)
        stop = each.start
        if now is not None:
            stop = int(np.searchsorted(times, now, "right"))
        if stop > each.start:
            parts.append(table.slice(each.start, stop - each.start))
            state.pages.cost.rows_read += stop - each.start
        if stop == len(times):
            state.pages.drop(each.page)
        else:
            oldest = times[max(stop, each.start)].item()
            waiting.append(Pending(each.page, max(stop, each.start), oldest, each.youngest))
    if rows.num_rows:
        times = state.times(rows)
        stop = 0 if now is None else int(np.searchsorted(times, now, "right"))
        if stop:
            parts.append(rows.slice(0, stop))
        if stop < len(times):
            page = state.pages.add(rows.slice(stop))
            waiting.append(Pending(page, 0, times[stop].item(), times[-1].item()))
    state.manifest.pending = waiting
    if not parts:
        return None
    table = renumbered(pa.concat_tables(parts).combine_chunks(), state.manifest.collided)
    return by_key(state, table)


def seal(state: ShardState, rows: pa.Table) -> None:
    """Add rows to the bulks, cut at times into bulks of a size."""
    definition, forest = state.definition, state.forest
    if not definition.keeps_bulks:
        return
    if definition.ahead or any(w.edges.ahead < 0 for w in state.work.by_time):
        forest.prove(forest.rows_of(rows))  # not all bulks are read for an answer
    for part in cut(state, rows):
        rest = None
        if definition.ahead and definition.passthrough:
            rest = part.select(definition.passthrough)
        forest.append(part.select([KEY, CHECK, *definition.needed]), rest)


def due_of_bulks(state: ShardState, before: float | None, now: float) -> pa.Table | None:
    """The rows of the bulks that are due now, in order of key and time."""
    ahead = state.definition.ahead
    after = -math.inf if before is None else before - ahead
    parts = []
    for leaf in state.forest.between(after, now - ahead):
        table = state.pages.table(leaf.rows)  # type: ignore[arg-type]
        times = state.times(table)
        due = (times > after) & (times <= now - ahead)
        if not due.any():  # its other columns may be gone
            continue
        if leaf.rest is not None:
            rest = state.pages.table(leaf.rest)
            for name in rest.column_names:
                table = table.append_column(name, rest.column(name))
        parts.append(table.filter(pa.array(due)))
    return by_key(state, pa.concat_tables(parts).combine_chunks()) if parts else None


def cut(state: ShardState, rows: pa.Table) -> Iterator[pa.Table]:
    """Rows as those of each bulk. Rows of one time stay together."""
    if rows.num_rows <= 2 * BULK:
        yield rows
        return
    times = state.times(rows)
    edges = np.unique(np.sort(times)[BULK::BULK])
    bulk = np.searchsorted(edges, times, "left")
    for i in np.unique(bulk):
        yield rows.filter(pa.array(bulk == i))


def by_key(state: ShardState, rows: pa.Table) -> pa.Table:
    """Rows in order of key and time; ties by further columns of order, then as they come."""
    if state.definition.plan.query.ties:
        rows = rows.take(tie_order(state.definition.plan.query, rows))
    order = _order(numbers(one_array(rows.column(KEY))), state.times(rows))
    return rows if order is None else rows.take(pa.array(order))


def _order(ids: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """The order that sorts rows by key and time; None: they are sorted."""
    in_time = not (times[1:] < times[:-1]).any()
    if in_time:
        if not (ids[1:] < ids[:-1]).any():
            return None
        return np.argsort(ids, kind="stable")
    same = ids[1:] == ids[:-1]
    if not ((ids[1:] < ids[:-1]) | (same & (times[1:] < times[:-1]))).any():
        return None
    return np.lexsort([times, ids])
