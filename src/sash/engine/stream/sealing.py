"""Sealing: rows wait in order of time until the watermark passes them, then they are bulks.

What the watermark has passed can no longer change. It is sealed in order of key and time, and
read again only where windows begin and end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.order import tie_order
from sash.engine.stream.keys import renumbered
from sash.engine.stream.manifest import Pending
from sash.engine.stream.pages import CHECK, KEY
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.sorted_keys import order_of

BULK = 1 << 14
"""Rows of a bulk, about: a larger batch is cut at times into several."""

PER_KEY = 2
"""Rows of a bulk per key, about, where it has many keys: a map with a partial for nearly each row
takes as long to write as the rows, and spares hardly any of them."""


def sealed(state: ShardState, rows: pa.Table, now: float | None) -> pa.Table | None:
    """The rows that the watermark has passed, in order of key and time; the others wait."""
    stop = due_until(state, rows, now)
    parts = passed(state, now)
    if stop:
        parts.append(rows.slice(0, stop))
    wait(state, rows.slice(stop))
    if not parts:
        return None
    return by_key(state, renumbered(joined(parts), state.manifest.collided))


def due_until(state: ShardState, rows: pa.Table, now: float | None) -> int:
    """How many of rows in order of time the watermark has passed."""
    return 0 if now is None else int(np.searchsorted(state.times(rows), now, "right"))


def passed(state: ShardState, now: float | None) -> list[pa.Table]:
    """The rows that have waited and that the watermark has passed, a table per page."""
    parts, waiting = [], []
    for each in state.manifest.pending:
        if now is None or each.oldest > now:
            waiting.append(each)
            continue
        table = state.pages.table(each.page)
        times, stop = state.times(table), due_until(state, table, now)
        parts.append(table.slice(each.start, stop - each.start))
        state.pages.cost.rows_read += stop - each.start
        if stop == len(times):
            state.pages.drop(each.page)
        else:
            waiting.append(Pending(each.page, stop, times[stop].item(), each.youngest))
    state.manifest.pending = waiting
    return parts


def wait(state: ShardState, rows: pa.Table) -> None:
    """Let rows in order of time wait for the watermark."""
    if rows.num_rows:
        times = state.times(rows)
        page = state.pages.add(rows)
        pending = Pending(page, 0, times[0].item(), times[-1].item())
        state.manifest.pending = [*state.manifest.pending, pending]


def joined(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables, one after the other."""
    return pa.concat_tables(parts).combine_chunks()


def seal(state: ShardState, rows: pa.Table) -> None:
    """Add rows to the bulks, cut at times into bulks of a size."""
    definition, forest = state.definition, state.forest
    if not definition.kept.bulks:
        return
    if definition.kept.ahead or any(w.edges.ahead < 0 for w in state.work.by_time):
        known = forest.rows.of(rows)
        forest.prove(known.ids, known.checks)  # not all bulks are read for an answer
    for part in cut(state, rows):
        rest = None
        if definition.kept.ahead and definition.passthrough:
            rest = part.select(definition.passthrough)
        forest.append(part.select([KEY, CHECK, *definition.needed]), rest)


def due_of_bulks(state: ShardState, before: float | None, now: float) -> pa.Table | None:
    """The rows of the bulks that are due now, in order of key and time."""
    ahead = state.definition.kept.ahead
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


def rows_of_bulk(keys: int) -> int:
    """How many rows a bulk has, about, where a batch has so many keys."""
    return max(BULK, PER_KEY * keys)


def cut(state: ShardState, rows: pa.Table) -> Iterator[pa.Table]:
    """Rows in order of key and time as those of each bulk. Rows of one time stay together."""
    ids = numbers(one_array(rows.column(KEY)))
    size = rows_of_bulk(1 + int(np.count_nonzero(ids[1:] != ids[:-1])))
    if rows.num_rows <= 2 * size:
        yield rows
        return
    times = state.times(rows)
    edges = np.unique(np.sort(times)[size::size])
    bulk = np.searchsorted(edges, times, "left")
    order = np.argsort(bulk.astype(np.min_scalar_type(len(edges))), kind="stable")
    rows = rows.combine_chunks()  # else each take brings them together
    for places in np.split(order, np.cumsum(np.bincount(bulk))[:-1]):
        if len(places):
            yield rows.take(pa.array(places))


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
        return order_of(ids)
    same = ids[1:] == ids[:-1]
    if not ((ids[1:] < ids[:-1]) | (same & (times[1:] < times[:-1]))).any():
        return None
    return np.lexsort([times, ids])
