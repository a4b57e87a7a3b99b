"""Tables in process: sorted where they have to be, every core at work, order kept."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import row_windows
from sash.engine.arrangement import Arrangement, Codes, arranged
from sash.engine.bounds import FURTHEST, LEAST
from sash.engine.columns import numbers, one_array
from sash.engine.fixed import Filling, column_of, is_fixed
from sash.engine.order import codes_of, ticks
from sash.engine.order import key_codes as key_codes
from sash.engine.order import sort_order as sort_order
from sash.engine.team import Team
from sash.plan.definition import Query, output_schema
from sash.plan.periodic import KIND
from sash.plan.plan import BY_DEFAULT, Options, Plan, plan_of
from sash.plan.reach import reach_of

WORTH_A_THREAD = 1 << 18
"""Rows from which on a further thread is worth its start."""


def aggregate(
    query: Query, table: pa.Table, threads: int | None = None, options: Options = BY_DEFAULT
) -> pa.Table:
    """The table with one extra column per aggregation, its rows in their order."""
    query.check(table.schema)
    if query.ties:
        return _with_ties(query, table, threads, options)
    return _aggregate(query, table, threads, options)


def _with_ties(query: Query, table: pa.Table, threads: int | None, options: Options) -> pa.Table:
    """Rows of equal time in the order of further columns; they come out as they came."""
    way, nulls = ("descending", "at_end") if query.descending else ("ascending", "at_start")
    order = pc.sort_indices(table, sort_keys=[(name, way, nulls) for name in query.ties])
    found = _aggregate(query, table.take(order), threads, options)
    if query.every is not None:
        return found
    back = np.empty(len(order), np.int64)
    back[np.asarray(order)] = np.arange(len(order))
    return found.take(back)


def _aggregate(query: Query, table: pa.Table, threads: int | None, options: Options) -> pa.Table:
    with Team(threads or os.cpu_count() or 1) as team:
        codes = codes_of([one_array(table.column(name)) for name in query.by], team)
        column = one_array(table.column(query.time))
        times = ticks(column, query.time, query.descending, query.null_times)
        order = arranged(codes, times, team)
        inner, needed = by_code(query, table, codes, order)
        plan = plan_of(inner, needed.schema, options)
        if query.every is not None:
            return with_keys(query, table, codes, by_end(inner, run_parts(plan, needed, team)))
        if order is None:
            answers = run_parts(plan, needed, team)
        else:
            answers = run_and_return(plan, needed, order, team)
        for name in query.outputs:
            table = table.append_column(name, answers.column(name))
    return table


def by_code(
    query: Query, table: pa.Table, codes: Codes | None, order: Arrangement | None
) -> tuple[Query, pa.Table]:
    """The query with one number as its key, and the columns that it needs, in order.

    So keys of any type are compared as fast as integers.
    """
    inner = replace(query, by=())
    needed = table.select(inner.columns())
    if order is not None:
        columns = {name: one_array(needed.column(name)) for name in needed.column_names}
        columns = {name: in_order(name, column, query, order) for name, column in columns.items()}
        needed = pa.table(columns)
    if codes is None:
        return inner, needed
    name = "key"
    while name in table.column_names:
        name += "_"
    keys = codes.values if order is None else order.codes
    return replace(query, by=(name,)), needed.append_column(name, pa.array(keys))


def in_order(name: str, column: pa.Array, query: Query, order: Arrangement) -> pa.Array:
    """A column in order; the time from the times that were sorted, where they are at hand."""
    kind = column.type
    at_hand = name == query.time and order.times is not None and not column.null_count
    if order.times is None or not at_hand or not is_fixed(kind) or kind.bit_width != 64:
        return order.into(column)
    return column_of(kind, ~order.times if query.descending else order.times, None)


def with_keys(query: Query, table: pa.Table, codes: Codes | None, answers: pa.Table) -> pa.Table:
    """The answers of `every`, with the keys' own columns in the place of their codes."""
    if codes is None:
        return answers
    rows, first = np.arange(table.num_rows), np.zeros(codes.size, np.int64)
    first[codes.values[::-1]] = rows[::-1]  # of a code's rows, the first is written last
    found = first[answers.column(0).to_numpy()]
    keys = table.select(list(query.by)).take(pa.array(found))
    rest = answers.remove_column(0)
    return pa.table([*keys.columns, *rest.columns], names=[*query.by, *rest.column_names])


def by_end(query: Query, answers: pa.Table) -> pa.Table:
    """Windows of several kinds in the order in which those of a key end; of one they are."""
    if KIND not in query.window:
        return answers
    names = (*query.by, "window_end", "window_start", KIND)
    return answers.take(pc.sort_indices(answers, [(name, "ascending") for name in names]))


def run_parts(plan: Plan, table: pa.Table, team: Team) -> pa.Table:
    """A sorted table's answers, a thread for each part of it."""
    found = team.map(lambda part: list(blocks(plan, table, part)), parts_of(plan, table, team))
    batches = [batch for part in found for batch in part]
    if (
        batches and KIND in plan.query.window
    ):  # where it is not asked, a type that is not known is null
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        return pa.concat_tables(tables, promote_options="permissive")
    if batches:
        return pa.Table.from_batches(batches)
    schema = output_schema(plan.query, table.schema)
    every = plan.query.every is not None
    return schema.empty_table().select(schema.names if every else list(plan.query.outputs))


def run_and_return(plan: Plan, table: pa.Table, order: Arrangement, team: Team) -> pa.Table:
    """A sorted table's answers, in the order that its rows had before."""
    names = list(plan.query.outputs)
    if table.num_rows == 0:
        return run_parts(plan, table, team)
    columns = {name: Filling(table.num_rows) for name in names}

    def fill(part: Part) -> None:
        row = part.begin
        for batch in blocks(plan, table, part):
            for name, column in columns.items():
                column.put(row, batch.column(name))
            row += batch.num_rows

    team.map(fill, parts_of(plan, table, team))
    return pa.table([order.back(columns[name].column()) for name in names], names)


def parts_of(plan: Plan, table: pa.Table, team: Team) -> list[Part]:
    """As many parts as there are threads that are worth their start."""
    return split(plan.query, table, min(team.threads, 1 + table.num_rows // WORTH_A_THREAD))


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
    keys = np.zeros(n, np.int8) if not query.by else numbers(one_array(table.column(query.by[0])))
    cuts = [n * k // parts for k in range(1, parts)]
    near = around(query, table)
    if near is None:  # only where a key begins
        cuts = sorted({int(np.searchsorted(keys, keys[cut])) for cut in cuts} - {0})
        return [Part(b, b, e, e) for b, e in itertools.pairwise([0, *cuts, n])]
    found = []
    for begin, end in itertools.pairwise([0, *cuts, n]):
        key_first = int(np.searchsorted(keys, keys[begin], "left"))
        key_end = int(np.searchsorted(keys, keys[end - 1], "right"))
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
        edge = self._edge(row, -self.behind)
        by_time = key_first + int(np.searchsorted(self.times[key_first:row], edge, "left"))
        return max(key_first, min(by_time, row - self.rows_behind))

    def after(self, row: int, key_end: int) -> int:
        """The row after the last that windows of rows before `row` reach, and its peers."""
        edge = self._edge(row - 1, self.ahead)
        by_time = row + int(np.searchsorted(self.times[row:key_end], edge, "right"))
        return min(key_end, max(by_time, row + self.rows_ahead))

    def _edge(self, row: int, by: float) -> Any:
        """The time of a row moved by so much, as a pass of bounds moves it, or further."""
        time = self.times[row]
        if self.times.dtype.kind == "f":
            return time + self.times.dtype.type(by)
        moved = int(time) + (math.floor(by) if by < 0 else math.ceil(by))
        return np.int64(min(max(moved, LEAST), FURTHEST))


def around(query: Query, table: pa.Table) -> Around | None:
    """The rows around others in a sorted table; None where windows reach without a bound."""
    found = reach_of(query, table.schema)
    sizes = (found.behind, found.ahead, found.rows_behind, found.rows_ahead)
    if query.every is not None or None in sizes:
        return None
    column = one_array(table.column(query.time))
    times = ticks(column, query.time, query.descending, query.null_times)
    return Around(times, *sizes)  # type: ignore[arg-type]


def blocks(plan: Plan, table: pa.Table, part: Part) -> Iterator[pa.RecordBatch]:
    """The answers of a part of a sorted table, block by block."""
    rows = table.slice(part.first, part.last - part.first)
    batches = row_windows.run(plan, rows.combine_chunks().to_batches(), ordered=True)
    if plan.query.every is not None:
        yield from batches
        return
    row = part.first
    for batch in batches:
        begin, end = max(row, part.begin), min(row + batch.num_rows, part.end)
        if begin < end:
            yield batch.slice(begin - row, end - begin).select(list(plan.query.outputs))
        row += batch.num_rows
