"""Order: keys as numbers, times as numbers, and the order that sorts rows by both."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.plan.definition import Query
from sash.plan.types import number_type

BLOCK = 1 << 17
"""Rows that are looked at together."""


def ticks(column: pa.Array, name: str, descending: bool = False) -> np.ndarray:
    """A time column as increasing numbers: int64, or floats as wide as they come.

    Descending times are turned around: ~t is -t - 1, which no integer overflows, and steps
    between times stay what they are.
    """
    if column.null_count:
        raise ValueError(
            f"the time column {name!r} has {column.null_count} null(s): drop those rows, or "
            "give them a time"
        )
    times = numbers(column)
    if times.dtype.kind == "f":
        if np.isnan(times).any():
            raise ValueError(f"the time column {name!r} has NaN: drop those rows")
        return -times if descending else times
    if times.dtype == np.uint64 and len(times) and int(times.max()) >= 1 << 63:
        raise ValueError(
            f"the time column {name!r} is uint64 and has {times.max()}, which is past the end of "
            "int64: subtract a constant from the column first"
        )
    times = times.astype(np.int64, copy=False)
    return ~times if descending else times


def tick_type(kind: pa.DataType) -> np.dtype:
    """The dtype of a time column's `ticks`. Spark adds a float and its bound as floats."""
    number = number_type(kind)
    return number if number is not None and number.kind == "f" else np.dtype(np.int64)


def key_codes(column: pa.Array) -> np.ndarray:
    """A number for each distinct value of a key column; nulls have one of their own.

    0.0 and -0.0 are one key, and so are all NaN, as in Spark.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):  # which may have a value twice, or null as a value
        values, nulls = key_codes(column.dictionary), np.asarray(column.dictionary.is_null())
        column = pa.array(values, mask=nulls).take(column.indices)
    elif pa.types.is_floating(kind):
        column = _one_zero(column)
    if pa.types.is_integer(column.type) and column.null_count == 0:
        return column.to_numpy()
    codes = column.dictionary_encode(null_encoding="encode").indices
    return codes.to_numpy(zero_copy_only=False)


def _one_zero(column: pa.Array) -> pa.Array:
    """Floats with one zero and one NaN."""
    nulls = np.asarray(column.is_null()) if column.null_count else None
    values = column.to_numpy(zero_copy_only=False) + 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, mask=nulls)


def row_codes(columns: list[pa.Array]) -> np.ndarray | None:
    """One number for each distinct row of key columns; None where there are none."""
    if not columns:
        return None
    codes = key_codes(columns[0])
    for column in columns[1:]:
        more = _dense(key_codes(column))
        codes = _dense(codes) * (int(more.max(initial=0)) + 1) + more
    return codes


def _dense(codes: np.ndarray) -> np.ndarray:
    """Codes from 0 on, in the order of the codes, so that their product fits in 64 bits."""
    least, most = int(codes.min(initial=0)), int(codes.max(initial=0))
    if most - least < 1 << 31:
        return (codes - codes.dtype.type(least)).astype(np.int64)
    return np.unique(codes, return_inverse=True)[1]


def sort_order(query: Query, table: pa.Table, threads: int = 1) -> np.ndarray | None:
    """The order that sorts a table by key and time, ties as they come; None: it is sorted."""
    codes = row_codes([one_array(table.column(name)) for name in query.by])
    times = ticks(one_array(table.column(query.time)), query.time, query.descending)
    return order_of(codes, times, threads)


def order_of(codes: np.ndarray | None, times: np.ndarray, threads: int = 1) -> np.ndarray | None:
    """The order that sorts rows by code and time, ties as they come; None: they are sorted."""
    columns = [times] if codes is None else [codes, times]
    if all_sorted(columns, threads):
        return None
    return np.lexsort(columns[::-1])


def all_sorted(columns: list[np.ndarray], threads: int = 1) -> bool:
    """Whether rows are sorted by all of the columns."""

    def is_sorted(start: int) -> bool:
        return _block_sorted([c[start : start + BLOCK + 1] for c in columns])

    starts = range(0, len(columns[0]) - 1, BLOCK)
    if threads == 1 or len(starts) < 2 * threads:
        return all(map(is_sorted, starts))
    with ThreadPoolExecutor(threads) as pool:
        return all(pool.map(is_sorted, starts))


def _block_sorted(columns: list[np.ndarray]) -> bool:
    tied: np.ndarray | bool = True
    for column in columns:
        before, after = column[:-1], column[1:]
        if bool((tied & (before > after)).any()):
            return False
        tied = tied & (before == after)
    return True
