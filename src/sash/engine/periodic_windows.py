"""Periodic windows: one answer per key and window, as Spark's window() gives, copying no row.

Windows are of one or several kinds, each with its size and slide; a key has those that have
rows of it. Rows are cut into slices, which all kinds share, and windows follow slices; states
that are not combined from parts, and windows of times that are not whole, follow rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.calendars import periods, starts
from sash.engine.columns import answers_as
from sash.engine.expressions import outputs
from sash.engine.periodic_bounds import ROOM, PeriodicFinder
from sash.engine.rows import Rows
from sash.engine.rows_by_number import ColumnBuffer
from sash.engine.slice_partials import SliceCombiner
from sash.engine.slicer import Slicer
from sash.engine.tape import Tape
from sash.plan.periodic import KIND
from sash.plan.plan import FramePlan, Plan
from sash.windows.frames import Calendar, Sliding, SlidingCalendar, SlidingRows


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
        self.query, self.plan = plan.query, plan
        self._rows = Rows(plan, ordered)
        self._keys = {n: ColumnBuffer(plan.schema.field(n).type) for n in plan.query.by}
        self._slicers = [Slicer(slices, self._rows) for slices in plan.slices]
        self._kinds = [
            KindAtWork(plan, frame, self._rows, self._slicers, after, upto) for frame in plan.frames
        ]

    @property
    def is_due(self) -> bool:
        """Whether windows that are asked for can end up to the last time that is asked for."""
        return any(kind.finder.is_due for kind in self._kinds)

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; give the windows that are complete."""
        if batch.num_rows:
            begin = self._rows.count
            columns = self._rows.take(batch)
            for name, column in self._keys.items():
                column.add(columns[name])
            for slicer in self._slicers:
                slicer.take(begin)
            for kind in self._kinds:
                kind.take(columns)
            yield from self._give(last=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more rows come: give the rest."""
        yield from self._give(last=True)

    def _give(self, last: bool) -> Iterator[pa.RecordBatch]:
        self._fold(last)
        for kind in self._kinds:
            for windows in kind.complete(last):
                yield self._batch(kind, *windows)
        self._forget()

    def _fold(self, last: bool) -> None:
        """Combine the rows of slices that are complete, once for all that read them."""
        for number, slicer in enumerate(self._slicers):
            slices = slicer.complete(last)
            if slices is not None:
                for condition, partials in self._rows.sliced(number):
                    partials.fold(self._rows.among(condition, slices))

    def _batch(
        self, kind: KindAtWork, items: Bounds, rows: Bounds, edges: list[pa.Array]
    ) -> pa.RecordBatch:
        n, none = len(rows.lo), np.zeros(len(rows.lo), np.bool_)
        columns = {name: column.at(rows.lo, none) for name, column in self._keys.items()}
        if KIND in self.query.window:
            columns[KIND] = pa.array([kind.name] * n, pa.string())
        columns |= dict(zip(("window_start", "window_end"), edges, strict=True))
        found = kind.answers(items, rows)
        for output in self.plan.outputs:
            found.setdefault(output.name, pa.nulls(n, output.type or pa.null()))
        answers = outputs(self.plan, columns, found)
        names = [*columns, *self.query.outputs]
        return pa.RecordBatch.from_arrays([*columns.values(), *answers], names=names)

    def _forget(self) -> None:
        """Forget what no later window of any kind reaches."""
        rows, oldest = self._rows, self._rows.count
        for slicer in self._slicers:
            kinds = [kind for kind in self._kinds if kind.items is slicer]
            done = min(kind.finder.at.key for kind in kinds)
            first = min(kind.finder.at.lo for kind in kinds)
            for kind in kinds:
                kind.finder.drop_keys(done)
            oldest = min(oldest, slicer.forget(first, done))
        by_row = [kind for kind in self._kinds if not isinstance(kind.items, Slicer)]
        oldest = min([oldest, *(kind.finder.at.lo for kind in by_row)])
        done = int(np.searchsorted(rows.keys, oldest, "right")) - 1
        done = min([max(0, done), *(kind.finder.at.key for kind in by_row)])
        for kind in by_row:
            kind.finder.drop_keys(done)
        rows.keys = rows.keys[done:].copy()
        for timed in (rows, *(kind.items for kind in by_row)):
            timed.time.forget(min(oldest, rows.count - 1))
        rows.forget(oldest, [oldest] * len(self.plan.frames))
        for number, slicer in enumerate(self._slicers):
            for _, partials in rows.sliced(number):
                partials.forget(slicer.time.base)
        for column in self._keys.values():
            column.forget(oldest)


class CalendarRows:
    """The rows with the numbers of the calendar periods that they are in as their times."""

    def __init__(self, rows: Rows, calendar: Calendar) -> None:
        self._rows, self._calendar = rows, calendar
        self.time = Tape(np.int64)

    @property
    def keys(self) -> np.ndarray:
        return self._rows.keys

    @property
    def count(self) -> int:
        return self._rows.count

    def take(self, times: pa.Array) -> None:
        """Take the times of a batch's rows."""
        self.time.add(periods(times, self._calendar))

    def moments(self, numbers: np.ndarray, kind: pa.DataType) -> pa.Array:
        """When periods begin, by their numbers."""
        return starts(numbers, self._calendar, kind)


def period_at(time: float | None, calendar: Calendar, kind: pa.DataType) -> int | None:
    """The number of the period that a moment is in, in steps of the time column's type."""
    if time is None:
        return None
    moment = answers_as(np.array([time], np.int64), None, kind)
    return int(periods(moment, calendar)[0])


class KindAtWork:
    """Windows of one kind: over slices or over rows, and the states that are kept for them."""

    def __init__(
        self,
        plan: Plan,
        frame: FramePlan,
        rows: Rows,
        slicers: list[Slicer],
        after: float | None,
        upto: float | None,
    ) -> None:
        kind = frame.frame
        assert isinstance(kind, Sliding | SlidingRows)
        self._plan, self._frame, self._rows, self._kind = plan, frame, rows, kind
        self.name = str(kind)
        if isinstance(kind, SlidingCalendar):
            column = plan.schema.field(plan.query.time).type
            after, upto = (period_at(t, kind.calendar, column) for t in (after, upto))
        self.finder = PeriodicFinder(kind, rows.dtype, plan.unit, after, upto)
        cut = [s.number for s in plan.slices if frame.number in s.frames]
        self.items: Slicer | Rows | CalendarRows = slicers[cut[0]] if cut else rows
        if isinstance(kind, SlidingCalendar):
            self.items = CalendarRows(rows, kind.calendar)

    def take(self, columns: dict[str, pa.Array]) -> None:
        """Take a batch's rows, where times are other than the clock's."""
        if isinstance(self.items, CalendarRows):
            self.items.take(columns[self._plan.query.time])

    def complete(self, last: bool) -> Iterator[tuple[Bounds, Bounds, list[pa.Array]]]:
        """Windows that are complete: as slices, as rows, and from when to when they are."""
        more = True
        while more:
            lo, hi, begins = self.finder.find(self.items, last)
            more = len(lo) == ROOM
            items = rows = Bounds.of(lo, hi)
            if isinstance(self.items, Slicer):
                rows = self.items.rows_of(lo, hi)
                if isinstance(self._kind, SlidingRows):
                    whole = rows.hi - self.items.key_row(lo) == begins + self._kind.size
                    items = Bounds.of(lo[whole], hi[whole])
                    rows = Bounds.of(rows.lo[whole], rows.hi[whole])
            if len(rows.lo):
                yield items, rows, self._edges(rows, begins)

    def _edges(self, rows: Bounds, begins: np.ndarray) -> list[pa.Array]:
        """Where windows start and end; by rows, the times of the first row and of the last."""
        edges: tuple[Any, Any] = (begins, begins + self.finder.at.size)
        if isinstance(self._kind, SlidingRows):
            times = self._rows.time
            edges = (times.values[rows.lo - times.base], times.values[rows.hi - 1 - times.base])
        kind = self._plan.schema.field(self._plan.query.time).type
        if isinstance(self.items, CalendarRows):
            return [self.items.moments(edge, kind) for edge in edges]
        return [answers_as(edge, None, kind) for edge in edges]

    def answers(self, items: Bounds, rows: Bounds) -> dict[str, pa.Array]:
        """The answers of the states of this kind, by the names of their columns."""
        found = {}
        for state in self._plan.over(self._frame):
            worker = self._rows.workers[state.number]
            sliced = isinstance(worker, SliceCombiner)
            bounds = items if sliced else self._rows.among(state.read_where, rows)
            answers = worker.answer(bounds)
            for output in self._plan.outputs:
                if output.state == state.number:
                    found[output.name] = answers[output.member]
        return found
