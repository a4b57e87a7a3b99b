"""Bounds: the window of every row of one key as a run of rows, all rows at once.

For each row i of a key's sorted rows, its window is the rows lo[i] to hi[i] - 1. Both
only grow, so a first-in-first-out window can follow them. O(n log n) for frames by
time, O(n) for the others, in NumPy; nothing is combined here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.windows.frames import (
    Delta,
    Frame,
    Groups,
    Lifetime,
    Range,
    Rows,
    Session,
    Sliding,
    Until,
    length,
)

Bounds = tuple[np.ndarray, np.ndarray]


def bounds(frame: Frame, times: Any, content: Any = None) -> Bounds:
    """The arrays lo and hi for rows sorted by `times` (integers: nanoseconds; or numbers).

    Rows that a frame excludes lie between them all the same.
    `content`: the column of a Delta; for an Until, which rows end a window. A Policy
    has no bounds before its rows are combined: swag.AMTA finds them.

    >>> from sash.windows import as_frame, rows
    >>> [b.tolist() for b in bounds(rows(2), [1, 1, 5])]
    [[0, 0, 1], [1, 2, 3]]
    """
    t = np.asarray(times)
    lo, hi = _found(frame, t, content)
    if not frame.peers:
        hi = np.maximum(lo, np.minimum(hi, _to_self(len(t))))
    return lo if frame.most is None else np.maximum(lo, hi - frame.most), hi


def _found(frame: Frame, t: np.ndarray, content: Any) -> Bounds:
    if isinstance(frame, Rows):
        return _rows(frame, len(t))
    if isinstance(frame, Groups):
        group = np.unique(t, return_inverse=True)[1]
        return _range(Range(frame.preceding, frame.following), group)
    if isinstance(frame, Range):
        return _range(frame, t)
    if isinstance(frame, Lifetime):
        return np.zeros(len(t), np.int64), _after_peers(t)
    if isinstance(frame, Session):
        starts = np.flatnonzero(np.diff(t, prepend=t[:1]) > length(frame.gap))
        return _since(starts, len(t)), _after_peers(t)
    if isinstance(frame, Sliding):
        return _sliding(frame, t)
    if isinstance(frame, Until):
        return _since(np.flatnonzero(np.asarray(content, bool)) + 1, len(t)), _to_self(len(t))
    if isinstance(frame, Delta):
        return _delta(frame, np.asarray(content)), _to_self(len(t))
    raise TypeError(f"{frame} has no bounds before its rows are combined; use swag.AMTA")


def _rows(frame: Rows, n: int) -> Bounds:
    i, lo, hi = np.arange(n), np.zeros(n, np.int64), np.full(n, n)
    if frame.preceding is not None:
        lo = np.clip(i - min(frame.preceding, n), 0, n)
    if frame.following is not None:
        hi = np.clip(i + min(frame.following, n) + 1, 0, n)
    return lo, np.maximum(hi, lo)


def _range(frame: Range, t: np.ndarray) -> Bounds:
    lo, hi = np.zeros(len(t), np.int64), np.full(len(t), len(t))
    if frame.preceding is not None:
        lo = _past_edge(t, -length(frame.preceding), frame.closed not in ("both", "left"))
    if frame.following is not None:
        hi = _past_edge(t, length(frame.following), frame.closed in ("both", "right"))
    return lo, np.maximum(hi, lo)


def _past_edge(t: np.ndarray, by: int | float, past: bool) -> np.ndarray:
    """For each row the first whose time is t + by or later; later, if `past`.

    Where t + by leaves the integers, all rows or none are before it.
    """
    side: Any = "right" if past else "left"
    if t.dtype.kind not in "iu" or isinstance(by, float):
        return np.searchsorted(t, t + by, side)
    least, most = np.iinfo(t.dtype).min, np.iinfo(t.dtype).max
    beyond = t < least - by if by < 0 else t > most - by
    edges = np.where(beyond, 0, t) + np.where(beyond, 0, max(least, min(by, most)))
    return np.where(beyond, 0 if by < 0 else len(t), np.searchsorted(t, edges, side))


def _sliding(frame: Sliding, t: np.ndarray) -> Bounds:
    size, slide = length(frame.size), length(frame.slide)
    after = t - length(frame.offset)
    if frame.closed in ("left", "neither"):  # the first window end after t, or at t
        end = (np.floor_divide(after - size, slide) + 1) * slide + size
    else:
        end = -np.floor_divide(size - after, slide) * slide + size
    side = "left" if frame.closed in ("both", "left") else "right"
    lo = np.searchsorted(after, end - size, side)  # type: ignore[call-overload]
    hi = _after_peers(t)
    return lo, np.maximum(hi, lo)


def _delta(frame: Delta, content: np.ndarray) -> np.ndarray:
    a, d = content.tolist(), length(frame.d)
    lo, start = np.empty(len(a), np.int64), 0
    for i, newest in enumerate(a):
        while start < i and not _within(newest, a[start], d):
            start += 1
        lo[i] = start
    return lo


def _within(x: Any, y: Any, d: int | float) -> bool:
    return x is not None and y is not None and abs(x - y) <= d


def _since(starts: np.ndarray, n: int) -> np.ndarray:
    """For each row the last of `starts` that is not after it, or 0."""
    lo = np.zeros(n, np.int64)
    starts = starts[starts < n]
    lo[starts] = starts
    return np.maximum.accumulate(lo)


def _to_self(n: int) -> np.ndarray:
    return np.arange(1, n + 1)


def _after_peers(t: np.ndarray) -> np.ndarray:
    return np.searchsorted(t, t, "right")
