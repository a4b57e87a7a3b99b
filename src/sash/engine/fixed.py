"""Fixed: columns whose values are cells of one width, as NumPy arrays to move and to fill."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def room(n: int, dtype: np.dtype | type) -> np.ndarray:
    """An array to be written, from Arrow's memory: it keeps what is freed for the next one,
    and pages that the system has to clear first cost about as much as the work on them."""
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(pa.allocate_buffer(size), dtype) if size else np.empty(0, dtype)


def is_fixed(kind: pa.DataType) -> bool:
    """Whether a column's values are cells of 1, 2, 4 or 8 bytes."""
    simple = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    return simple and kind.bit_width in (8, 16, 32, 64)


def cells_of(column: pa.Array) -> np.ndarray:
    """The values of a column as unsigned numbers, whatever they mean; of nulls, anything."""
    cells = np.dtype(f"u{column.type.bit_width // 8}")
    return np.frombuffer(column.buffers()[1], cells, len(column), column.offset * cells.itemsize)


def known_of(column: pa.Array) -> np.ndarray:
    """Which values of a column are not null, as bytes."""
    return np.asarray(pc.is_valid(column)).view(np.uint8)


def column_of(kind: pa.DataType, cells: np.ndarray, known: np.ndarray | None) -> pa.Array:
    """A column of values, null where they are not `known`."""
    valid = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(cells), [valid, pa.py_buffer(cells)])


def rebuilt(column: pa.Array, move: Callable[[np.ndarray], np.ndarray]) -> pa.Array:
    """A column whose values, and what says which are null, have been moved."""
    known = move(known_of(column)) if column.null_count else None
    return column_of(column.type, move(cells_of(column)), known)


class Filling:
    """A column that is filled piece by piece, from several threads; its memory is made once."""

    def __init__(self, n: int) -> None:
        self._n, self._lock = n, Lock()
        self._kind: pa.DataType | None = None
        self._cells = self._known = np.empty(0, np.uint8)
        self._pieces: dict[int, pa.Array] = {}  # of a type without cells

    def put(self, row: int, piece: pa.Array) -> None:
        """The values from `row` on."""
        if not is_fixed(piece.type):
            self._pieces[row] = piece
            return
        rows = slice(row, row + len(piece))
        with self._lock:
            if self._kind is None:
                self._kind = piece.type
                self._cells = room(self._n, cells_of(piece).dtype)
            if piece.null_count and not len(self._known):
                self._known = np.ones(self._n, np.uint8)
        self._cells[rows] = cells_of(piece)
        if piece.null_count:
            self._known[rows] = known_of(piece)

    def column(self) -> pa.Array:
        """All that has been put."""
        if self._kind is None:
            pieces = [self._pieces[row] for row in sorted(self._pieces)]
            return pa.concat_arrays(pieces)
        return column_of(self._kind, self._cells, self._known if len(self._known) else None)
