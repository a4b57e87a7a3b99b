"""Periodic bounds: the windows of one size and slide that are complete, as runs of rows.

What is a row here has a time and a key: a row of the input, or a slice, whose time is where it
begins. Both ends of windows only move on, within a key from one window to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from sash.engine.bounds import advance
from sash.engine.frames import time_target
from sash.engine.tape import Tape
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, Partial, Partials, attach, get
from sash.plan.reach import steps_of
from sash.windows.frames import Sliding, SlidingCalendar, SlidingRows

ROOM = 1 << 16
"""Windows that are answered at a time."""

FIRST, FURTHEST = -(1 << 62), (1 << 63) - 1
OPEN_BELOW, CLOSED_ABOVE = 1, 2


class Columns(NamedTuple):
    """The columns that a pass reads and writes."""

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
    ends: int = 0  # which ends are other than [start, end)


def stop_of(q: Any, key: int, keys: int, available: int) -> int:
    """The row after the last of a key that is there."""
    return q.keys[key + 1] if key + 1 < keys else available


def windows(memory: Memory, at: At, available: int, keys: int, last: int, room: int) -> Any:
    """The bounds of the next windows that are complete, at most `room`; and how many."""
    q = attach(memory)
    key, number, lo, hi, least, size, slide, offset, upto, fill, ends = at
    opened, closed = ends & OPEN_BELOW != 0, ends & CLOSED_ABOVE != 0
    n = 0
    while key < keys:
        first, stop = q.keys[key], stop_of(q, key, keys, available)
        goes_on = key + 1 == keys and not last
        lo, hi = max(lo, first), max(hi, first)
        while lo < stop:
            first_number = first_with(get(q.time, lo), size, slide, offset, closed)
            apart = opened and not closed  # a row where one window ends and the next begins
            if apart and before(get(q.time, lo), offset + first_number * slide, True):
                lo += 1
                hi = max(lo, hi)
                continue
            if not fill or number == FIRST:
                number = max(number, first_number, least)
            start = offset + number * slide
            if before(get(q.time, lo), start, opened):
                lo = advance(q, lo, stop, start, opened)
                continue
            if start + size > upto:
                lo = stop
                break
            if n == room or (goes_on and before(get(q.time, stop - 1), start + size, closed)):
                return At(key, number, lo, hi, least, size, slide, offset, upto, fill, ends), n
            hi = advance(q, hi, stop, start + size, closed)
            q.lo[n], q.hi[n], q.number[n] = lo, hi, number
            n += 1
            number += 1
            lo = advance(q, lo, stop, start + slide, opened)
        if goes_on:
            break
        key += 1
        number = FIRST
    return At(key, number, lo, hi, least, size, slide, offset, upto, fill, ends), n


def first_with(t: Any, size: Any, slide: Any, offset: Any, closed: bool) -> int:
    """The number of the first window that does not end before a time."""
    if closed:
        return -int((offset + size - t) // slide)
    return int((t - offset - size) // slide) + 1


def before(t: Any, edge: Any, past: bool) -> bool:
    """Whether a time is before an edge, or at it where rows at the edge are on this side."""
    return t <= edge if past else t < edge


class Timed(Protocol):
    """Rows or slices: their times, the first one of each key that is not done, how many came."""

    time: Tape

    @property
    def keys(self) -> np.ndarray: ...

    @property
    def count(self) -> int: ...


class PeriodicFinder:
    """Finds the windows of one kind over rows or slices of many keys; keeps its place."""

    def __init__(
        self,
        kind: Sliding | SlidingRows,
        dtype: np.dtype,
        unit: int | None,
        after: float | None = None,
        upto: float | None = None,
    ) -> None:
        """`after`, `upto`: only windows that end after the first time, and up to the second."""
        ends = fill = 0
        if isinstance(kind, SlidingRows):
            size, slide, offset = kind.size, kind.slide, -kind.size
        else:
            size, slide, offset = (steps_of(b, unit) for b in (kind.size, kind.slide, kind.offset))
            ends = OPEN_BELOW * (kind.closed in ("right", "neither"))
            ends |= CLOSED_ABOVE * (kind.closed in ("right", "both"))
            fill = int(kind.fill)
        if isinstance(kind, SlidingRows | SlidingCalendar):
            dtype = np.dtype(np.int64)
        least = FIRST if after is None else int((after - size - offset) // slide) + 1
        last: Any = FURTHEST if upto is None else upto
        size, slide, offset, last = (dtype.type(x) for x in (size, slide, offset, last))
        self.at = At(0, FIRST, 0, 0, least, size, slide, offset, last, fill, ends)
        self._run = compiled(windows, time_target(dtype, At, Columns)).run

    @property
    def is_due(self) -> bool:
        """Whether the first window that is asked for ends up to the last time asked for."""
        at = self.at
        return at.least == FIRST or at.offset + at.least * at.slide + at.size <= at.upto

    def find(self, rows: Timed, last: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The next windows that are complete: their rows lo to hi - 1, and their starts."""
        lo, hi, number = (np.empty(ROOM, np.int64) for _ in range(3))
        memory = (
            rows.time.address, -1, rows.keys.ctypes.data, 0, lo.ctypes.data, 0,
            hi.ctypes.data, 0, number.ctypes.data, 0, 0,
        )  # fmt: skip
        self.at, n = self._run(memory, self.at, rows.count, len(rows.keys), last, ROOM)
        return lo[:n], hi[:n], self.at.offset + number[:n] * self.at.slide

    def drop_keys(self, keys: int) -> None:
        """The first keys are done, and removed: this many."""
        self.at = self.at._replace(key=self.at.key - keys)
