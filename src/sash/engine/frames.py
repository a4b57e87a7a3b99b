"""Frames at work: how a frame's bounds are found, and which rows are ready."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.engine import bounds as passes
from sash.engine.tape import Tape
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid, same
from sash.plan.reach import steps_of
from sash.windows.frames import (
    Bound,
    Delta,
    Frame,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    Until,
)


class Pass(NamedTuple):
    """A compiled pass over rows, and the constants it takes."""

    driver: Callable[..., Any]
    before: Any
    after: Any
    offset: Any = 0
    kind: int = 0


def as_pass(frame: Frame, unit: int | None) -> Pass:
    """How to find a frame's bounds, in steps of `unit` nanoseconds if the time is a time."""

    def steps(bound: Bound | None) -> Any:
        return steps_of(bound, unit)

    if isinstance(frame, Rows):
        kind = passes.BOUNDED_BELOW * (frame.preceding is not None)
        kind |= passes.BOUNDED_ABOVE * (frame.following is not None)
        return Pass(passes.rows, frame.preceding or 0, frame.following or 0, kind=kind)
    if isinstance(frame, Lifetime):
        kind = passes.BOUNDED_ABOVE | passes.WITH_UPPER
        return Pass(passes.times, 0, 0, kind=kind)
    if isinstance(frame, Range):
        kind = passes.BOUNDED_BELOW * (frame.preceding is not None)
        kind |= passes.BOUNDED_ABOVE * (frame.following is not None) | _closed(frame.closed)
        return Pass(passes.times, steps(frame.preceding), steps(frame.following), kind=kind)
    if isinstance(frame, Session):
        return Pass(passes.sessions, steps(frame.gap), 0)
    if isinstance(frame, Sliding):
        size, slide, offset = (steps(b) for b in (frame.size, frame.slide, frame.offset))
        return Pass(passes.slides, size, slide, offset, _closed(frame.closed))
    if isinstance(frame, Delta):
        return Pass(passes.deltas, steps(frame.d), 0)
    if isinstance(frame, Until):
        return Pass(passes.untils, 0, 0)
    raise TypeError(f"{frame} has no bounds before its rows are combined")


def _closed(closed: str) -> int:
    lower = passes.WITH_LOWER * (closed in ("both", "left"))
    return lower | passes.WITH_UPPER * (closed in ("both", "right"))


class Finder:
    """Finds the bounds of one frame, row by row, over many keys; keeps its place."""

    def __init__(self, frame: Frame, dtype: np.dtype, unit: int | None) -> None:
        self.frame = frame
        self._pass = as_pass(frame, unit)
        kind = np.dtype(np.int64) if isinstance(frame, Rows | Until) else dtype
        self._kind = self._pass.kind | passes.INTEGERS * (kind.kind == "i")
        reach = (self._pass.before, self._pass.after, self._pass.offset)
        self._at = passes.At(0, 0, 0, 0, *(kind.type(r) for r in reach))
        self._lo = self._hi = np.empty(0, np.int64)
        self._run = compiled(self._pass.driver, time_target(kind, passes.At, passes.Store)).run

    def find(
        self, time: Tape, keys: np.ndarray, ends: np.ndarray | None, begin: int, end: int, stop: int
    ) -> passes.Bounds:
        """The bounds of rows `begin` to `end` - 1 of those up to `stop` that are at hand.

        `keys`: the first row of each key, from that of row `begin` on; `ends`, from row
        `begin` on: whether a row ends a window. They are good until the next call.
        """
        n = end - begin
        edges = _keys_before(keys, end, stop)
        if n > len(self._lo):
            self._lo, self._hi = np.empty(n, np.int64), np.empty(n, np.int64)
        lo, hi = self._lo[:n], self._hi[:n]
        flags = 0 if ends is None else ends.ctypes.data
        memory = (
            time.address, -1, edges.ctypes.data, 0, flags, 0,
            lo.ctypes.data, 0, hi.ctypes.data, 0, 0,
        )  # fmt: skip
        self._at = self._run(memory, self._at, begin, end, len(edges) - 1, self._kind)
        return passes.Bounds(lo, hi, self._at.longest, self._at.shortest)

    @property
    def reach(self) -> Pass:
        """How far the frame reaches."""
        return self._pass

    def begin_at(self, row: int) -> None:
        """Begin with the key whose first row is `row`."""
        self._at = self._at._replace(lo=row, hi=row)


def _keys_before(keys: np.ndarray, end: int, stop: int) -> np.ndarray:
    """The first rows of the keys that begin before row `end`, and the row after the last key's.

    Keys that begin later are not a pass's concern: its pointers would move on to them.
    """
    count = int(np.searchsorted(keys, end, "left"))
    return keys[: count + 1] if count < len(keys) else np.append(keys, stop)


def time_target(dtype: np.dtype, cursors: type, store: type) -> Target:
    """What a pass over times of `dtype` is compiled for: nothing is combined."""
    times = Monoid("times", dtype.type(0).item(), same, max, dtype=dtype)
    return Target(times, Layout(dtype), {}, cursors, store)


def ready_rows(frame: Frame, reach: Pass, times: np.ndarray, last_key: int, last: bool) -> int:
    """How many of the rows at hand have all of their window at hand.

    `last_key`: where the rows of the last key begin; whether it goes on is not known
    unless it is the `last`.
    """
    n = len(times)
    if last or n == 0:
        return n
    if isinstance(frame, Rows):
        if frame.following is None:
            return last_key
        return max(last_key, n - max(0, frame.following))
    if frame.by == "content":
        return n
    if isinstance(frame, Range) and frame.following is None:
        return last_key
    after = reach.after if isinstance(frame, Range) else 0
    return _before_edge(times, last_key, max(after, 0))


def _before_edge(times: np.ndarray, last_key: int, after: Any) -> int:
    """The first row of the last key whose window may get more rows: those of the youngest
    time and later. An edge is computed as a pass does, so that rounding makes no difference.
    """
    exact = times.dtype.kind != "f"
    by = int(after) if exact else times.dtype.type(after)

    def edge(row: int) -> Any:
        return int(times[row]) + by if exact else times[row] + by

    rows = range(len(times))
    return bisect.bisect_left(rows, times[-1], last_key, key=edge)
