"""Bounds: the window of each row as a run of rows, for rows of many keys, in one pass.

Rows are numbered through all keys, sorted by key and time. The window of row i is
rows lo[i] to hi[i] - 1. Within a key both only grow, so one pass of two pointers
finds them, and whoever aggregates follows with a first-in-first-out window: a frame
is nothing but its bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sash.kernel.words import Int8, Int64, Partial, Partials, attach, get


class Store(NamedTuple):
    """What a pass reads and writes."""

    time: Partials  # by row number; a Delta's column for a Delta
    keys: Int64  # the first row of each key, from that of row `begin` on, and after the last
    ends: Int8  # from row `begin` on, whether a row ends a window (Until) or was held (Delta)
    lo: Int64  # from row `begin` on
    hi: Int64
    held: int


class At(NamedTuple):
    """Where the pointers are, and how far the frame reaches."""

    lo: int
    hi: int
    longest: int  # of the windows of this pass
    shortest: int
    before: Partial
    after: Partial
    offset: Partial


class Bounds(NamedTuple):
    """The windows of some rows: rows lo[i] to hi[i] - 1, and the extremes of their lengths."""

    lo: np.ndarray
    hi: np.ndarray
    longest: int
    shortest: int

    @staticmethod
    def of(lo: np.ndarray, hi: np.ndarray) -> Bounds:
        """Bounds whose lengths are not known yet."""
        lengths = hi - lo
        return Bounds(lo, hi, int(lengths.max(initial=0)), int(lengths.min(initial=1)))


BOUNDED_BELOW, BOUNDED_ABOVE, WITH_LOWER, WITH_UPPER, INTEGERS = 1, 2, 4, 8, 16
FURTHEST, LEAST = (1 << 63) - 1, -(1 << 63)


def rows(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """Frames by count: `before` rows before to `after` rows after."""
    q = attach(memory)
    lo, hi, longest, shortest, before, after, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        for i in range(max(first, begin), min(stop, end)):
            lo = max(first, i - before) if kind & BOUNDED_BELOW else first
            hi = max(first, min(stop, i + after + 1)) if kind & BOUNDED_ABOVE else stop
            rows_in = write(q, i - begin, lo, hi)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
    return At(lo, hi, longest, shortest, before, after, offset)


def times(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """Frames by time: from t - before to t + after, which ends are in says `kind`."""
    q = attach(memory)
    lo, hi, longest, shortest, before, after, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        lo = max(lo, first) if kind & BOUNDED_BELOW else first
        hi = max(hi, first) if kind & BOUNDED_ABOVE else stop
        for i in range(max(first, begin), min(stop, end)):
            t = get(q.time, i)
            if kind & BOUNDED_BELOW:
                lo = past_edge(q, lo, stop, t, -before, not kind & WITH_LOWER, kind)
            if kind & BOUNDED_ABOVE:
                hi = past_edge(q, hi, stop, t, after, (kind & WITH_UPPER) != 0, kind)
            rows_in = write(q, i - begin, lo, hi)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
    return At(lo, hi, longest, shortest, before, after, offset)


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


def near(x: Any, y: Any, d: Any, kind: int) -> bool:
    """Whether two values are at most `d` apart, also where their difference is no int64."""
    if kind & INTEGERS:
        return min(x, y) > FURTHEST - d or max(x, y) <= min(x, y) + d
    return abs(x - y) <= d


def advance(q: Any, row: int, stop: int, edge: Any, past: bool) -> int:
    """The first row from `row` on whose time is at `edge` or later; `past` it if so told."""
    if past:
        while row < stop and get(q.time, row) <= edge:
            row += 1
    else:
        while row < stop and get(q.time, row) < edge:
            row += 1
    return row


def sessions(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """From the first row after the last pause longer than `before`, to the row's peers."""
    q = attach(memory)
    lo, hi, longest, shortest, before, after, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        for i in range(max(first, begin), min(stop, end)):
            t = get(q.time, i)
            if i == first or not near(t, get(q.time, i - 1), before, kind):
                lo = i
            hi = advance(q, max(hi, i), stop, t, True)
            rows_in = write(q, i - begin, lo, hi)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
    return At(lo, hi, longest, shortest, before, after, offset)


def slides(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """The first window to end that has the row, so far: `before` its size, `after` its slide."""
    q = attach(memory)
    lo, hi, longest, shortest, size, slide, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        lo = max(lo, first)
        for i in range(max(first, begin), min(stop, end)):
            t = get(q.time, i)
            if kind & WITH_UPPER:
                edge = offset - (size - t + offset) // slide * slide
            else:
                edge = offset + ((t - offset - size) // slide + 1) * slide
            lo = advance(q, lo, stop, edge, not kind & WITH_LOWER)
            hi = advance(q, max(hi, i), stop, t, True)
            rows_in = write(q, i - begin, lo, hi)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
    return At(lo, hi, longest, shortest, size, slide, offset)


def deltas(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """Without the oldest rows that are more than `before` away from the row.

    Rows that were held are the window as it was left: it does not move before they are past.
    """
    q = attach(memory)
    lo, hi, longest, shortest, before, after, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        lo = max(lo, first)
        for i in range(max(first, begin), min(stop, end)):
            newest = get(q.time, i)
            if not q.ends[i - begin]:
                while lo < i and not near(newest, get(q.time, lo), before, kind):
                    lo += 1
            rows_in = write(q, i - begin, lo, i + 1)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
    return At(lo, hi, longest, shortest, before, after, offset)


def untils(memory: Any, at: At, begin: int, end: int, keys: int, kind: int) -> At:
    """From the row after the last earlier one that ended a window."""
    q = attach(memory)
    lo, hi, longest, shortest, before, after, offset = at
    longest, shortest = 0, FURTHEST
    for key in range(keys):
        first, stop = q.keys[key], q.keys[key + 1]
        lo = max(lo, first)
        for i in range(max(first, begin), min(stop, end)):
            rows_in = write(q, i - begin, lo, i + 1)
            longest, shortest = max(longest, rows_in), min(shortest, rows_in)
            if q.ends[i - begin]:
                lo = i + 1
    return At(lo, hi, longest, shortest, before, after, offset)


def write(q: Any, k: int, lo: int, hi: int) -> int:
    """The bounds of the k-th row of a pass; gives how many rows are in."""
    end = max(lo, hi)
    q.lo[k] = lo
    q.hi[k] = end
    return end - lo
