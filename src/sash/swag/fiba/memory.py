"""Memory for large arrays: a mapping for each of them, remapped as it grows.

Where the C library's memory outgrows its place it is copied: for a moment there are
two of it, and the old one may stay with the process. A mapping grows without a copy
where the system can do that, and takes only the pages that are used.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

MAPPED = 1 << 20  # bytes from which on an array has a mapping of its own
HUGE = 1 << 22  # and from which on it asks for large pages


class Memory:
    """A NumPy array that grows; hold no view of `array` across `resize`."""

    def __init__(self, count: int, dtype: np.dtype) -> None:
        self.array: Any = np.zeros(count, dtype)
        self._map: mmap.mmap | None = None

    def resize(self, count: int) -> None:
        """Have `count` elements: those that there were, and zeros."""
        dtype, shape = self.array.dtype, (count, *self.array.shape[1:])
        length = int(np.prod(shape)) * dtype.itemsize
        if self._map is None and length < MAPPED:
            self.array.resize(shape, refcheck=False)
            return
        old = self.array if self._map is None else None
        if self._map is not None:
            old = self._remap(length)
        if old is not None:
            self._map = _mapping(length)
        assert self._map is not None
        if length >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.array = np.frombuffer(self._map, dtype).reshape(shape)
        if old is not None:
            kept = min(count, len(old))
            self.array[:kept] = old[:kept]

    def _remap(self, length: int) -> Any:
        """Resize the mapping; where that can not be, the array that is to be copied."""
        assert self._map is not None
        dtype, shape = self.array.dtype, self.array.shape
        self.array = None
        try:
            self._map.resize(length)
        except (BufferError, OSError, SystemError, ValueError):  # a view of it, or no remapping
            return np.frombuffer(self._map, dtype).reshape(shape)
        return None


def _mapping(length: int) -> mmap.mmap:
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, length)
