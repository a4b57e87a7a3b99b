"""Pieces: windows that leave rows out in their middle, as SQL's EXCLUDE does.

What is left of a window is its rows before those that are left out, maybe the row itself,
and its rows after them. The bounds of each piece only grow, so each is followed like a
window of its own, and what they hold is combined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sash.engine.bounds import Bounds


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


def pieces(bounds: Bounds, begin: int, peers: Bounds | None, keeps_row: bool) -> Pieces:
    """Windows of the rows from `begin` on without each row, or without its `peers`."""
    rows = np.arange(begin, begin + len(bounds.lo))
    out_lo, out_hi = (rows, rows + 1) if peers is None else (peers.lo, peers.hi)

    def inside(row: np.ndarray) -> np.ndarray:
        return np.clip(row, bounds.lo, bounds.hi)

    parts = [Bounds.of(bounds.lo, inside(out_lo)), Bounds.of(inside(out_hi), bounds.hi)]
    if keeps_row:
        parts.insert(1, Bounds.of(inside(rows), inside(rows + 1)))
    return Pieces(bounds, tuple(parts))
