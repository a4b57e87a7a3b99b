"""Fixed: columns whose values are cells of one width, as NumPy arrays to move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Move = Callable[[np.ndarray], np.ndarray]
"""A function that brings cells to other places."""

Room = Callable[[int, Any], np.ndarray]
"""A function that gives an array of n numbers of a dtype, to be written."""


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


def bits_of(buffer: pa.Buffer, offset: int, n: int) -> np.ndarray:
    """n bits of Arrow's as bytes, from the bit `offset` on."""
    begin, end = offset // 8, -(-(offset + n) // 8)
    packed = np.frombuffer(buffer, np.uint8, end - begin, begin)
    return np.unpackbits(packed, count=offset % 8 + n, bitorder="little")[offset % 8 :]


def known_of(column: pa.Array) -> np.ndarray:
    """Which values of a column are not null, as bytes."""
    if column.buffers()[0] is None:
        return np.asarray(pc.is_valid(column)).view(np.uint8)
    return bits_of(column.buffers()[0], column.offset, len(column))


def null_rows(column: pa.Array) -> np.ndarray:
    """The rows of a column that are null, where there are some."""
    offset, n = column.offset % 8, len(column)
    begin, end = column.offset // 8, -(-(column.offset + n) // 8)
    known = np.frombuffer(column.buffers()[0], np.uint8, end - begin, begin)
    rows = set_bits(~known) - offset
    return rows[(rows >= 0) & (rows < n)]


def set_bits(packed: np.ndarray) -> np.ndarray:
    """The places of bits that are set, mostly few: only bytes that have some are looked into."""
    some = np.flatnonzero(packed != 0)
    found = np.flatnonzero(np.unpackbits(packed[some], bitorder="little"))
    return some[found >> 3] * 8 + (found & 7)


def true_of(condition: pa.BooleanArray) -> np.ndarray:
    """Which values of a condition are true, as bytes; of nulls, anything."""
    return bits_of(condition.buffers()[1], condition.offset, len(condition))


def column_of(kind: pa.DataType, cells: np.ndarray, known: np.ndarray | None) -> pa.Array:
    """A column of values, null where they are not `known`."""
    valid = None if known is None else _packed(known)
    return pa.Array.from_buffers(kind, len(cells), [valid, pa.py_buffer(cells)])


def conditions_of(true: np.ndarray, known: np.ndarray | None) -> pa.BooleanArray:
    """A column of booleans from bytes, null where they are not `known`."""
    valid = None if known is None else _packed(known)
    return pa.Array.from_buffers(pa.bool_(), len(true), [valid, _packed(true)])


def _packed(bits: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def is_movable(kind: pa.DataType) -> bool:
    """Whether a column's values can be moved as cells: booleans as bytes."""
    return is_fixed(kind) or pa.types.is_boolean(kind)


def rebuilt(column: pa.Array, move: Move) -> pa.Array:
    """A column whose values, and what says which are null, have been moved."""
    known = move(known_of(column)) if column.null_count else None
    if pa.types.is_boolean(column.type):
        return conditions_of(move(true_of(column)), known)
    return column_of(column.type, move(cells_of(column)), known)
