"""Tables in process: sorted where they have to be, every core at work, order kept."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine import stream
from sash.engine.columns import changes, numbers, one_array
from sash.engine.definition import Query, output_schema
from sash.engine.reach import reach_of
from sash.engine.stream import BLOCK

WORTH_A_THREAD = 1 << 18
"""Rows from which on a further thread is worth its start."""


def aggregate(query: Query, table: pa.Table, threads: int | None = None) -> pa.Table:
    """The table with a column more for each aggregation, its rows in their order."""
    query.check(table.schema)
    threads = threads or os.cpu_count() or 1
    order = sort_order(query, table, threads)
    needed = table.select(query.columns())
    if order is not None:
        needed = needed.take(order)
    answers = run_parts(query, needed, threads)
    if query.every is not None:
        return answers
    if order is not None:
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        answers = answers.take(back)
    for name in query.aggregations:
        table = table.append_column(name, answers.column(name))
    return table


def sort_order(query: Query, table: pa.Table, threads: int = 1) -> np.ndarray | None:
    """The order that sorts a table by key and time, ties as they come; None: it is sorted."""
    keys = [key_codes(one_array(table.column(name))) for name in query.by]
    time = one_array(table.column(query.time))
    if time.null_count or table.num_rows < 2:
        return None  # the stream says what is wrong with null times
    ticks = numbers(time)
    columns = [*keys, ticks]
    if all_sorted(columns, query.descending, threads):
        return None
    if query.descending:
        ticks = -ticks
    return np.lexsort([ticks, *reversed(keys)])


def key_codes(column: pa.Array) -> np.ndarray:
    """A number for each distinct value of a key column; nulls have one of their own."""
    if pa.types.is_integer(column.type) and column.null_count == 0:
        return column.to_numpy()
    codes = column.dictionary_encode(null_encoding="encode").indices
    return codes.to_numpy(zero_copy_only=False)


def all_sorted(columns: list[np.ndarray], descending: bool, threads: int = 1) -> bool:
    """Whether rows are sorted by all of the columns, the last one maybe descending."""

    def is_sorted(start: int) -> bool:
        return _block_sorted([c[start : start + BLOCK + 1] for c in columns], descending)

    starts = range(0, len(columns[0]) - 1, BLOCK)
    if threads == 1 or len(starts) < 2 * threads:
        return all(map(is_sorted, starts))
    with ThreadPoolExecutor(threads) as pool:
        return all(pool.map(is_sorted, starts))


def _block_sorted(columns: list[np.ndarray], descending: bool) -> bool:
    tied: np.ndarray | bool = True
    for i, column in enumerate(columns):
        before, after = column[:-1], column[1:]
        if i == len(columns) - 1 and descending:
            before, after = after, before
        if bool((tied & (before > after)).any()):
            return False
        if i < len(columns) - 1:
            tied = tied & (before == after)
    return True


def run_parts(query: Query, table: pa.Table, threads: int) -> pa.Table:
    """A sorted table's answers, a thread for each part of it."""
    parts = split(query, table, min(threads, 1 + table.num_rows // WORTH_A_THREAD))
    if len(parts) == 1:
        return run(query, table, parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return pa.concat_tables(list(pool.map(lambda part: run(query, table, part), parts)))


@dataclass(frozen=True)
class Part:
    """Rows `begin` to `end` - 1 of a table, and the rows around them that their windows reach."""

    first: int
    begin: int
    end: int
    last: int


def split(query: Query, table: pa.Table, parts: int) -> list[Part]:
    """Parts that can run by themselves."""
    n = table.num_rows
    whole = [Part(0, 0, n, n)]
    if parts <= 1:
        return whole
    keys = [one_array(table.column(name)) for name in query.by]
    begins = np.append(0, 1 + np.flatnonzero(changes(keys))) if keys else np.zeros(1, np.int64)
    cuts = [n * k // parts for k in range(1, parts)]
    near = around(query, table)
    if near is None:  # only where a key begins
        cuts = sorted({int(begins[np.searchsorted(begins, c, "right") - 1]) for c in cuts} - {0})
        return [Part(b, b, e, e) for b, e in itertools.pairwise([0, *cuts, n])]
    ends = np.append(begins[1:], n)
    found = []
    for begin, end in itertools.pairwise([0, *cuts, n]):
        key_first = int(begins[np.searchsorted(begins, begin, "right") - 1])
        key_end = int(ends[np.searchsorted(begins, end - 1, "right") - 1])
        found.append(Part(near.before(begin, key_first), begin, end, near.after(end, key_end)))
    return found


@dataclass(frozen=True)
class Around:
    """Finds the rows around others that windows reach."""

    times: np.ndarray
    behind: float
    ahead: float
    rows_behind: int
    rows_ahead: int

    def before(self, row: int, key_first: int) -> int:
        """The first row that windows of `row` and later ones reach."""
        edge = self.times[row] - self.behind
        by_time = key_first + int(np.searchsorted(self.times[key_first:row], edge, "left"))
        return max(key_first, min(by_time, row - self.rows_behind))

    def after(self, row: int, key_end: int) -> int:
        """The row after the last that windows of rows before `row` reach, and its peers."""
        edge = self.times[row - 1] + self.ahead
        by_time = row + int(np.searchsorted(self.times[row:key_end], edge, "right"))
        return min(key_end, max(by_time, row + self.rows_ahead))


def around(query: Query, table: pa.Table) -> Around | None:
    """The rows around others in a sorted table; None where windows reach without a bound."""
    found = reach_of(query, table.schema)
    sizes = (found.behind, found.ahead, found.rows_behind, found.rows_ahead)
    if query.every is not None or None in sizes:
        return None
    times = numbers(one_array(table.column(query.time)))
    return Around(-times if query.descending else times, *sizes)  # type: ignore[arg-type]


def run(query: Query, table: pa.Table, part: Part) -> pa.Table:
    """The answers of a part of a sorted table, block by block."""
    rows = table.slice(part.first, part.last - part.first)
    whole = rows.combine_chunks().to_batches()
    batches = stream.run(query, table.schema, whole, ordered=True)
    schema = output_schema(query, table.schema)
    names = schema.names if query.every is not None else list(query.aggregations)
    found = [batch.select(names) for batch in batches]
    if not found:
        return schema.empty_table().select(names)
    answers = pa.Table.from_batches(found)
    if query.every is not None:
        return answers
    return answers.slice(part.begin - part.first, part.end - part.begin)
