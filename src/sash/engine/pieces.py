"""Pieces: windows that leave rows out in their middle, as SQL's EXCLUDE does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sash.engine.bounds import Bounds


class Pieces(NamedTuple):
    """The pieces of some rows' windows, from older to younger: each is a window of its own.

    `which`: where the last piece is the peers after each row, the windows that have some, the
    youngest first.
    """

    parts: tuple[Bounds, ...]
    which: np.ndarray | None = None

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
        if any(part.shortest > 0 for part in self.parts):
            return None
        none = self.sizes == 0
        return none if none.any() else None

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
