"""Rows of a column by number, of any type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


class ColumnBuffer:
    """A column's rows by number, of any type, forgotten an array at a time."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._arrays: list[pa.Array] = []
        self._base = 0

    def add(self, column: pa.Array) -> None:
        self._arrays.append(column)

    def at(self, rows: np.ndarray, nulls: np.ndarray | None = None) -> pa.Array:
        """The values of `rows`, null where `nulls` says so."""
        places = pa.array(rows - self._base)
        if nulls is not None:
            places = pa.array(np.where(nulls, 0, rows - self._base), mask=nulls)
        taken = pa.chunked_array(self._arrays, self._kind).take(places)
        return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)

    def forget(self, row: int) -> None:
        while self._arrays and self._base + len(self._arrays[0]) <= row:
            self._base += len(self._arrays.pop(0))
