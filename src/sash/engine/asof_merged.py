"""Events and spine rows merged in one order of key and time: spine rows with answers out.

An event comes before a spine row of its time, so that all events up to a spine row's time are
at hand when it comes. Events that windows reach are kept, and so are spine rows whose windows go
on after them.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.asof_windows import AsOfWindows, blocks
from sash.engine.bounds import FURTHEST
from sash.engine.columns import one_array
from sash.engine.moments import Moments
from sash.engine.order import ticks
from sash.engine.parts import moved
from sash.engine.row_windows import BLOCK
from sash.engine.rows import KeyStarts
from sash.engine.waiting import WaitingRows
from sash.plan.plan import Plan
from sash.plan.reach import reach_of


class Merged(NamedTuple):
    """Rows in order of key and time: the events and the spine's rows among them, and which of
    all rows are the spine's; `keys` are those of all rows."""

    events: pa.RecordBatch
    spine: pa.RecordBatch
    is_spine: np.ndarray
    keys: list[pa.Array]


class MergedWindows:
    """A plan with a spine at work over merged rows."""

    def __init__(self, plan: Plan) -> None:
        assert plan.query.spine is not None
        self.plan, self._spine = plan, plan.query.spine
        self._work, self._starts = AsOfWindows(plan), KeyStarts()
        reach = reach_of(plan.query, plan.schema)
        self._ahead = reach.ahead if reach.rows_ahead == 0 else None
        self._first = 0  # the first event of the last key
        self._moved = 0  # events that windows have moved over
        self._waiting = WaitingRows(plan)
        self._moments = self._none()

    def feed(self, rows: Merged) -> Iterator[pa.RecordBatch]:
        """Take merged rows; give the spine's rows that are ready."""
        if len(rows.is_spine) == 0:
            return
        moments = self._asked(rows)
        self._work.take(rows.events)
        if rows.spine.num_rows:
            self._waiting.add(rows.spine)
            self._moments = _joined(self._moments, moments)
        yield from self._give(self._ready())
        self._move_on()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more rows come: give the rest."""
        yield from self._give(len(self._moments))

    def _asked(self, rows: Merged) -> Moments:
        """The moments of the spine's rows, and the events of each one's key so far."""
        n = len(rows.is_spine)
        begins = self._starts.find(rows.keys, n)
        events_before = np.concatenate([[0], np.cumsum(~rows.is_spine)]) + self._work.count
        edges = events_before[begins]  # the first event of each key that begins here
        if len(begins):  # the key before has no more
            done = self._moments.stop == FURTHEST
            self._moments.stop[done] = edges[0]
        key = np.searchsorted(begins, np.flatnonzero(rows.is_spine), "right")
        first = np.concatenate([[self._first], edges])[key]
        stop = np.concatenate([edges, [FURTHEST]])[key]
        self._first = int(edges[-1]) if len(begins) else self._first
        column = one_array(rows.spine.column(self._spine.time))
        times = ticks(column, self._spine.time, nulls=True)
        known = np.asarray(column.is_valid())
        return Moments(times.astype(self._moments.times.dtype, copy=False), first, stop, known)

    def _ready(self) -> int:
        """How many moments have all events of their windows in memory."""
        moments = self._moments
        done = int(np.searchsorted(moments.stop, FURTHEST))
        if self._ahead == 0:
            return len(moments)
        if self._ahead is None or done == len(moments):
            return done
        now = self._work.newest if self._work.count > self._first else moments.times[-1]
        latest, ahead = max(now, moments.times[-1]), self._ahead

        def end(row: int) -> Any:
            return moved(moments.times[row], ahead)

        return bisect.bisect_left(range(len(moments)), latest, done, key=end)

    def _give(self, count: int) -> Iterator[pa.RecordBatch]:
        """The first `count` waiting rows of the spine, with answers."""
        ready, self._moments = self._moments.part(0, count), self._moments.part(count, None)
        ready = ready.within(0, self._work.count)
        for answers in blocks(self._work, ready, self._work.count - self._moved):
            yield from self._waiting.answered(answers, len(answers[0]))
        self._moved = self._work.count if count else self._moved

    def _move_on(self) -> None:
        """Move windows over events that no row of the spine asks for, and forget the oldest."""
        count = self._work.count
        if len(self._moments) or count - self._moved < BLOCK or count == self._first:
            return
        first, stop = np.array([self._first]), np.array([count])
        self._work.answer(Moments(np.array([self._work.newest]), first, stop))
        self._moved = count

    def _none(self) -> Moments:
        none = np.empty(0, np.int64)
        return Moments(np.empty(0, self._work.dtype), none, none, np.empty(0, np.bool_))


def _joined(a: Moments, b: Moments) -> Moments:
    """Moments, and those that come after them."""
    assert a.known is not None
    assert b.known is not None
    pairs = ((a.times, b.times), (a.first, b.first), (a.stop, b.stop), (a.known, b.known))
    return Moments(*(np.concatenate(pair) for pair in pairs))


def run(plan: Plan, batches: Iterable[Merged]) -> Iterator[pa.RecordBatch]:
    """The plan over merged rows."""
    work = MergedWindows(plan)
    for batch in batches:
        yield from work.feed(batch)
    yield from work.finish()
