"""Frames at work: how a frame's bounds are found, and which rows are ready."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sash.engine import bounds as passes
from sash.engine import lengths
from sash.engine.tape import Tape
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid, same
from sash.plan.reach import steps_of
from sash.windows.frames import (
    Bound,
    Calendar,
    Delta,
    Frame,
    Groups,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    Until,
)


class End(NamedTuple):
    """How one end of a frame's windows is found: a `fill` of bounds.py and what it takes."""

    fill: Callable[..., Any]
    reach: Any = 0
    kind: int = 0
    slide: Any = 0
    offset: Any = 0


FIRST, LAST, PEERS = End(passes.first_row), End(passes.last_row), End(passes.after_peers)
ITSELF = End(passes.rows_away, 1)
UNTIMED = (passes.first_row, passes.last_row, passes.rows_away, passes.until_starts)
"""Ends that are found without a look at the time."""

MOST_ROWS = 1 << 62


def ends_of(frame: Frame, unit: int | None) -> tuple[End, End]:
    """How a frame's lower and upper ends are found, in steps of `unit` nanoseconds if the
    time is a time."""

    def steps(bound: Bound | None) -> Any:
        return steps_of(bound, unit)

    if isinstance(frame, Rows):
        return _row_ends(frame)
    if isinstance(frame, Groups):  # over the numbers of groups
        return ends_of(Range(frame.preceding, frame.following), None)
    if isinstance(frame, Calendar):  # over the numbers of periods
        return ends_of(Range(0, 0), None)
    if isinstance(frame, Lifetime):
        return FIRST, PEERS
    if isinstance(frame, Range):
        below, above = frame.closed in ("both", "left"), frame.closed in ("both", "right")
        before, after = steps(frame.preceding), steps(frame.following)
        lower = End(passes.edges, -before, 0 if below else passes.PAST)
        upper = End(passes.edges, after, passes.PAST if above else 0)
        if above and after == 0:
            upper = PEERS
        return (
            FIRST if frame.preceding is None else lower,
            LAST if frame.following is None else upper,
        )
    if isinstance(frame, Session):
        return End(passes.session_starts, steps(frame.gap)), PEERS
    if isinstance(frame, Sliding):
        size, slide, offset = (steps(b) for b in (frame.size, frame.slide, frame.offset))
        kind = passes.PAST * (frame.closed not in ("both", "left"))
        kind |= passes.WITH_UPPER * (frame.closed in ("both", "right"))
        return End(passes.slide_starts, size, kind, slide, offset), PEERS
    if isinstance(frame, Delta):
        return End(passes.delta_starts, steps(frame.d)), ITSELF
    if isinstance(frame, Until):
        return End(passes.until_starts), ITSELF
    raise TypeError(f"{frame} has no bounds before its rows are combined")


def _row_ends(frame: Rows) -> tuple[End, End]:
    lower, upper = FIRST, LAST
    if frame.preceding is not None:
        lower = End(passes.rows_away, -min(frame.preceding, MOST_ROWS))
    if frame.following is not None:
        upper = End(passes.rows_away, min(frame.following, MOST_ROWS) + 1)
    return lower, upper


@functools.cache
def end_pass(fill: Callable[..., Any], dtype: np.dtype) -> Any:
    """The compiled pass that finds ends by `fill`, over times of `dtype`."""
    target = time_target(dtype, passes.At, passes.Columns, {passes.fill: fill})
    return compiled(passes.find, target).run


@functools.cache
def measuring() -> Any:
    """The compiled pass that measures windows."""
    target = time_target(np.dtype(np.int64), lengths.Lengths, lengths.Ends)
    return compiled(lengths.measure, target).run


def measured(lo: np.ndarray, hi: np.ndarray, even: bool = False) -> passes.Bounds:
    """Bounds whose ends have been found, and only grow; one that ends before it begins is changed
    to be empty."""
    memory = (lo.ctypes.data, 0, hi.ctypes.data, 0, 0)
    longest, shortest = measuring()(memory, lengths.Lengths(0, 0), len(lo))
    found = passes.Bounds(lo, hi, longest, shortest, even)
    found.grow = True
    return found


class EndFinder:
    """Finds one end of a frame's windows, over many keys; keeps its place."""

    def __init__(self, end: End, dtype: np.dtype) -> None:
        dtype = np.dtype(np.int64) if end.fill in UNTIMED else dtype
        if dtype.kind == "i":
            end = without_past(end)
        self._kind = end.kind | passes.INTEGERS * (dtype.kind == "i")
        reach = (dtype.type(r) for r in (end.reach, end.slide, end.offset))
        self.at = passes.At(0, *reach)
        self._run = end_pass(end.fill, dtype)

    def find(self, time: Tape, keys: np.ndarray, flags: int, begin: int, out: np.ndarray) -> None:
        """The ends of the windows of the rows from `begin` on, as many as `out` has room for."""
        memory = (time.address, -1, keys.ctypes.data, 0, flags, 0, out.ctypes.data, 0, 0)
        self.at = self._run(memory, self.at, begin, begin + len(out), len(keys) - 1, self._kind)

    def begin_at(self, row: int) -> None:
        """Begin with an end at `row`."""
        self.at = self.at._replace(row=row)


def without_past(end: End) -> End:
    """An end past the integers of an edge, as the end at the edge that is one later."""
    if end.fill is not passes.edges or not end.kind & passes.PAST or end.reach >= passes.FURTHEST:
        return end
    return end._replace(reach=end.reach + 1, kind=end.kind & ~passes.PAST)


class Finder:
    """Finds the bounds of one frame, row by row, over many keys; keeps its place."""

    def __init__(
        self, frame: Frame, dtype: np.dtype, unit: int | None, upper: End | None = None
    ) -> None:
        """`upper`: where windows end, if other than where the frame does."""
        self.frame = frame
        lower, own = ends_of(frame, unit)
        self.reach = lower, upper or own  # how far windows reach
        self._ends = [EndFinder(end, dtype) for end in self.reach]
        self._even = all(end.fill is passes.rows_away for end in self.reach)
        self._lo = self._hi = np.empty(0, np.int64)

    def find(
        self, time: Tape, keys: np.ndarray, ends: np.ndarray | None, begin: int, end: int, stop: int
    ) -> passes.Bounds:
        """The bounds of rows `begin` to `end` - 1 of those up to `stop` that are in memory.

        `keys`: the first row of each key, from that of row `begin` on; `ends`, from row
        `begin` on: whether a row ends a window. They are good until the next call.
        """
        n = end - begin
        known = keys_before(keys, end, stop)
        if self._even and self._inside(known, begin, end):
            return self._in_step(begin, n)
        if n > len(self._lo):
            self._lo, self._hi = np.empty(n, np.int64), np.empty(n, np.int64)
        both = self._lo[:n], self._hi[:n]
        flags = 0 if ends is None else ends.ctypes.data
        for one, out in zip(self._ends, both, strict=True):
            one.find(time, known, flags, begin, out)
        return measured(*both, self._even)

    def _inside(self, keys: np.ndarray, begin: int, end: int) -> bool:
        """Whether all windows of rows `begin` to `end` - 1, by rows, have rows and lie within one
        key's."""
        before, after = (one.reach for one in self.reach)
        inside = begin + before >= keys[0] and end - 1 + after <= keys[-1]
        return bool(len(keys) == 2 and inside and before < after)

    def _in_step(self, begin: int, n: int) -> passes.Bounds:
        """The bounds of n windows that are as long as each other, each one row later."""
        lo, hi = (range(begin + one.reach, begin + one.reach + n) for one in self.reach)
        length = hi.start - lo.start
        return passes.Bounds(lo, hi, length, length, True)

    def end_at(self, row: int) -> None:
        """Begin with windows that end at `row`."""
        self._ends[1].begin_at(row)

    def begin_at(self, row: int) -> None:
        """Begin with the key whose first row is `row`."""
        for one in self._ends:
            one.begin_at(row)


def keys_before(keys: np.ndarray, end: int, stop: int) -> np.ndarray:
    """The first rows of the keys that begin before row `end`, and the row after the last key's.

    Keys that begin later are not a pass's concern: its pointers would move on to them.
    """
    count = int(np.searchsorted(keys, end, "left"))
    return keys[: count + 1] if count < len(keys) else np.append(keys, stop)


def time_target(
    dtype: np.dtype, cursors: type, columns: type, steps: Mapping[Any, Any] | None = None
) -> Target:
    """The target of a pass over times of `dtype`: nothing is combined."""
    times = Monoid("times", dtype.type(0).item(), same, max, dtype=dtype)
    return Target(times, Layout(dtype), steps or {}, cursors, columns)


def ready_rows(
    frame: Frame, reach: tuple[End, End], times: np.ndarray, last_key: int, last: bool
) -> int:
    """How many of the rows in memory have all of their window in memory.

    `times`: of a frame by groups, the numbers of their groups. `last_key`: where the rows of
    the last key begin; whether it goes on is not known unless it is the `last`.
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
    if isinstance(frame, Range | Groups) and frame.following is None:
        return last_key
    after = reach[1].reach if isinstance(frame, Range | Groups) else 0
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
