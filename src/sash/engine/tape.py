"""Tape: numbers by row number, added at the end and forgotten at the front."""

from __future__ import annotations

import numpy as np


class Tape:
    """A contiguous run of numbers, from row `base` on; adding costs O(1) per number, amortized."""

    def __init__(self, dtype: np.dtype | type, values: np.ndarray | None = None) -> None:
        """`values`: all there will be, kept as they are."""
        self._array = np.empty(1024, dtype) if values is None else values
        self._begin, self._end = 0, 0 if values is None else len(values)
        self.base = 0
        self._own = values is None  # whether the array may be written to

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def values(self) -> np.ndarray:
        """The numbers, from row `base` on."""
        return self._array[self._begin : self._end]

    @property
    def blank(self) -> np.ndarray:
        """One number that no one reads, where there is none."""
        return np.zeros(1, self._array.dtype)

    def add(self, values: np.ndarray) -> None:
        """Add numbers at the end; the first are kept as they are, not copied."""
        n = len(values)
        if n == 0:
            return
        if len(self) == 0 and values.dtype == self._array.dtype:
            self._array, self._begin, self._end, self._own = values, 0, n, False
            return
        if self._end + n > len(self._array):
            live = self.values
            room = self._array
            if not self._own or 2 * (len(live) + n) > len(room):
                room, self._own = np.empty(3 * (len(live) + n), self._array.dtype), True
            room[: len(live)] = live
            self._begin, self._end, self._array = 0, len(live), room
        self._array[self._end : self._end + n] = values
        self._end += n

    def forget(self, row: int) -> None:
        """Forget all before `row`."""
        drop = min(max(0, row - self.base), len(self))
        self._begin += drop
        self.base += drop

    @property
    def data(self) -> int:
        """The address of row `base`."""
        return int(self._array.ctypes.data) + self._begin * self._array.itemsize

    @property
    def address(self) -> int:
        """The address at which row 0 would be."""
        return self.data - self.base * self._array.itemsize
