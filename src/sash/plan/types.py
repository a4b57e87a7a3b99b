"""Types of columns: which run as numbers in compiled loops, and how fine a time column is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def number_type(kind: pa.DataType) -> np.dtype | None:
    """The NumPy dtype that a column's values have in a compiled loop; None: they are objects."""
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return np.dtype(np.int64)
    if pa.types.is_boolean(kind):
        return np.dtype(np.bool_)
    if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return np.dtype(kind.to_pandas_dtype())
    return None


def number_types(kinds: list[pa.DataType]) -> tuple[np.dtype, ...] | None:
    """The dtypes of several columns; None where one of them is not made of numbers."""
    found = [number_type(kind) for kind in kinds]
    known = tuple(dtype for dtype in found if dtype is not None)  # NumPy takes None for float64
    return known if len(known) == len(found) else None


def is_ranked(kind: pa.DataType) -> bool:
    """Whether a column's values are objects that Arrow can sort: text, bytes and decimals."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
                or pa.types.is_decimal(kind))  # fmt: skip


def is_short_decimal(kind: pa.DataType) -> bool:
    """Whether a column's values are decimals that fit in 64 bits without the point."""
    return pa.types.is_decimal128(kind) and kind.precision <= 18


def unit_of(kind: pa.DataType) -> int | None:
    """Nanoseconds of one step of a time, a date or a duration; None for numbers."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        return {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}[kind.unit]
    if pa.types.is_date32(kind):
        return 86_400_000_000_000
    if pa.types.is_date64(kind):
        return 1_000_000
    return None


def tick_kind(kind: pa.DataType) -> str:
    """The kind of number that a time column's steps are, as NumPy says it: "i" or "f"."""
    return "f" if pa.types.is_floating(kind) else "i"
