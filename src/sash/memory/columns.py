"""Columns of cells: where partials lie, for plain Python and for compiled code alike.

    Ring    a fixed power of two of cells, reused round and round
    Chunks  a queue of any length that grows and shrinks a chunk at a time
    Table   cells 0, 1, 2, … of a tree, enlarged between batches

Each can be indexed from plain Python (`cells[i]`) and has an `address` for
compiled code: a pair of numbers, what it is follows from `chunked`. With a
layout the cells are NumPy arrays; without one they hold any objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sash.kernel.layout import Layout, chunk_shift


def reader(layout: Layout | None) -> Callable[[Any], Any]:
    """The function that turns an element of a cell array into a partial of plain Python."""
    if layout is None:
        return lambda cell: cell
    if layout.length is not None:
        return lambda cell: cell.copy()
    return lambda cell: cell.item()


def new_cells(layout: Layout | None, count: int) -> Any:
    """An array of `count` cells, or a list where partials are objects."""
    return [None] * count if layout is None else np.zeros(count, layout.array_dtype)


class Ring:
    """Cells that are reused round and round; cell `i` is cell `i + len`."""

    chunked = False

    def __init__(self, layout: Layout | None, least: int) -> None:
        count = 1 << max(4, (least - 1).bit_length())
        self.array: Any = [None] * count if layout is None else np.empty(count, layout.array_dtype)
        self._read = reader(layout)
        self._mask = len(self.array) - 1

    def __getitem__(self, i: int) -> Any:
        return self._read(self.array[i & self._mask])

    def __setitem__(self, i: int, partial: Any) -> None:
        self.array[i & self._mask] = partial

    def __len__(self) -> int:
        return len(self.array)

    def read(self, lo: int, hi: int) -> Any:
        """Cells lo to hi - 1 as one array."""
        start, end = lo & self._mask, (hi - 1) & self._mask
        if hi - lo == 0 or start <= end:
            return self.array[start : start + hi - lo].copy()
        parts = [self.array[start:], self.array[: end + 1]]
        return parts[0] + parts[1] if isinstance(self.array, list) else np.concatenate(parts)

    def write(self, lo: int, values: Any) -> None:
        """Fill the cells from `lo` on."""
        start = lo & self._mask
        fits = min(len(values), len(self.array) - start)
        self.array[start : start + fits] = values[:fits]
        self.array[: len(values) - fits] = values[fits:]

    @property
    def address(self) -> tuple[int, int]:
        return self.array.ctypes.data, self._mask


class Chunks:
    """A queue's cells, by ever-growing index, in chunks: no step copies them all.

    `reserve(lo, hi)` before cells up to `hi` are used: makes the chunks that are
    missing and frees those below `lo`. One chunk is made or freed at a time as a
    queue moves by one, so every step costs the same.
    """

    chunked = True

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout
        self._shift = chunk_shift(layout)
        self._low = (1 << self._shift) - 1
        self._read = reader(layout)
        self._chunks: dict[int, Any] = {}
        self._first = self._end = 0  # chunk numbers
        self._spare: list[Any] = []
        self._directory = np.zeros(4, np.int64)

    def __getitem__(self, i: int) -> Any:
        return self._read(self._chunks[i >> self._shift][i & self._low])

    def __setitem__(self, i: int, partial: Any) -> None:
        self._chunks[i >> self._shift][i & self._low] = partial

    def reserve(self, lo: int, hi: int) -> None:
        first, end = lo >> self._shift, max((hi - 1) >> self._shift, lo >> self._shift) + 1
        if first == self._first and end <= self._end:
            return
        while self._first < min(first, self._end):
            self._spare = [self._chunks.pop(self._first)]  # one is kept for the next reserve
            self._first += 1
        if self._first < first:
            self._first = self._end = first
        while self._end < end:
            self._chunks[self._end] = self._new_chunk()
            self._enter(self._end)
            self._end += 1

    def __len__(self) -> int:
        """How many cells there is room for."""
        return len(self._chunks) << self._shift

    def read(self, lo: int, hi: int) -> Any:
        """Cells lo to hi - 1 as one array (or list)."""
        parts = [self._part(c, lo, hi) for c in range(lo >> self._shift, self._chunk_after(hi))]
        if self.layout is None:
            return [x for part in parts for x in part]
        return np.concatenate(parts) if parts else new_cells(self.layout, 0)

    def write(self, lo: int, values: Any) -> None:
        """Fill the cells from `lo` on, which must be reserved."""
        hi = lo + len(values)
        for c in range(lo >> self._shift, self._chunk_after(hi)):
            start = max(c << self._shift, lo)
            end = min((c + 1) << self._shift, hi)
            where = slice(start - (c << self._shift), end - (c << self._shift))
            self._chunks[c][where] = values[start - lo : end - lo]

    @property
    def address(self) -> tuple[int, int]:
        return self._directory.ctypes.data, len(self._directory) - 1

    def _part(self, chunk: int, lo: int, hi: int) -> Any:
        base = chunk << self._shift
        return self._chunks[chunk][max(lo - base, 0) : hi - base]

    def _new_chunk(self) -> Any:
        return self._spare.pop() if self._spare else new_cells(self.layout, 1 << self._shift)

    def _enter(self, chunk: int) -> None:
        if self.layout is None:
            return
        if chunk - self._first >= len(self._directory):  # copies a 4,096th of the cells
            self._directory = np.zeros(2 * len(self._directory), np.int64)
            for c in range(self._first, chunk):
                self._enter(c)
        mask = len(self._directory) - 1
        self._directory[chunk & mask] = self._chunks[chunk].ctypes.data

    def _chunk_after(self, hi: int) -> int:
        """The chunk after that of cell hi - 1."""
        return ((hi - 1) >> self._shift) + 1


class Table:
    """Cells 0 to len - 1 of a tree."""

    chunked = False

    def __init__(self, layout: Layout | None, count: int) -> None:
        self.layout = layout
        self.array = new_cells(layout, count)
        self._read = reader(layout)

    def __getitem__(self, i: int) -> Any:
        return self._read(self.array[i])

    def __setitem__(self, i: int, partial: Any) -> None:
        self.array[i] = partial

    def __len__(self) -> int:
        return len(self.array)

    def enlarge(self, count: int) -> None:
        """Have at least `count` cells; the old ones keep their values."""
        missing = count - len(self.array)
        if missing <= 0:
            return
        if self.layout is None:
            self.array.extend([None] * missing)
        else:
            self.array = np.concatenate([self.array, new_cells(self.layout, missing)])

    @property
    def address(self) -> tuple[int, int]:
        return self.array.ctypes.data, -1


def fitting(values: Any, layout: Layout | None, count: int) -> Any:
    """`values`, if they are `count` cells of this layout; ValueError says what they are."""
    if layout is None:
        fits = type(values) is list and len(values) == count
    else:
        dtype = layout.array_dtype
        fits = type(values) is np.ndarray and values.dtype == dtype.base
        fits = fits and values.shape == (count, *dtype.shape)
    if not fits:
        kind = type(values).__name__
        found = f"{values.dtype} of shape {values.shape}" if kind == "ndarray" else kind
        raise ValueError(f"{count} cells of {layout or 'objects'} are {found}")
    return values


def held_rows(layout: Layout | None, identity: Any, places: int) -> Any:
    """Rows for the places of `hold` and, last, the identity: only vectors need them."""
    if layout is None or layout.length is None:
        return None
    rows = new_cells(layout, places + 1)
    rows[places] = identity
    return rows


def as_columns(xs: Any) -> tuple[np.ndarray, ...] | None:
    """Input items as contiguous arrays of numbers, one per column; None if they are not."""
    columns: Sequence[Any] = xs if isinstance(xs, tuple) else (xs,)
    arrays = [np.asarray(column) for column in columns]
    if any(a.ndim != 1 or a.dtype.kind not in "biuf" or a.dtype.itemsize > 8 for a in arrays):
        return None
    if len({len(a) for a in arrays}) > 1:
        raise ValueError(f"columns of different lengths: {[len(a) for a in arrays]}")
    return tuple(np.ascontiguousarray(a) for a in arrays)
