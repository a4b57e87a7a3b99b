"""Slicer: cuts rows into the slices of a plan, once for all windows that are made of them."""

from __future__ import annotations

import numpy as np

from sash.engine.bounds import Bounds
from sash.engine.rows import Rows
from sash.engine.tape import Tape
from sash.plan.slicing import Slices


class Slicer:
    """The slices of rows as they come, sorted by key and time; only those that have rows.

    Slices are numbered through all keys. `time`: where each begins, by the clock or by the
    number of its key's rows before it; `keys`: the first slice of each key that is not done.
    """

    def __init__(self, slices: Slices, rows: Rows) -> None:
        self._slices, self._rows = slices, rows
        self._edges = np.array(slices.edges)
        self.count = 0
        self.time = Tape(np.int64)
        self.keys = np.zeros(0, np.int64)
        self._first = Tape(np.int64)  # the first row of each slice
        self._last = 0  # the place of the last slice, in periods and edges
        self._key_rows = np.zeros(0, np.int64)  # the first row of each of them
        self._key_row = 0  # and of the last key
        self.folded = 0  # slices before this one are combined

    def take(self, begin: int) -> None:
        """Take the rows from `begin` on, which came last."""
        rows = self._rows
        starts = rows.keys[np.searchsorted(rows.keys, begin, "left") :] - begin
        steps = rows.time.values[begin - rows.time.base :]
        if self._slices.by == "count":
            steps = self._positions(begin, starts, len(steps))
        periods, rest = np.divmod(steps, self._slices.period)
        places = periods * len(self._edges) + np.searchsorted(self._edges, rest, "right") - 1
        begins = np.diff(places, prepend=self._last) != 0
        begins[starts] = True
        first = np.flatnonzero(begins)
        is_key = np.isin(first, starts, assume_unique=True)
        self.keys = np.concatenate([self.keys, self.count + np.flatnonzero(is_key)])
        self._key_rows = np.concatenate([self._key_rows, begin + starts])
        turns, edge = np.divmod(places[first], len(self._edges))
        self.time.add(turns * self._slices.period + self._edges[edge])
        self._first.add(begin + first)
        self.count += len(first)
        self._last = int(places[-1])

    def _positions(self, begin: int, starts: np.ndarray, n: int) -> np.ndarray:
        """The number of each row among those of its key."""
        rows = np.arange(begin, begin + n)
        firsts = np.append(self._key_row, begin + starts)
        self._key_row = int(firsts[-1])
        return rows - firsts[np.searchsorted(starts, rows - begin, "right")]

    def complete(self, last: bool) -> Bounds | None:
        """The rows of the slices that have become complete; None: of none."""
        end = self.count if last else max(0, self.count - 1)
        begin, self.folded = self.folded, max(self.folded, end)
        if begin >= end:
            return None
        slices = np.arange(begin, end)
        return self.rows_of(slices, slices + 1)

    def rows_of(self, lo: np.ndarray, hi: np.ndarray) -> Bounds:
        """The rows of slices lo to hi - 1."""
        first = np.append(self._first.values, self._rows.count)
        return Bounds.of(first[lo - self._first.base], first[hi - self._first.base])

    def key_row(self, slices: np.ndarray) -> np.ndarray:
        """The first row of the key that each of some slices is of."""
        return self._key_rows[np.searchsorted(self.keys, slices, "right") - 1]

    def forget(self, slice_: int, keys: int) -> int:
        """Forget slices before one that no window needs, and that many keys; gives its row."""
        self.keys, self._key_rows = self.keys[keys:].copy(), self._key_rows[keys:].copy()
        slice_ = min(slice_, max(0, self.count - 1), self.folded)
        self.time.forget(slice_)
        self._first.forget(slice_)
        return int(self._first.values[0]) if len(self._first) else self._rows.count
