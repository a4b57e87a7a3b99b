"""Frames at moments: the window of a moment between rows, as a run of rows.

By time, a window is from t + start to t + end. By rows or by content, it is the window of the
last row before t: so `rows(50)` at t is the last 50 rows before t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine import bounds as passes
from sash.engine.bounds import Bounds
from sash.engine.calendars import periods
from sash.engine.columns import answers_as
from sash.engine.frames import End, ends_of
from sash.engine.moments import Moments, RankFinder
from sash.engine.row_windows import FrameAtWork
from sash.engine.rows import Rows
from sash.engine.tape import Tape
from sash.plan.reach import steps_of
from sash.windows.frames import (
    Calendar,
    Delta,
    Frame,
    Groups,
    Lifetime,
    Range,
    Session,
    Sliding,
    Until,
    length,
)
from sash.windows.frames import Rows as RowFrame

INT64 = np.dtype(np.int64)


class AsOfFrame:
    """A frame at the moments of a spine, over rows as they come; one class for each kind."""

    def __init__(self, frame: Frame, rows: Rows) -> None:
        self.frame, self.rows = frame, rows

    def take(self, columns: dict[str, pa.Array]) -> None:
        """Take the rows of a batch, which `rows` has taken."""

    def find(self, moments: Moments, ranks: np.ndarray) -> Bounds:
        """The windows of moments, given how many rows come before each."""
        lo, hi = self.ends(moments, ranks)
        if moments.known is not None:  # what has no time has no events
            lo, hi = (np.where(moments.known, end, moments.first) for end in (lo, hi))
        hi = np.maximum(lo, hi)
        if self.frame.most is not None:
            lo = np.maximum(lo, hi - self.frame.most)
        return Bounds.of(np.ascontiguousarray(lo), np.ascontiguousarray(hi))

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of windows; the upper one may come before the lower."""
        return moments.first, ranks  # of a Lifetime

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""


class ByTime(AsOfFrame):
    """Times from t + start to t + end."""

    def __init__(self, frame: Range, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._lower, self._upper = (
            _finder(end, rows.dtype) for end in ends_of(frame, rows.plan.unit)
        )
        spine = rows.query.spine
        with_moment = frame.closed in ("right", "both")
        at_moment = frame.following is not None and length(frame.following) == 0
        self._ends_at_rank = spine is not None and at_moment and with_moment == spine.with_moment

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper, time = self._lower, self._upper, self.rows.time
        lo = moments.first if lower is None else lower.find(time, moments)
        if self._ends_at_rank:  # found once for all such frames
            return lo, ranks
        return lo, moments.stop if upper is None else upper.find(time, moments)


def _finder(end: End, dtype: np.dtype) -> RankFinder | None:
    """Finds an end by its edge; None where the end is that of the key."""
    if end.fill in (passes.first_row, passes.last_row):
        return None
    past = end.fill is passes.after_peers or end.kind & passes.PAST != 0
    return RankFinder(dtype, end.reach, past)


class ByRows(AsOfFrame):
    """A number of rows before and after the last row before t."""

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = ends_of(self.frame, None)
        return self._end(lower, moments, ranks), self._end(upper, moments, ranks)

    def _end(self, end: End, moments: Moments, ranks: np.ndarray) -> np.ndarray:
        if end.fill is passes.first_row:
            return moments.first
        if end.fill is passes.last_row:
            return moments.stop
        return np.clip(ranks - 1 + end.reach, moments.first, moments.stop)


class ByGroups(AsOfFrame):
    """A number of groups before and after that of the last row before t."""

    def __init__(self, frame: Groups, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._finders = [_finder(end, INT64) for end in ends_of(frame, None)]

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        groups = self.rows.groups
        some = moments.first < moments.stop  # rows of the key
        before = ranks > moments.first
        row = np.where(before, ranks - 1, np.where(some, moments.first, groups.base))
        numbers = groups.values if len(groups) else groups.blank
        last = numbers[row - groups.base] - (some & ~before)
        at, (lower, upper) = moments.at(last), self._finders
        return (
            moments.first if lower is None else lower.find(groups, at),
            moments.stop if upper is None else upper.find(groups, at),
        )


class ByPeriod(AsOfFrame):
    """The calendar period that t is in, so far."""

    def __init__(self, frame: Calendar, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._calendar, self._periods = frame, Tape(np.int64)
        self._finder = RankFinder(INT64)

    def take(self, columns: dict[str, pa.Array]) -> None:
        self._periods.add(periods(columns[self.rows.query.time], self._calendar))

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kind = self.rows.plan.schema.field(self.rows.query.time).type
        known = True if moments.known is None else moments.known
        times = answers_as(np.where(known, moments.times, 0), None, kind)
        numbers = np.where(known, periods(times, self._calendar), passes.LEAST)
        return self._finder.find(self._periods, moments.at(numbers)), ranks

    def forget(self, row: int) -> None:
        self._periods.forget(row)


class BySlide(AsOfFrame):
    """The first to end of the windows that have t, so far."""

    def __init__(self, frame: Sliding, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._lower, _ = ends_of(frame, rows.plan.unit)
        self._finder = RankFinder(rows.dtype, 0, self._lower.kind & passes.PAST != 0)

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known = True if moments.known is None else moments.known
        t = np.where(known, moments.times, 0)
        size, slide, offset = self._lower.reach, self._lower.slide, self._lower.offset
        if self._lower.kind & passes.WITH_UPPER:
            edges = offset - (size - t + offset) // slide * slide
        else:
            edges = offset + ((t - offset - size) // slide + 1) * slide
        edges = np.where(known, edges, moments.times)
        return self._finder.find(self.rows.time, moments.at(edges)), ranks


class ByLastRow(AsOfFrame):
    """The window of the last row before t, where one pass over all rows finds windows."""

    def __init__(self, frame: Frame, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._of_rows, self._starts = FrameAtWork(frame, rows), Tape(np.int64)

    def take(self, columns: dict[str, pa.Array]) -> None:
        self._of_rows.take(columns)
        begin = self._starts.base + len(self._starts)
        found = self._of_rows.find(begin, self.rows.count)
        assert isinstance(found, Bounds)
        self._starts.add(found.lo.copy())

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(ranks > moments.first, self._start(ranks), ranks), ranks

    def _start(self, ranks: np.ndarray) -> np.ndarray:
        """Where the window of the last row before each moment begins, if there is such a row."""
        starts = self._starts
        if not len(starts):
            return ranks
        return starts.values[np.clip(ranks - 1 - starts.base, 0, len(starts) - 1)]

    def forget(self, row: int) -> None:
        self._of_rows.forget(row)
        self._starts.forget(row)


class BySession(ByLastRow):
    """The session that t is in, so far; there is none if the last row is longer ago than a gap."""

    def __init__(self, frame: Session, rows: Rows) -> None:
        super().__init__(frame, rows)
        self._finder = RankFinder(rows.dtype, -steps_of(frame.gap, rows.plan.unit))

    def ends(self, moments: Moments, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        goes_on = ranks > self._finder.find(self.rows.time, moments)
        return np.where(goes_on, self._start(ranks), ranks), ranks


KINDS: dict[type[Frame], Any] = {
    Range: ByTime, RowFrame: ByRows, Groups: ByGroups, Calendar: ByPeriod, Lifetime: AsOfFrame,
    Sliding: BySlide, Session: BySession, Delta: ByLastRow, Until: ByLastRow,
}  # fmt: skip


def as_of_frame(frame: Frame, rows: Rows) -> AsOfFrame:
    """A frame at the moments of a spine."""
    for kind, made in KINDS.items():
        if isinstance(frame, kind):
            return made(frame, rows)
    raise TypeError(f"{frame} has no window at a moment")
