"""Tables in process: sorted where they have to be, every core at work, order kept."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import row_windows
from sash.engine.arrangement import Arrangement, Codes, arranged
from sash.engine.changed import ChangedWindows
from sash.engine.columns import one_array
from sash.engine.filling import Filling
from sash.engine.fixed import column_of, is_fixed, is_movable
from sash.engine.order import codes_of, ticks, tie_order
from sash.engine.order import key_codes as key_codes
from sash.engine.parts import Part, Sorted, split
from sash.engine.team import Team
from sash.plan.arrow_expressions import evaluate
from sash.plan.definition import Query, output_schema
from sash.plan.expressions import columns_of
from sash.plan.periodic import KIND
from sash.plan.plan import Plan


def aggregate(plan: Plan, table: pa.Table, threads: int | None = None) -> pa.Table:
    """The table with one extra column per aggregation, its rows in their order."""
    return _with_ties(plan, table, threads) if plan.query.ties else _aggregate(plan, table, threads)


def _with_ties(plan: Plan, table: pa.Table, threads: int | None) -> pa.Table:
    """Rows of equal time in the order of further columns; they come out as they came."""
    order = tie_order(plan.query, table)
    found = _aggregate(plan, table.take(order), threads)
    if plan.query.every is not None:
        return found
    back = np.empty(len(order), np.int64)
    back[np.asarray(order)] = np.arange(len(order))
    return found.take(back)


def _aggregate(plan: Plan, table: pa.Table, threads: int | None) -> pa.Table:
    query = plan.query
    with Team(threads or os.cpu_count() or 1) as team:
        codes = codes_of([one_array(table.column(name)) for name in query.by], team)
        column = one_array(table.column(query.time))
        times = ticks(column, query.time, query.descending, query.null_times)
        order = arranged(codes, times, team)
        query, needed = needed_columns(query, table, order, team)
        plan = replace(plan, query=query)
        rows = Sorted(needed, starts_of(codes, order, team))
        if query.every is not None:
            by, rows = by_code(rows, codes, order)
            plan = plan.over_rows(rows.table.schema, by)
            found = run_periods(plan, rows, team)
            if query.every.changes:
                found = ChangedWindows(plan).of(found)
            return with_keys(query, table, codes, by_end(plan.query, found))
        plan = plan.over_rows(rows.table.schema, ())
        for name, answers in run_rows(plan, rows, team, order).items():
            table = table.append_column(name, answers)
    return table


def needed_columns(
    query: Query, table: pa.Table, order: Arrangement | None, team: Team
) -> tuple[Query, pa.Table]:
    """The columns that a query needs besides its keys, in order; and the query of them."""
    if order is None:
        return query, table.select(replace(query, by=()).columns())
    query, table = evaluated_first(query, table, team)
    needed = table.select(replace(query, by=()).columns())
    columns = {name: one_array(needed.column(name)) for name in needed.column_names}
    found: dict[str, pa.Array] = {}
    flags = next((name for name, c in columns.items() if pa.types.is_boolean(c.type)), None)
    if flags is not None:
        both = order.into_with(columns[query.time], columns[flags])
        found = {} if both is None else dict(zip((query.time, flags), both, strict=True))
    others = {name: c for name, c in columns.items() if name not in found}
    found |= {name: in_order(name, c, query, order) for name, c in others.items()}
    return query, pa.table({name: found[name] for name in columns})


ROW_BY_ROW = 10
"""How many columns of numbers can be moved while one is that is moved row by row, such as text."""


def evaluated_first(query: Query, table: pa.Table, team: Team) -> tuple[Query, pa.Table]:
    """The query of rows that have its derived columns, and such rows, where those take less to move
    than what they are derived from: a condition is a bit."""
    full, after = query.with_derived(table.schema), query.of_derived()
    wanted = {name: e for name, e in query.derived.items() if name not in after.derived}
    if not wanted or _to_move(after, full) > _to_move(query, full):
        return query, table
    read = table.select(dict.fromkeys(name for e in wanted.values() for name in columns_of(e)))
    asked = query.aggregations.values()
    values = {name for a in asked for name in a.reads if name != a.condition}
    conditions = {a.condition for a in asked if a.condition is not None} - values

    def evaluate_part(begin: int, end: int) -> dict[str, pa.Array]:
        found = evaluate(wanted, read.slice(begin, end - begin))
        for name in conditions & found.keys():  # null is not true
            found[name] = pc.fill_null(found[name], False)
        return found

    parts = team.over(table.num_rows, evaluate_part)
    for name in wanted:
        table = table.append_column(name, pa.chunked_array([part[name] for part in parts]))
    return after, table


def _to_move(query: Query, schema: pa.Schema) -> int:
    """What the columns of a query take to be moved, in columns of numbers."""
    kinds = (schema.field(name).type for name in replace(query, by=()).columns())
    return sum(1 if is_movable(kind) else ROW_BY_ROW for kind in kinds)


def starts_of(codes: Codes | None, order: Arrangement | None, team: Team) -> np.ndarray | None:
    """Where the rows of each key begin, in order; None: there is one key, or no rows."""
    if codes is None or not len(codes.values):
        return None
    if order is not None:
        return order.starts
    before, after = codes.values[:-1], codes.values[1:]

    def changes(begin: int, end: int) -> np.ndarray:
        return begin + 1 + np.flatnonzero(before[begin:end] != after[begin:end])

    return np.concatenate([np.zeros(1, np.int64), *team.over(len(after), changes)])


def by_code(
    rows: Sorted, codes: Codes | None, order: Arrangement | None
) -> tuple[tuple[str, ...], Sorted]:
    """Rows for `every` with one number as their key, and the name of that; none without keys.

    So keys of any type are compared as fast as integers.
    """
    if codes is None:
        return (), rows
    name = "key"
    while name in rows.table.column_names:
        name += "_"
    keys = codes.values if order is None else order.codes
    table = rows.table.append_column(name, pa.array(keys))
    return (name,), Sorted(table, rows.starts)


def in_order(name: str, column: pa.Array, query: Query, order: Arrangement) -> pa.Array:
    """A column in order; the time from the times that were sorted, where they are known."""
    kind = column.type
    at_hand = name == query.time and order.times is not None and not column.null_count
    if order.times is None or not at_hand or not is_fixed(kind) or kind.bit_width != 64:
        return order.into(column)
    return column_of(kind, ~order.times if query.descending else order.times, None)


def with_keys(query: Query, table: pa.Table, codes: Codes | None, answers: pa.Table) -> pa.Table:
    """The answers of `every`, with the keys' own columns instead of their codes."""
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


def run_periods(plan: Plan, rows: Sorted, team: Team) -> pa.Table:
    """The answers of `every` over sorted rows, a thread for each part of them."""

    def run(part: Part) -> list[pa.RecordBatch]:
        table = rows.table.slice(part.first, part.last - part.first)
        return list(row_windows.run(plan, table.combine_chunks().to_batches(), ordered=True))

    batches = [batch for found in team.map(run, split(plan.query, rows, team)) for batch in found]
    if batches and KIND in plan.query.window:  # where it is not asked, an unknown type is null
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        return pa.concat_tables(tables, promote_options="permissive")
    if batches:
        return pa.Table.from_batches(batches)
    return output_schema(plan.query, rows.table.schema).empty_table()


def run_rows(
    plan: Plan, rows: Sorted, team: Team, order: Arrangement | None
) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The answers of sorted rows by name, a thread for each part of them, in the order that rows
    had."""
    names, n = plan.query.outputs, rows.table.num_rows
    if n == 0:
        empty = output_schema(plan.query, rows.table.schema).empty_table()
        return {name: empty.column(name) for name in names}
    columns = {name: Filling(n, marks=order is not None) for name in names}

    def fill(part: Part) -> None:
        row, places = part.begin, {name: c.room_from(part.begin) for name, c in columns.items()}
        table = rows.table.slice(part.first, part.last - part.first)
        [batch] = table.combine_chunks().to_batches()
        work = row_windows.RowWindows(plan, ordered=True, starts=rows.starts_in(part))
        inside = part.begin - part.first, part.end - part.first
        for found in work.part(batch, *inside, places):
            for name, column in columns.items():
                column.put(row, found.column(name))
            row += found.num_rows

    team.map(fill, split(plan.query, rows, team))
    back = Filling.column if order is None else order.back_of
    return {name: back(column) for name, column in columns.items()}
