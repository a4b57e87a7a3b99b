"""Memory for large arrays: a mapping for each of them, remapped as it grows.

Where the C library's memory outgrows its place it is copied: for a moment there are
two of it, and the old one may stay with the process. A mapping grows without a copy
where the system can do that, and takes only the pages that are used.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np

MAPPED = 1 << 20  # bytes from which on an array has a mapping of its own
HUGE = 1 << 25  # and from which on it asks for large pages, of which the last may be unused
AHEAD = 1 << 30  # bytes at most that are mapped before they are asked for


class GrowingArray:
    """A NumPy array that grows; hold no view of `array` across `resize`."""

    def __init__(self, count: int, dtype: np.dtype) -> None:
        self.array: Any = np.zeros(count, dtype)
        self._map: mmap.mmap | None = None

    def resize(self, count: int) -> None:
        """Have `count` elements; those that there were stay, others can be anything."""
        dtype, shape = self.array.dtype, (count, *self.array.shape[1:])
        length = math.prod(shape) * dtype.itemsize
        if self._map is None and length < MAPPED:
            self.array.resize(shape, refcheck=False)
            return
        if self._map is None or length > len(self._map):
            self._map = self._larger(length + min(length // 2, AHEAD))
            if length >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
                self._map.madvise(mmap.MADV_HUGEPAGE)
        self.array = np.frombuffer(self._map, dtype, math.prod(shape)).reshape(shape)

    def _larger(self, length: int) -> mmap.mmap:
        """A larger mapping: the same one, remapped, or a new one and a copy."""
        old, dtype, kept = self._map, self.array.dtype, math.prod(self.array.shape)
        if old is not None:
            self.array = None
            try:
                old.resize(length)
                return old
            except (BufferError, OSError, SystemError, ValueError):  # a view, or no remapping
                self.array = np.frombuffer(old, dtype, kept)
        private = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
        made = mmap.mmap(-1, length, flags=private) if private else mmap.mmap(-1, length)
        np.frombuffer(made, dtype, kept)[:] = self.array.reshape(-1)
        return made
