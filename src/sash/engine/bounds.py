"""Bounds: the window of each row as a run of rows, for rows of many keys.

Rows are numbered through all keys, sorted by key and time. The window of row i is
rows lo[i] to hi[i] - 1. Within a key both only grow, so an end is found in one pass over
the rows, and whoever aggregates follows with a first-in-first-out window: a frame is
nothing but its bounds.

A frame is a way to find each of its ends, a function `fill(q, row, at, run)`: for the rows
of a run it writes the end of each window to q.out, beginning at `row`, where the end of the
row before was, and gives the last one. `find` runs it for each key.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from sash.engine.edges import WORTH_PARTS, counted, fill_with
from sash.kernel.words import (
    EVEN,
    Int8,
    Int64,
    Memory,
    Partial,
    Partials,
    attach,
    get,
    straight,
    word,
)
from sash.swag.inputs import WindowEnds, row_numbers


class Columns(NamedTuple):
    """The columns that a pass reads and writes."""

    time: Partials  # by row number; a Delta's column for a Delta
    keys: Int64  # the first row of each key, from that of row `begin` on, and after the last
    ends: Int8  # from row `begin` on, whether a row ends a window (Until) or was held (Delta)
    out: Int64  # from row `begin` on: one end of each window
    held: int


class At(NamedTuple):
    """Where the end of the last row's window is, and how far the frame reaches."""

    row: int
    reach: Partial  # of a Sliding: its size
    slide: Partial
    offset: Partial


class Run(NamedTuple):
    """The rows of a key that a pass is at: `row` to `last` - 1, of `first` to `stop` - 1."""

    begin: int  # the row of out[0]
    row: int
    last: int
    first: int
    stop: int
    kind: int


class Bounds:
    """The windows of some rows: rows lo[i] to hi[i] - 1, and the extremes of their lengths.

    No window has more rows than `longest`, which is less than twice what one has, and none has
    fewer than `shortest`, which is 0 only where one is empty.

    `even`: from a row to the next of its key, neither end moves by more than one row. Windows in
    step with the rows have ranges as their ends, and arrays only for who asks for them.
    """

    def __init__(
        self, lo: WindowEnds, hi: WindowEnds, longest: int, shortest: int, even: bool = False
    ) -> None:
        self.ends = lo, hi
        self.longest, self.shortest, self.even = longest, shortest, even
        self.grow = even  # whether neither end ever goes back, which bounds of rows' own may

    @property
    def shape(self) -> int:
        """What is known of all windows."""
        return EVEN * self.even

    @functools.cached_property
    def lo(self) -> np.ndarray:
        return row_numbers(self.ends[0])

    @functools.cached_property
    def hi(self) -> np.ndarray:
        return row_numbers(self.ends[1])

    def __len__(self) -> int:
        return len(self.ends[0])

    @property
    def sizes(self) -> np.ndarray:
        """How many rows each window has."""
        return self.hi - self.lo

    def place(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The n-th row of each window, from its end where n is negative; and which have none."""
        return (self.lo + n - 1 if n > 0 else self.hi + n), self.sizes < abs(n)

    @property
    def empty(self) -> np.ndarray | None:
        """Which windows have no rows; None: all have some."""
        return None if self.shortest > 0 else self.hi <= self.lo

    def some(self, windows: np.ndarray) -> np.ndarray:
        """Which of these windows have rows."""
        return self.lo[windows] < self.hi[windows]

    @staticmethod
    def of(lo: np.ndarray, hi: np.ndarray) -> Bounds:
        """Bounds whose lengths are not known yet."""
        lengths = hi - lo
        return Bounds(lo, hi, int(lengths.max(initial=0)), int(lengths.min(initial=1)))


PAST, INTEGERS, WITH_UPPER = 1, 2, 4
"""Kinds: an end is past the rows of its edge; times are integers; a Sliding's windows have their
upper edge."""

FURTHEST, LEAST = (1 << 63) - 1, -(1 << 63)

fill = word("fill", "fill(q, row, at, run): one end of the windows of a run, and the last one")


def find(memory: Memory, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """One end of the windows of rows `begin` to `end` - 1, key by key."""
    q = attach(memory)
    row = at.row
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        run = Run(begin, max(first, begin), min(stop, end), first, stop, kind)
        row = fill(q, max(row, first), at, run)
    return At(row, at.reach, at.slide, at.offset)


def first_row(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends of windows without a bound below."""
    return fill_with(q, run.first, run.row, run)


def last_row(q: Any, row: int, at: At, run: Run) -> int:
    """Upper ends of windows without a bound above."""
    return fill_with(q, run.stop, run.row, run)


def rows_away(q: Any, row: int, at: At, run: Run) -> int:
    """Ends that are `reach` rows away, but within the key's rows."""
    for i in range(run.row, run.last):
        row = max(run.first, min(run.stop, i + at.reach))
        q.out[i - run.begin] = row
    return row


def after_peers(q: Any, row: int, at: At, run: Run) -> int:
    """Upper ends after the last row of the same time, found from the last row on."""
    last = run.last
    end = advance(q, last, run.stop, get(q.time, last - 1), True)
    row, times = end, straight(q.time, run.row)
    q.out[last - 1 - run.begin] = end
    for i in range(last - 2 - run.row, -1, -1):
        if get(times, i) != get(times, i + 1):
            end = run.row + i + 1
        q.out[run.row + i - run.begin] = end
    return row


def before_peers(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends at the first row of the same time."""
    if run.row == run.first or get(q.time, run.row) != get(q.time, run.row - 1):
        row = run.row
    q.out[run.row - run.begin] = row
    for i in range(run.row + 1, run.last):
        if get(q.time, i) != get(q.time, i - 1):
            row = i
        q.out[i - run.begin] = row
    return row


def edges(q: Any, row: int, at: At, run: Run) -> int:
    """Ends at the first row whose time is t + reach or later; or later than that, if PAST."""
    past, by = run.kind & PAST != 0, at.reach
    many = run.last - run.row >= WORTH_PARTS and not past
    if many and (not run.kind & INTEGERS or tame(q, by, run)):
        return counted(q, row, by, run)
    for i in range(run.row, run.last):
        row = past_edge(q, row, run.stop, get(q.time, i), by, past, run.kind)
        q.out[i - run.begin] = row
    return row


def tame(q: Any, by: Any, run: Run) -> bool:
    """Whether no edge of a run lies beyond the integers."""
    if by > 0:
        return get(q.time, run.last - 1) <= FURTHEST - by
    return get(q.time, run.row) >= LEAST - by


def session_starts(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends at the first row after the last pause longer than `reach`."""
    for i in range(run.row, run.last):
        if i == run.first or not near(get(q.time, i), get(q.time, i - 1), at.reach, run.kind):
            row = i
        q.out[i - run.begin] = row
    return row


def slide_starts(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends where the first window to end that has the row starts."""
    size, slide, offset = at.reach, at.slide, at.offset
    for i in range(run.row, run.last):
        t = get(q.time, i)
        if run.kind & WITH_UPPER:
            edge = offset - (size - t + offset) // slide * slide
        else:
            edge = offset + ((t - offset - size) // slide + 1) * slide
        row = advance(q, row, run.stop, edge, run.kind & PAST != 0)
        q.out[i - run.begin] = row
    return row


def delta_starts(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends without the oldest rows that are more than `reach` away from the row.

    Rows that were held are the window as it was left: it does not move before they are past.
    """
    for i in range(run.row, run.last):
        newest = get(q.time, i)
        if not q.ends[i - run.begin]:
            while row < i and not near(newest, get(q.time, row), at.reach, run.kind):
                row += 1
        q.out[i - run.begin] = row
    return row


def until_starts(q: Any, row: int, at: At, run: Run) -> int:
    """Lower ends at the row after the last earlier one that ended a window."""
    for i in range(run.row, run.last):
        q.out[i - run.begin] = row
        if q.ends[i - run.begin]:
            row = i + 1
    return row


def past_edge(q: Any, row: int, stop: int, t: Any, by: Any, past: bool, kind: int) -> int:
    """The first row from `row` on whose time is t + by or later; later, if `past`.

    An integer's edge may lie beyond the integers, where all rows or none are before it. That
    is asked before adding: compiled, an addition is taken never to overflow.
    """
    if kind & INTEGERS:
        if by > 0 and t > FURTHEST - by:
            return stop
        if by < 0 and t < LEAST - by:
            return row
    return advance(q, row, stop, t + by, past)


def advance(q: Any, row: int, stop: int, edge: Any, past: bool) -> int:
    """The first row from `row` on whose time is at `edge` or later; later, if `past`."""
    if past:
        while row < stop and get(q.time, row) <= edge:
            row += 1
    else:
        while row < stop and get(q.time, row) < edge:
            row += 1
    return row


def near(x: Any, y: Any, d: Any, kind: int) -> bool:
    """Whether two values are at most `d` apart, also where their difference is no int64."""
    if kind & INTEGERS:
        return min(x, y) > FURTHEST - d or max(x, y) <= min(x, y) + d
    return abs(x - y) <= d
