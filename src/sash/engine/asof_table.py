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
from sash.engine.moments import Moments
from sash.engine.order import codes_of, ticks
from sash.engine.parts import Part, Sorted, moved
from sash.engine.team import Team
from sash.plan.definition import Query, output_schema
from sash.plan.plan import BY_DEFAULT, Options, Plan, plan_of
from sash.plan.reach import Reach, reach_of
from sash.plan.spine import common_type

LOOKS, WORTH_LEAVING_OUT = 1 << 14, 0.5
"""Events that are looked at; and the share of them that windows can reach, below which it is
worth to leave the others out."""


@dataclass(frozen=True)
class Side:
    """The events or the spine: a code for each row's key, and its time."""

    codes: Codes | None
    times: np.ndarray

    def only(self, rows: np.ndarray) -> Side:
        codes = None if self.codes is None else Codes(self.codes.values[rows], self.codes.size)
        return Side(codes, self.times[rows])


def aggregate(
    query: Query,
    events: pa.Table,
    spine: pa.Table,
    threads: int | None = None,
    options: Options = BY_DEFAULT,
) -> pa.Table:
    """The spine's rows in their order, with one extra column per aggregation of the events."""
    query.check(events.schema)
    if spine.num_rows == 0:
        plan_of(query, events.schema, options)  # raises what is wrong with it
        return output_schema(query, events.schema).empty_table()
    query, events, asked = _comparable(query, events, spine)
    with Team(threads or os.cpu_count() or 1) as team:
        there, here = _sides(query, events, spine, asked, team)
        reached = _reachable(reach_of(query, events.schema), there, here)
        if reached is not None:
            there, events = there.only(reached), events.filter(pa.array(reached))
        order = arranged(there.codes, there.times, team)
        needed = tables.needed_columns(query, events, order)
        rows = Sorted(needed, tables.starts_of(there.codes, order, team))
        plan = plan_of(_keyless(query), needed.schema, options)
        back = arranged(here.codes, here.times, team)
        moments = _moments(there, order, here, back, asked)
        answers = _run(plan, rows, moments, team)
        found = {
            name: answer if back is None else back.back(answer) for name, answer in answers.items()
        }
    read = [name for _, name in query.own()] or spine.column_names[:1]
    own = {name: one_array(spine.column(name)) for name in read}
    made = outputs(plan, own, found)
    return pa.table([*spine.columns, *made], names=[*spine.column_names, *query.outputs])


def _keyless(query: Query) -> Query:
    """The query over rows of which it is known where each key begins."""
    assert query.spine is not None
    return replace(query, by=(), spine=replace(query.spine, by=()))


def _comparable(
    query: Query, events: pa.Table, spine: pa.Table
) -> tuple[Query, pa.Table, pa.Array]:
    """Events that have a time, in order of ties, and both times as one type."""
    assert query.spine is not None
    events = events.select(query.columns())
    if events.column(query.time).null_count:  # whether they are before a moment is not known
        events = events.filter(pc.is_valid(events.column(query.time)))
    if query.ties:
        events = events.take(tables.tie_order(query, events))
    asked = one_array(spine.column(query.spine.time))
    kind = common_type("time", (query.time, query.spine.time), events.schema, spine.schema)
    if events.schema.field(query.time).type != kind:
        name = "time"
        while name in events.column_names:
            name += "_"
        events = events.append_column(name, events.column(query.time).cast(kind))
        query = replace(query, time=name)
    return query, events, asked.cast(kind)


def _sides(
    query: Query, events: pa.Table, spine: pa.Table, asked: pa.Array, team: Team
) -> tuple[Side, Side]:
    """Events and spine, equal keys with equal codes."""
    assert query.spine is not None
    n, columns = events.num_rows, []
    for names in zip(query.by, query.spine.by, strict=True):
        kind = common_type("key", names, events.schema, spine.schema)
        both = (t.column(name).cast(kind) for t, name in zip((events, spine), names, strict=True))
        columns.append(one_array(pa.chunked_array([c for each in both for c in each.chunks], kind)))
    codes = codes_of(columns, team)
    times = ticks(one_array(events.column(query.time)), query.time)
    moments = ticks(asked, query.spine.time, nulls=True).astype(times.dtype, copy=False)
    if codes is None:
        return Side(None, times), Side(None, moments)
    mine, theirs = (Codes(values, codes.size) for values in (codes.values[:n], codes.values[n:]))
    return Side(mine, times), Side(theirs, moments)


def _reachable(reach: Reach, events: Side, spine: Side) -> np.ndarray | None:
    """Which events windows can reach, by key and by time; None where that is most of them."""
    step = max(1, len(events.times) // LOOKS)
    asked = None
    if spine.codes is not None:
        asked = np.zeros(spine.codes.size, np.bool_)
        asked[spine.codes.values] = True
    lo, hi = None, None
    if reach.by_time:
        lo = moved(spine.times.min(), -reach.behind)  # type: ignore[operator]
    if reach.ahead is not None and reach.rows_ahead == 0:
        hi = moved(spine.times.max(), reach.ahead)

    def reached(times: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
        found = np.ones(len(times), np.bool_)
        if asked is not None:
            found &= asked[codes]
        if lo is not None:
            found &= times >= lo
        return found if hi is None else found & (times <= hi)

    codes = None if events.codes is None else events.codes.values
    look = reached(events.times[::step], None if codes is None else codes[::step])
    if not len(look) or look.mean() >= WORTH_LEAVING_OUT:
        return None
    return reached(events.times, codes)


def _moments(
    events: Side, order: Arrangement | None, spine: Side, back: Arrangement | None, asked: pa.Array
) -> Moments:
    """The spine's times in order, each with the events of its key."""
    m, n = len(spine.times), len(events.times)
    known = np.asarray(asked.is_valid()) if asked.null_count else None
    times = spine.times
    if back is not None:
        times = back.into(pa.array(times)).to_numpy()
        known = None if known is None else back.into(pa.array(known.view(np.int8))).to_numpy() == 1
    if spine.codes is None or events.codes is None:
        return Moments(times, np.zeros(m, np.int64), np.full(m, n), known)
    codes = spine.codes.values if back is None else back.codes
    if order is None:
        counts = np.bincount(events.codes.values, minlength=events.codes.size)
        begins = np.cumsum(counts) - counts
    else:
        begins = order.begins
    return Moments(times, begins[codes], np.append(begins[1:], n)[codes], known)


def _run(plan: Plan, events: Sorted, moments: Moments, team: Team) -> dict[str, pa.Array]:
    """The answers for all moments, a thread for each part of them."""
    asked = _parts(plan, events, moments, team)
    found = team.map(lambda part: _answers(plan, events, part), asked)
    whole = pa.concat_tables(itertools.chain.from_iterable(found), promote_options="permissive")
    return {name: one_array(whole.column(name)) for name in whole.column_names}


@dataclass(frozen=True)
class Asked:
    """Some moments, and the events that their windows reach: `begin` to `end` - 1."""

    moments: Moments
    begin: int
    end: int


def _answers(plan: Plan, events: Sorted, part: Asked) -> list[pa.Table]:
    starts = events.starts_in(Part(part.begin, part.begin, part.end, part.end))
    work = AsOfWindows(plan, ordered=True, starts=starts)
    needed = events.table.slice(part.begin, part.end - part.begin)
    for batch in needed.combine_chunks().to_batches():
        work.take(batch)
    names = [output.name for output in plan.outputs]
    found = blocks(work, part.moments.within(part.begin, part.end), work.count)
    return [pa.table(arrays, names=names) for arrays in found]


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
        Asked(moments.part(begin, end), *_reached(near, moments, begin, end))
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
