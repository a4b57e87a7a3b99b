"""Slides: one answer a key and window, as Spark's window() gives, without copying a row.

Windows are [start, start + size), one every slide, for each key those that have rows.
Both ends of a window only move on, so a first-in-first-out window follows them: each
row goes in once and comes out once, in however many windows it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds, advance
from sash.engine.calendars import periods, starts
from sash.engine.columns import answers_as
from sash.engine.expressions import outputs
from sash.engine.frames import time_target
from sash.engine.rows import Rows
from sash.engine.tape import Tape
from sash.engine.workers import ColumnBuffer
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Partial, Partials, attach, get
from sash.plan.definition import WINDOW
from sash.plan.plan import Plan
from sash.plan.reach import steps_of
from sash.windows.frames import SlidingCalendar

ROOM = 1 << 16
"""Windows that are answered at a time."""


class Store(NamedTuple):
    """What a pass reads and writes."""

    time: Partials
    keys: Int64
    lo: Int64
    hi: Int64
    number: Int64  # of a window: it starts at offset + number * slide
    held: int


class At(NamedTuple):
    """The next window: of which key, its number, and its rows so far."""

    key: int
    number: int
    lo: int
    hi: int
    least: int  # the number of the first window that is asked for
    size: Partial
    slide: Partial
    offset: Partial
    upto: Partial  # the end of the last one
    fill: int = 0  # whether windows without rows are given, from a key's first to its last


FIRST, FURTHEST = -(1 << 62), (1 << 63) - 1


def stop_of(q: Any, key: int, keys: int, available: int) -> int:
    """The row after the last of a key that is there."""
    return q.keys[key + 1] if key + 1 < keys else available


def windows(memory: Any, at: At, available: int, keys: int, last: int, room: int) -> Any:
    """The bounds of the next windows that are complete, at most `room`; and how many."""
    q = attach(memory)
    key, number, lo, hi, least, size, slide, offset, upto, fill = at
    n = 0
    while key < keys:
        first, stop = q.keys[key], stop_of(q, key, keys, available)
        goes_on = key + 1 == keys and not last
        lo, hi = max(lo, first), max(hi, first)
        while lo < stop:
            first_with = int((get(q.time, lo) - offset - size) // slide) + 1
            if not fill or number == FIRST:
                number = max(number, first_with, least)
            start = offset + number * slide
            if get(q.time, lo) < start:
                lo = advance(q, lo, stop, start, False)
                continue
            if start + size > upto:
                lo = stop
                break
            if n == room or (goes_on and get(q.time, stop - 1) < start + size):
                return At(key, number, lo, hi, least, size, slide, offset, upto, fill), n
            hi = advance(q, hi, stop, start + size, False)
            q.lo[n], q.hi[n], q.number[n] = lo, hi, number
            n += 1
            number += 1
            lo = advance(q, lo, stop, start + slide, False)
        if goes_on:
            break
        key += 1
        number = FIRST
    return At(key, number, lo, hi, least, size, slide, offset, upto, fill), n


class PeriodicWindows:
    """A plan with `every` at work over batches: an answer per key and window."""

    def __init__(
        self,
        plan: Plan,
        ordered: bool = False,
        after: float | None = None,
        upto: float | None = None,
    ) -> None:
        """`after`, `upto`: only windows that end after the first time, and up to the second."""
        query, schema = plan.query, plan.schema
        assert query.every is not None
        self.query, self.plan = query, plan
        self._rows = Rows(plan, ordered)
        self._shelves = {name: ColumnBuffer(schema.field(name).type) for name in query.by}
        self._kind = schema.field(query.time).type
        every = query.every
        self._calendar = every.calendar if isinstance(every, SlidingCalendar) else None
        self._time = self._rows.time if self._calendar is None else Tape(np.int64)
        dtype = self._rows.dtype if self._calendar is None else np.dtype(np.int64)
        given = (steps_of(b, plan.unit) for b in (every.size, every.slide, every.offset))
        size, slide, offset = given
        least = FIRST if after is None else int((after - size - offset) // slide) + 1
        last: Any = FURTHEST if upto is None else upto
        size, slide, offset, last = (dtype.type(x) for x in (size, slide, offset, last))
        self._at = At(0, FIRST, 0, 0, least, size, slide, offset, last, int(every.fill))
        self._run = compiled(windows, time_target(dtype, At, Store)).run

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; give the windows that are complete."""
        if batch.num_rows:
            columns = self._rows.take(batch)
            if self._calendar is not None:
                self._time.add(periods(columns[self.query.time], self._calendar))
            for name, shelf in self._shelves.items():
                shelf.add(columns[name])
            yield from self._give(last=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more rows come: give the rest."""
        yield from self._give(last=True)

    def _give(self, last: bool) -> Iterator[pa.RecordBatch]:
        found = True
        while found:
            lo, hi, number = (np.empty(ROOM, np.int64) for _ in range(3))
            rows = self._rows
            memory = (
                self._time.address, -1, rows.keys.ctypes.data, 0, lo.ctypes.data, 0,
                hi.ctypes.data, 0, number.ctypes.data, 0, 0,
            )  # fmt: skip
            self._at, n = self._run(memory, self._at, rows.count, len(rows.keys), last, ROOM)
            found = n == ROOM
            if n:
                yield self._batch(lo[:n], hi[:n], number[:n])
            self._forget()

    def _batch(self, lo: np.ndarray, hi: np.ndarray, number: np.ndarray) -> pa.RecordBatch:
        none, bounds = np.zeros(len(lo), np.bool_), Bounds.of(lo, hi)
        begins = self._at.offset + number * self._at.slide
        columns = [shelf.at(lo, none) for shelf in self._shelves.values()]
        columns += [self._moment(edge) for edge in (begins, begins + self._at.size)]
        names = [*self.query.by, *WINDOW]
        answers = self._rows.answers([bounds])
        found = dict(zip((output.name for output in self.plan.outputs), answers, strict=True))
        columns += outputs(self.plan, dict(zip(names, columns, strict=True)), found)
        names += self.query.outputs
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _moment(self, edges: np.ndarray) -> pa.Array:
        """Edges of windows as times."""
        if self._calendar is None:
            return answers_as(edges, None, self._kind)
        return starts(edges, self._calendar, self._kind)

    def _forget(self) -> None:
        rows, at = self._rows, self._at
        for tape in (rows.time, self._time):
            tape.forget(min(at.lo, rows.count - 1))
        rows.keys = rows.keys[at.key :].copy()
        self._at = at._replace(key=0)
        rows.forget(at.lo, [at.lo] * len(self.plan.frames))
        for shelf in self._shelves.values():
            shelf.forget(at.lo)
