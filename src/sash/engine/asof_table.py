"""As-of windows over tables in process: the spine's rows in their order, with answers.

Events and spine are brought in order of key and time apart from each other, so that events
which are in order of time already only have to be counted. Events that no window can reach
are left out before that, where they are many.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import parts
from sash.engine import table as tables
from sash.engine.arrangement import Arrangement, Codes, arranged
from sash.engine.asof_windows import AsOfWindows, blocks
from sash.engine.columns import one_array
from sash.engine.expressions import outputs
from sash.engine.filling import Filling
from sash.engine.fixed import is_fixed
from sash.engine.moments import Moments
from sash.engine.order import codes_of, direct_codes, ticks, tie_order
from sash.engine.parts import Part, Sorted
from sash.engine.reached import Near, only, only_cells
from sash.engine.team import Team
from sash.plan.definition import Query, output_schema
from sash.plan.plan import Plan
from sash.plan.reach import reach_of
from sash.plan.spine import common_type


@dataclass(frozen=True)
class Side:
    """The events or the spine: a code for each row's key, and its time."""

    codes: Codes | None
    times: np.ndarray

    def only(self, rows: np.ndarray, team: Team) -> Side:
        """Some of the rows."""
        codes = self.codes
        if codes is not None:
            codes = Codes(only_cells(codes.values, rows, team), codes.size)
        return Side(codes, only_cells(self.times, rows, team))


def aggregate(
    plan: Plan, events: pa.Table, spine: pa.Table, threads: int | None = None
) -> pa.Table:
    """The spine's rows in their order, with one extra column per aggregation of the events.

    The events' time has the type in which both times are compared; see `comparable`.
    """
    query = plan.query
    if spine.num_rows == 0:
        return output_schema(query, events.schema).empty_table()
    events, asked = _with_times(query, events, spine)
    with Team(threads or os.cpu_count() or 1) as team:
        there, here = _sides(query, events, spine, asked, team)
        back = arranged(here.codes, here.times, team)
        times, begins = _times(here, back), _begins(here, back)
        near = Near.to(times, begins, reach_of(query, events.schema))
        asked_of, rows, of_codes = _in_order(_keyless(query), events, there, near, team)
        plan = plan.of_query(asked_of, rows.table.schema)
        counts = np.diff(begins)
        first, stop = (np.repeat(each, counts) for each in (of_codes[:-1], of_codes[1:]))
        moments = Moments(times, first, stop, _known(asked, back))
        answers = _run(plan, rows, moments, team)
        found = {
            name: answer if back is None else back.back(answer) for name, answer in answers.items()
        }
    read = [name for _, name in query.own()] or spine.column_names[:1]
    own = {name: one_array(spine.column(name)) for name in read}
    made = outputs(plan, own, found)
    return pa.table([*spine.columns, *made], names=[*spine.column_names, *query.outputs])


def _in_order(
    query: Query, events: pa.Table, side: Side, near: Near, team: Team
) -> tuple[Query, Sorted, np.ndarray]:
    """Events in order, without those out of reach where these are many, and the query of them; and
    where those of each code begin."""
    events = events.select(query.columns())
    reached = near.rows(side.times, None if side.codes is None else side.codes.values, team)
    if reached is not None:
        side = side.only(reached, team)
        columns = [only(one_array(column), reached, team) for column in events.columns]
        events = pa.table(columns, names=events.column_names)
    order = arranged(side.codes, side.times, team)
    query, needed = tables.needed_columns(query, events, order, team)
    return query, Sorted(needed, tables.starts_of(side.codes, order, team)), _begins(side, order)


def _keyless(query: Query) -> Query:
    """The query over rows of which it is known where each key begins."""
    assert query.spine is not None
    return replace(query, by=(), spine=replace(query.spine, by=()))


def comparable(query: Query, events: pa.Table, spine: pa.Table) -> tuple[Query, pa.Table]:
    """The events with a time of the type in which both times are compared, and the query by it."""
    query.check(events.schema)
    assert query.spine is not None
    kind = common_type("time", (query.time, query.spine.time), events.schema, spine.schema)
    if events.schema.field(query.time).type == kind:
        return query, events
    name = "time"
    while name in events.column_names:
        name += "_"
    events = events.append_column(name, events.column(query.time).cast(kind))
    return replace(query, time=name), events


def _with_times(query: Query, events: pa.Table, spine: pa.Table) -> tuple[pa.Table, pa.Array]:
    """Events that have a time, in order of ties; and the times of the spine."""
    assert query.spine is not None
    events = events.select(query.columns())
    if events.column(query.time).null_count:  # whether they are before a moment is not known
        events = events.filter(pc.is_valid(events.column(query.time)))
    if query.ties:
        events = events.take(tie_order(query, events))
    asked = one_array(spine.column(query.spine.time))
    return events, asked.cast(events.schema.field(query.time).type)


def _sides(
    query: Query, events: pa.Table, spine: pa.Table, asked: pa.Array, team: Team
) -> tuple[Side, Side]:
    """Events and spine, equal keys with equal codes."""
    assert query.spine is not None
    keys = []
    for names in zip(query.by, query.spine.by, strict=True):
        kind = common_type("key", names, events.schema, spine.schema)
        both = zip((events, spine), names, strict=True)
        keys.append([one_array(table.column(name)).cast(kind) for table, name in both])
    times = ticks(one_array(events.column(query.time)), query.time)
    moments = ticks(asked, query.spine.time, nulls=True).astype(times.dtype, copy=False)
    if not keys:
        return Side(None, times), Side(None, moments)
    mine, theirs = _codes(keys, team)
    return Side(mine, times), Side(theirs, moments)


def _codes(keys: list[list[pa.Array]], team: Team) -> list[Codes]:
    """The codes of events and spine, from the columns of both of each key."""
    columns = keys[0]
    if len(keys) == 1 and all(pa.types.is_integer(c.type) and not c.null_count for c in columns):
        found = direct_codes([c.to_numpy() for c in columns], team)
        if found is not None:  # nothing had to be copied to one column
            return found
    codes = codes_of([one_array(pa.chunked_array(both)) for both in keys], team)
    assert codes is not None
    n = len(columns[0])
    return [Codes(values, codes.size) for values in (codes.values[:n], codes.values[n:])]


def _begins(side: Side, order: Arrangement | None) -> np.ndarray:
    """Where the rows of each code begin in order, and where the last ones end."""
    n = len(side.times)
    if side.codes is None:
        return np.array([0, n])
    if order is not None:
        return np.append(order.begins, n)
    return np.append(0, np.cumsum(np.bincount(side.codes.values, minlength=side.codes.size)))


def _known(asked: pa.Array, back: Arrangement | None) -> np.ndarray | None:
    """Which moments in order are times at all; None: all."""
    if not asked.null_count:
        return None
    known = np.asarray(asked.is_valid())
    return known if back is None else back.into(pa.array(known.view(np.int8))).to_numpy() == 1


def _times(side: Side, order: Arrangement | None) -> np.ndarray:
    """Times in order."""
    return side.times if order is None else order.into(pa.array(side.times)).to_numpy()


def _run(plan: Plan, events: Sorted, moments: Moments, team: Team) -> dict[str, pa.Array]:
    """The answers for all moments, a thread for each part of them."""
    asked = _parts(plan, events, moments, team)
    columns = {output.name: Filling(len(moments)) for output in plan.outputs}
    found = team.map(lambda part: _answers(plan, events, part, columns), asked)
    blocks = list(itertools.chain.from_iterable(found))
    pieces = [[block[i] for block in blocks] for i in range(len(columns))]
    whole = team.map(lambda each: _whole(*each), zip(columns.values(), pieces, strict=True))
    return dict(zip(columns, whole, strict=True))


def _whole(column: Filling, pieces: list[pa.Array]) -> pa.Array:
    """The answers of all blocks; numbers are in place already, mostly."""
    kinds = {piece.type for piece in pieces}
    if len(kinds) > 1 or not all(map(is_fixed, kinds)):  # where all are null, the type is not known
        tables = [pa.table([piece], names=["piece"]) for piece in pieces]
        return one_array(pa.concat_tables(tables, promote_options="permissive").column(0))
    row = 0
    for piece in pieces:
        column.put(row, piece)
        row += len(piece)
    return one_array(column.column())


@dataclass(frozen=True)
class Asked:
    """Some moments, of which the first is `row`, and the events that their windows reach:
    `begin` to `end` - 1."""

    row: int
    moments: Moments
    begin: int
    end: int


def _answers(
    plan: Plan, events: Sorted, part: Asked, columns: dict[str, Filling]
) -> list[list[pa.Array]]:
    """The answers for some moments, block by block; written to the columns where they can be."""
    starts = events.starts_in(Part(part.begin, part.begin, part.end, part.end))
    work = AsOfWindows(plan, ordered=True, starts=starts)
    needed = events.table.slice(part.begin, part.end - part.begin)
    for batch in needed.combine_chunks().to_batches():
        work.take(batch)
    places = {name: column.room_from(part.row) for name, column in columns.items()}
    work.write_to(places, len(part.moments))
    return list(blocks(work, part.moments.within(part.begin, part.end), work.count))


def _parts(plan: Plan, events: Sorted, moments: Moments, team: Team) -> list[Asked]:
    """As many parts as there are threads that are worth their start."""
    m, n = len(moments), events.table.num_rows
    count = min(team.threads, 1 + (m + n) // parts.WORTH_A_THREAD)
    cuts = [m * k // count for k in range(1, count)]
    near = parts.around(plan.query, events.table)
    if near is None:  # only where a key begins, or all are of one
        cuts = [int(np.searchsorted(moments.first, moments.first[cut])) for cut in cuts]
    edges = sorted({0, *cuts, m})
    return [
        Asked(begin, moments.part(begin, end), *_reached(near, moments, begin, end))
        for begin, end in itertools.pairwise(edges)
    ]


def _reached(near: parts.Around | None, moments: Moments, begin: int, end: int) -> tuple[int, int]:
    """The events that the windows of moments `begin` to `end` - 1 reach."""
    first, last = int(moments.first[begin]), int(moments.stop[end - 1])
    if near is None:
        return first, last
    key_stop, key_first = int(moments.stop[begin]), int(moments.first[end - 1])
    return (
        near.before_moment(moments.times[begin], first, key_stop),
        near.after_moment(moments.times[end - 1], key_first, last),
    )
