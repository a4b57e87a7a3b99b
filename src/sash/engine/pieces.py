"""Pieces: windows that leave rows out in their middle, as SQL's EXCLUDE does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sash.engine.bounds import FURTHEST, Bounds


class PeersAfter(Bounds):
    """The peers after each row of a block, which most rows may not have.

    `rows`: the row after each. `which`: the rows that have some, counted from the block's first,
    the youngest first; so the peers of one are the next row and its peers. `last`: how many the
    block's last row has. `longest` is that many or more, and 0 where no row has any. The ends of
    all windows are only for who asks for them.
    """

    def __init__(self, rows: range, last: int, which: np.ndarray) -> None:
        super().__init__(rows, rows, len(which) + last, 0)
        self.rows, self.last, self.which = rows, last, which

    @functools.cached_property
    def hi(self) -> np.ndarray:
        n = len(self.rows)
        ends = np.arange(n)
        ends[self.which] = FURTHEST
        ends[-1] = n - 1 + self.last
        return np.minimum.accumulate(ends[::-1])[::-1] + self.rows.start

    def some(self, windows: np.ndarray) -> np.ndarray:
        rows = np.append(self.which[::-1], len(self.rows))
        return rows[np.searchsorted(rows, windows)] == windows


class Pieces(NamedTuple):
    """The pieces of some rows' windows, from older to younger: each is a window of its own."""

    parts: tuple[Bounds, ...]

    @property
    def lo(self) -> np.ndarray:
        """The first row of each window, or one that is left out of it."""
        return self.parts[0].lo

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
        none = self.parts[0].empty
        if none is None or any(part.shortest > 0 for part in self.parts):
            return None
        rows = np.flatnonzero(none)
        for part in self.parts[1:]:
            rows = rows[~part.some(rows)]
        none[:] = False
        none[rows] = True
        return none if len(rows) else None

    def each(self, function: Callable[[Bounds], Bounds]) -> Pieces:
        """The same windows, numbered otherwise."""
        return Pieces(tuple(function(part) for part in self.parts))

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
