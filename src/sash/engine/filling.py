"""Filling: columns of answers that are filled piece by piece, and may be moved after that."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.fixed import (
    Move,
    Room,
    cells_of,
    column_of,
    is_fixed,
    is_movable,
    known_of,
    null_rows,
    room,
)
from sash.engine.flagged import unmarked
from sash.engine.team import Team

MARK = np.array(0xFFF85AA55AA55AA5, np.uint64)[()]
"""A cell of 64 bits that few columns have: as a double, a NaN that no processor makes."""

FEW = 16
"""Nulls are marked where they are at most one in so many."""


class Filling:
    """A column that is filled piece by piece, from several threads; its memory is made once.

    Where it is moved then, few nulls are marked in their cells as well, which tells where they go:
    to move what says which values are null would take as long as to move the values.
    """

    def __init__(self, n: int, marks: bool = False) -> None:
        """`marks`: whether few nulls are marked, for `moved`."""
        self._n, self._lock, self._marks = n, Lock(), marks
        self._kind: pa.DataType | None = None
        self._cells = np.empty(0, np.uint8)
        self._nulls: list[np.ndarray] = []  # the rows that are null of pieces that have few
        self._known: list[tuple[int, np.ndarray]] = []  # which are not, of pieces that have many
        self._pieces: dict[int, pa.Array] = {}  # of a type without cells

    def room_from(self, row: int) -> Room:
        """Where numbers from `row` on may be written before they are put: then they are there."""

        def there(n: int, dtype: Any) -> np.ndarray:
            return self._of_width(np.dtype(dtype).itemsize)[row : row + n].view(dtype)

        return there

    def _of_width(self, width: int) -> np.ndarray:
        """The cells, of `width` bytes each."""
        with self._lock:
            if not len(self._cells) or self._cells.itemsize != width:
                self._cells = room(self._n, np.dtype(f"u{width}"))
            return self._cells

    def put(self, row: int, piece: pa.Array) -> None:
        """The values from `row` on."""
        if not is_fixed(piece.type):
            self._pieces[row] = piece
            return
        self._kind, rows, values = piece.type, slice(row, row + len(piece)), cells_of(piece)
        cells = self._of_width(values.itemsize)[rows]
        if cells.ctypes.data != values.ctypes.data:
            cells[:] = values
        if piece.null_count * FEW > len(piece):
            with self._lock:
                self._known.append((row, known_of(piece)))
        elif piece.null_count:
            nulls = null_rows(piece)
            with self._lock:
                self._nulls.append(row + nulls)
            if self._marks and cells.itemsize == 8:
                cells[nulls] = MARK

    def moved(self, move: Move, team: Team) -> pa.Array | None:
        """All that has been put, moved, its nulls told by their marks; None: not all of them are
        marked, or a value looks like a mark."""
        marked = self._marks and self._cells.itemsize == 8
        if self._kind is None or not self._nulls or not marked or self._known:
            return None
        cells = move(self._cells)
        known, count = unmarked(cells, int(MARK.view(np.int64)), team)
        if count != sum(map(len, self._nulls)):
            return None
        buffers = [pa.py_buffer(known), pa.py_buffer(cells)]
        return pa.Array.from_buffers(self._kind, self._n, buffers)

    def column(self) -> pa.Array | pa.ChunkedArray:
        """All that has been put."""
        if self._kind is None:
            pieces = [self._pieces[row] for row in sorted(self._pieces)]
            movable = is_movable(pieces[0].type)
            return pa.concat_arrays(pieces) if movable else pa.chunked_array(pieces)
        return column_of(self._kind, self._cells, self._not_null())

    def _not_null(self) -> np.ndarray | None:
        """Which values are not null; None: all."""
        if not self._nulls and not self._known:
            return None
        found = np.ones(self._n, np.uint8)
        for row, known in self._known:
            found[row : row + len(known)] = known
        if self._nulls:
            found[np.concatenate(self._nulls)] = 0
        return found
