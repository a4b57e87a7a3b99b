"""Windows per row: record batches sorted by key and time in, the same rows with answers out.

Each frame finds the bounds of the rows that are ready (all of their window is at
hand), each worker answers for them, and the batch goes on with the answers added.
What is kept between batches is the windows' own rows and the rows that are not ready
yet, however many rows have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.calendars import periods
from sash.engine.columns import numbers
from sash.engine.exclusion import Block, EndExclusion, Exclusion, end_before, first_peer
from sash.engine.fixed import Room
from sash.engine.frames import Finder, ends_of, ready_rows
from sash.engine.null_times import without_times
from sash.engine.own_bounds import OwnBoundsAtWork
from sash.engine.periodic_windows import PeriodicWindows
from sash.engine.pieces import Pieces
from sash.engine.policies import ByPolicy, Run
from sash.engine.rows import Rows, held
from sash.engine.tape import Tape
from sash.engine.waiting import WaitingRows
from sash.plan.plan import Plan
from sash.plan.types import number_type, unit_of
from sash.windows.frames import Calendar, Delta, Frame, Groups, OwnBounds, Policy, Range, Until

BLOCK = 1 << 18
"""Rows that are worked on at a time: what they need stays in the processor's last cache, and the
Python around each block is about a hundredth of the work."""


class RowWindows:
    """A plan at work over batches: an answer per row."""

    def __init__(self, plan: Plan, ordered: bool = False, starts: np.ndarray | None = None) -> None:
        self.plan = plan
        self._rows = Rows(plan, ordered, starts)
        self._done = 0  # rows that went
        self._waiting = WaitingRows(plan)
        self._frames = [at_work(each.frame, self._rows) for each in plan.frames]

    def part(
        self, batch: pa.RecordBatch, begin: int, end: int, outputs: Mapping[str, Room]
    ) -> Iterator[pa.RecordBatch]:
        """The answers of rows `begin` to `end` - 1 of the only batch; its other rows are in
        windows of those. `outputs`: where columns of answers may be written.
        """
        columns = self._rows.take(batch)
        self._rows.write_to(outputs, end - begin)
        for frame in self._frames:
            frame.take(columns)
        self._waiting.add(batch.slice(begin, end - begin))
        self._waiting.write_to(outputs)
        self._done = begin
        while self._done < end:
            yield from self._give_block(min(end, self._done + BLOCK))

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; give the rows that are ready."""
        if batch.num_rows:
            columns = self._rows.take(batch)
            for frame in self._frames:
                frame.take(columns)
            self._waiting.add(batch)
            yield from self._give(last=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more rows come: give the rest."""
        yield from self._give(last=True)

    def _give(self, last: bool) -> Iterator[pa.RecordBatch]:
        end = self._ready(last)
        while self._done < end:
            yield from self._give_block(min(end, self._done + BLOCK))

    def _give_block(self, end: int) -> Iterator[pa.RecordBatch]:
        begin = self._done
        bounds = [frame.find(begin, end) for frame in self._frames]
        answers = self._rows.answers(bounds)
        self._done = end
        self._forget(bounds)
        yield from self._waiting.answered(answers, end - begin)

    def _ready(self, last: bool) -> int:
        rows = self._rows
        times = rows.time.values[self._done - rows.time.base :]
        last_key = max(0, int(rows.keys[-1]) - self._done) if len(rows.keys) else 0
        counts = [f.ready(times, last_key, last) for f in self._frames]
        return self._done + min(counts, default=len(times))

    def _forget(self, bounds: list[Bounds | Pieces | Run]) -> None:
        rows = self._rows
        first = [f.oldest(b, self._done) for f, b in zip(self._frames, bounds, strict=True)]
        oldest = min([*first, self._done - 1])  # a session looks one row back
        rows.time.forget(oldest)
        rows.groups.forget(oldest)
        rows.keys = rows.keys_from(self._done)
        for frame in self._frames:
            frame.forget(oldest)
        rows.forget(oldest, [min(row, self._done) for row in first])


class FrameAtWork:
    """A frame's finder, and the column that it reads besides the time."""

    def __init__(self, frame: Frame, rows: Rows) -> None:
        self._frame, self._rows = frame, rows
        self._content: Tape | None = None
        self._flags: Tape | None = None
        dtype, unit = rows.dtype, rows.plan.unit
        if isinstance(frame, Delta):
            kind = rows.plan.schema.field(frame.column).type
            number = number_type(kind)
            dtype = np.dtype(np.float64 if number is not None and number.kind == "f" else np.int64)
            unit = unit_of(kind)
            self._content, self._flags = Tape(dtype), Tape(np.int8)
        elif isinstance(frame, Until):
            self._flags = Tape(np.int8)
        elif isinstance(frame, Groups):
            dtype, self._content = np.dtype(np.int64), rows.groups
        elif isinstance(frame, Calendar):
            self._to_peers = Finder(Range(0, 0), dtype, unit)
            dtype, self._content = np.dtype(np.int64), Tape(np.int64)
        self._peers = rows.groups if rows.query.ties else rows.time
        self._exclusion: Exclusion | None = None
        self._rest: EndExclusion | None = None
        self._begun = False
        self._finder = None if isinstance(frame, Policy) else self._finder_of(dtype, unit)

    def _finder_of(self, dtype: np.dtype, unit: int | None) -> Finder:
        """What finds the frame's windows; where they end before the rows that the frame leaves
        out, what finds the rest of them."""
        frame = self._frame
        if frame.exclude is None:
            return Finder(frame, dtype, unit)
        ties = bool(self._rows.query.ties)
        upper = end_before(frame, ends_of(frame, unit)[1], ties)
        if upper is None:
            self._exclusion = Exclusion(frame, self._peers.values.dtype, ties)
        else:
            self._rest = EndExclusion(frame, dtype)
        return Finder(frame, dtype, unit, upper)

    def take(self, columns: dict[str, pa.Array]) -> None:
        if isinstance(self._frame, Delta):
            assert self._content is not None
            column = columns[self._frame.column]
            if column.null_count:
                raise ValueError(
                    f"delta: the column {self._frame.column!r} has {column.null_count} null(s), "
                    "which are near to nothing: drop those rows, or fill them"
                )
            self._content.add(numbers(column))
        if isinstance(self._frame, Calendar):
            assert self._content is not None
            self._content.add(periods(columns[self._rows.query.time], self._frame))
        if self._flags is not None:
            self._flags.add(marks_of(self._frame, columns))

    def ready(self, times: np.ndarray, last_key: int, last: bool) -> int:
        if self._finder is None:
            return len(times)
        if isinstance(self._frame, Groups):
            times = self._rows.groups.values[-len(times) :] if len(times) else times
        return ready_rows(self._frame, self._finder.reach, times, last_key, last)

    def find(self, begin: int, end: int) -> Bounds | Pieces | Run:
        if self._finder is None:
            return Run(begin, end, self._rows.keys_from(begin), np.array([end]))
        time = self._rows.time if self._content is None else self._content
        flags = self._flags
        ends = None if flags is None else flags.values[begin - flags.base :]
        keys, count = self._rows.keys_from(begin), self._rows.count
        if self._rest is not None:
            return self._before_excluded(begin, end, time, keys)
        found = self._finder.find(time, keys, ends, begin, end, count)
        if isinstance(self._frame, Calendar):
            peers = self._to_peers.find(self._rows.time, keys, None, begin, end, count)
            found = Bounds.of(found.lo, peers.hi)
        if isinstance(self._frame, Range) and self._rows.null_times:
            found = without_times(self._frame, found, self._rows, begin)
        found = self._fewer(found, begin)
        if self._exclusion is None:
            return found
        return self._exclusion.cut(Block(found, begin, keys, count), self._peers)

    def _before_excluded(
        self, begin: int, end: int, time: Tape, keys: np.ndarray
    ) -> Bounds | Pieces:
        """Windows that end before the rows that the frame leaves out, and the rest of them.

        Rows without a time are like others here: they have one time, the first or the last.
        """
        assert self._finder is not None
        assert self._rest is not None
        if not self._begun:  # maybe in the middle of peers, where other rows are another's part
            self._finder.end_at(first_peer(time, int(keys[0]), begin))
            self._begun = True
        count = self._rows.count
        found = self._finder.find(time, keys, None, begin, end, count)
        return self._rest.with_rest(Block(found, begin, keys, count), time)

    def _fewer(self, bounds: Bounds, begin: int) -> Bounds:
        """The windows without peers after the row, or without the oldest rows of too many."""
        frame = self._frame
        if frame.peers and frame.most is None:
            return bounds
        lo, hi = bounds.lo, bounds.hi
        if not frame.peers:
            hi = np.maximum(lo, np.minimum(hi, np.arange(begin, begin + len(hi)) + 1))
        if frame.most is not None:
            lo = np.maximum(lo, hi - frame.most)
        return Bounds.of(lo, hi)

    def oldest(self, bounds: Bounds | Pieces | Run, done: int) -> int:
        """The first row that the last window has; no later one reaches rows before it."""
        return int((bounds.ends[0] if isinstance(bounds, Bounds) else bounds.lo)[-1])

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""
        own = None if isinstance(self._frame, Groups) else self._content
        for tape in (own, self._flags):
            if tape is not None:
                tape.forget(row)


def at_work(frame: Frame, rows: Rows) -> FrameAtWork | OwnBoundsAtWork:
    """The object that finds the windows of a frame."""
    if isinstance(frame, OwnBounds):
        return OwnBoundsAtWork(frame, rows)
    return FrameAtWork(frame, rows)


def marks_of(frame: Frame, columns: dict[str, pa.Array]) -> np.ndarray:
    """For a Delta whether a row was held, for an Until whether it ends a window."""
    if not isinstance(frame, Until):
        return held(columns).astype(np.int8)
    assert frame.column is not None
    column = columns[frame.column]
    if frame.predicate is None:
        return np.asarray(pc.fill_null(column, False)).astype(np.int8)
    return np.array([bool(frame.predicate(x)) for x in column.to_pylist()], np.int8)


def bounds_of(
    plan: Plan, table: pa.Table
) -> tuple[Rows, list[Bounds | Pieces | Run], dict[str, pa.Array]]:
    """The rows of a table, sorted by key and time, the bounds of each frame, and the columns."""
    rows, columns = Rows(plan, ordered=True), {}
    frames = [at_work(each.frame, rows) for each in plan.frames]
    for batch in table.combine_chunks().to_batches():
        columns = rows.take(batch)
        for frame in frames:
            frame.take(columns)
    return rows, [frame.find(0, table.num_rows) for frame in frames], columns


def first_reached(plan: Plan, table: pa.Table) -> np.ndarray:
    """The first row that any window of each row has, in rows sorted by key and time."""
    first = np.arange(table.num_rows)
    rows, found, _ = bounds_of(plan, table)
    for state, worker in zip(plan.states, rows.workers, strict=True):
        bounds = found[state.frame]
        if isinstance(bounds, Run):  # only the window itself knows
            assert isinstance(worker, ByPolicy)
            worker.answer(bounds)
            first = np.minimum(first, worker.first)
        else:
            first = np.minimum(first, bounds.lo)
    return first


def run(plan: Plan, batches: Iterable[pa.RecordBatch], ordered: bool = False) -> Iterator[Any]:
    """The plan over batches sorted by key and time, which is checked unless known: `ordered`."""
    every = plan.query.every is not None
    work: RowWindows | PeriodicWindows = (PeriodicWindows if every else RowWindows)(plan, ordered)
    for batch in batches:
        yield from work.feed(batch)
    yield from work.finish()
