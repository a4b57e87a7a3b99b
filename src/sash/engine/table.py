"""Tables in process: sorted where they have to be, every core at work, order kept."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from sash.engine import stream
from sash.engine.columns import changes, one_array
from sash.engine.definition import Query, output_schema

BLOCK = 1 << 16
"""Rows that are worked on at a time: what they need stays in the processor's cache."""

WORTH_A_THREAD = 1 << 18
"""Rows from which on a further thread is worth its start."""


def aggregate(query: Query, table: pa.Table, threads: int | None = None) -> pa.Table:
    """The table with a column more for each aggregation, its rows in their order."""
    query.check(table.schema)
    order = sort_order(query, table)
    needed = table.select(query.columns())
    if order is not None:
        needed = needed.take(order)
    answers = run_parts(query, needed, threads or os.cpu_count() or 1)
    if query.every is not None:
        return answers
    if order is not None:
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        answers = answers.take(back)
    for name in query.aggregations:
        table = table.append_column(name, answers.column(name))
    return table


def sort_order(query: Query, table: pa.Table) -> np.ndarray | None:
    """The order that sorts a table by key and time, ties as they come; None: it is sorted."""
    keys = [key_codes(one_array(table.column(name))) for name in query.by]
    time = one_array(table.column(query.time))
    if time.null_count or table.num_rows < 2:
        return None  # the stream says what is wrong with null times
    ticks = time.to_numpy(zero_copy_only=False)
    columns = [*keys, ticks]
    if all_sorted(columns, query.descending):
        return None
    if query.descending:
        ticks = -ticks.astype(np.int64 if ticks.dtype.kind in "Mmiu" else ticks.dtype)
    return np.lexsort([ticks, *reversed(keys)])


def key_codes(column: pa.Array) -> np.ndarray:
    """A number for each distinct value of a key column; nulls have one of their own."""
    if pa.types.is_integer(column.type) and column.null_count == 0:
        return column.to_numpy()
    codes = column.dictionary_encode(null_encoding="encode").indices
    return codes.to_numpy(zero_copy_only=False)


def all_sorted(columns: list[np.ndarray], descending: bool) -> bool:
    """Whether rows are sorted by all of the columns, the last one maybe descending."""
    tied = np.ones(len(columns[0]) - 1, np.bool_)
    for i, column in enumerate(columns):
        before, after = column[:-1], column[1:]
        if i == len(columns) - 1 and descending:
            before, after = after, before
        if bool((tied & (before > after)).any()):
            return False
        tied &= before == after
    return True


def run_parts(query: Query, table: pa.Table, threads: int) -> pa.Table:
    """A sorted table's answers, a thread for each part of it."""
    parts = split(query, table, min(threads, 1 + table.num_rows // WORTH_A_THREAD))
    if len(parts) == 1:
        return parts[0]()
    with ThreadPoolExecutor(len(parts)) as pool:
        return pa.concat_tables(list(pool.map(lambda part: part(), parts)))


def split(query: Query, table: pa.Table, parts: int) -> list[Callable[[], pa.Table]]:
    """Parts that can run by themselves: at keys, or at times with the rows that overlap."""
    edges = part_edges(query, table, parts)
    return [
        lambda begin=begin, end=end: run(query, table.slice(begin, end - begin))
        for begin, end in itertools.pairwise(edges)
    ]


def part_edges(query: Query, table: pa.Table, parts: int) -> list[int]:
    """Rows at which a table can be cut: where a key begins."""
    n = table.num_rows
    if parts <= 1 or not query.by:
        return [0, n]
    begins = 1 + np.flatnonzero(changes([one_array(table.column(name)) for name in query.by]))
    wanted = [n * k // parts for k in range(1, parts)]
    last = begins[-1] if len(begins) else -1
    cuts = {int(begins[np.searchsorted(begins, w)]) for w in wanted if w <= last}
    return [0, *sorted(cuts), n]


def run(query: Query, table: pa.Table) -> pa.Table:
    """A sorted table's answers, block by block."""
    batches = stream.run(query, table.schema, table.to_batches(max_chunksize=BLOCK))
    schema = output_schema(query, table.schema)
    names = schema.names if query.every is not None else list(query.aggregations)
    found = [batch.select(names) for batch in batches]
    return pa.Table.from_batches(found) if found else schema.empty_table().select(names)
