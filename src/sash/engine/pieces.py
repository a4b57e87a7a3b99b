"""Pieces: windows that leave rows out in their middle, as SQL's EXCLUDE does.

What is left of a window is its rows before those that are left out, the row itself in some cases,
and its rows after them. The bounds of each piece only grow, so each is followed like a
window of its own, and what they hold is combined.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.engine.bounds import FURTHEST, Bounds
from sash.engine.frames import time_target
from sash.kernel.compiled import compiled
from sash.kernel.words import Int64, Memory, attach


class Pieces(NamedTuple):
    """The pieces of some rows' windows, from older to younger; `whole` has what is left out too."""

    whole: Bounds
    parts: tuple[Bounds, ...]

    @property
    def lo(self) -> np.ndarray:
        """The first row of each window."""
        return self.whole.lo

    @property
    def sizes(self) -> np.ndarray:
        """How many rows each window has."""
        total = self.parts[0].sizes
        for part in self.parts[1:]:
            total += part.sizes
        return total

    @property
    def empty(self) -> np.ndarray | None:
        """Which windows have no rows; None: all have some."""
        if any(part.shortest > 0 for part in self.parts):
            return None
        none = self.sizes == 0
        return none if none.any() else None

    def each(self, function: Callable[[Bounds], Bounds]) -> Pieces:
        """The same windows, numbered otherwise."""
        return Pieces(function(self.whole), tuple(function(part) for part in self.parts))

    def place(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The n-th row of each window, from its end where n is negative; and which have none."""
        parts = self.parts if n > 0 else self.parts[::-1]
        rows = np.zeros(len(self.lo), np.int64)
        left = np.full(len(rows), abs(n))  # rows still to go, from 1
        found = np.zeros(len(rows), np.bool_)
        for part in parts:
            lengths = part.sizes
            here = ~found & (left <= lengths)
            rows[here] = (part.lo + left - 1 if n > 0 else part.hi - left)[here]
            found |= here
            left = left - lengths
        return rows, ~found


class Columns(NamedTuple):
    """Windows, the rows that are left out of each, and the inner ends of what stays."""

    lo: Int64
    hi: Int64
    out_lo: Int64
    out_hi: Int64
    left: Int64  # where the older piece ends
    right: Int64  # where the younger one begins
    held: int


class Ends(NamedTuple):
    """The extremes of the lengths of older and of younger pieces."""

    older: int
    older_least: int
    younger: int
    younger_least: int


def cut(memory: Memory, n: int, begin: int, alone: int) -> Ends:
    """Cut each window around the rows that are left out: the row itself where it is `alone`."""
    q = attach(memory)
    older, younger = 0, 0
    older_least, younger_least = FURTHEST, FURTHEST
    for i in range(n):
        lo, hi = q.lo[i], q.hi[i]
        first, end = begin + i, begin + i + 1
        if not alone:
            first, end = q.out_lo[i], q.out_hi[i]
        left, right = min(max(first, lo), hi), min(max(end, lo), hi)
        q.left[i], q.right[i] = left, right
        older, younger = max(older, left - lo), max(younger, hi - right)
        older_least, younger_least = min(older_least, left - lo), min(younger_least, hi - right)
    return Ends(older, older_least, younger, younger_least)


@functools.cache
def cutter() -> Any:
    """The loop, compiled."""
    return compiled(cut, time_target(np.dtype(np.int64), Ends, Columns)).run


def pieces(bounds: Bounds, begin: int, peers: Bounds | None, keeps_row: bool) -> Pieces:
    """Windows of the rows from `begin` on without each row, or without its `peers`."""
    n = len(bounds.lo)
    left, right = np.empty(n, np.int64), np.empty(n, np.int64)
    out = bounds if peers is None else peers
    given = (bounds.lo, bounds.hi, out.lo, out.hi)
    arrays = [*(np.ascontiguousarray(side, np.int64) for side in given), left, right]
    memory = (*(number for array in arrays for number in (array.ctypes.data, 0)), 0)
    ends = cutter()(memory, n, begin, peers is None)
    parts = [Bounds(bounds.lo, left, *ends[:2]), Bounds(right, bounds.hi, *ends[2:])]
    if keeps_row:
        rows = np.arange(begin, begin + n)
        own = (np.clip(row, bounds.lo, bounds.hi) for row in (rows, rows + 1))
        parts.insert(1, Bounds.of(*own))
    return Pieces(bounds, tuple(parts))
