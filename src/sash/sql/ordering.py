"""The order of ORDER BY over Arrow tables: any types and directions, nulls and NaN where SQL
has them. NaN is larger than any number, as in Spark."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.columns import changes, one_array
from sash.engine.order import rows_by


class Key(NamedTuple):
    """A column that rows are ordered by."""

    column: str
    descending: bool = False
    nulls_first: bool = True


def sorted_rows(table: pa.Table, keys: list[Key]) -> np.ndarray:
    """The rows' numbers in order; rows that are equal stay in theirs."""
    columns: dict[str, pa.Array] = {}
    sort_keys: list[tuple[str, str, str]] = []
    for i, key in enumerate(keys):
        column = _plain(table.column(key.column))
        way = "descending" if key.descending else "ascending"
        if pa.types.is_floating(column.type):
            is_nan = pc.is_nan(column)
            if pc.any(is_nan).as_py():
                columns[f"{i} nan"] = is_nan
                sort_keys.append((f"{i} nan", way, _placement(key)))
                column = pc.if_else(is_nan, pa.scalar(0.0, column.type), column)
        columns[str(i)] = column
        sort_keys.append((str(i), way, _placement(key)))
    columns["row"] = pa.array(np.arange(table.num_rows))
    sort_keys.append(("row", "ascending", "at_end"))
    return np.asarray(rows_by(pa.table(columns), sort_keys))


def _placement(key: Key) -> str:
    return "at_start" if key.nulls_first else "at_end"


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = one_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array


def peer_numbers(table: pa.Table, keys: list[Key]) -> pa.Array:
    """A number for each row that is equal for peers and grows along the order."""
    order = sorted_rows(table, keys)
    columns = [_plain(table.column(key.column)).take(pa.array(order)) for key in keys]
    numbers = np.zeros(table.num_rows, np.int64)
    if table.num_rows:
        numbers[order[1:]] = np.cumsum(changes(columns))
    return pa.array(numbers)


def with_ends(column: pa.Array, nulls_last: bool) -> pa.Array | None:
    """Times in which NaN and, where they are the largest, nulls have a number beyond all others.

    None where a number of the column is that large itself.
    """
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64())
        nan = np.asarray(pc.fill_null(pc.is_nan(values), False))
        nulls = np.asarray(values.is_null())
        plain = values.fill_null(0.0).to_numpy(zero_copy_only=False).copy()
        if (np.abs(plain[~nan & ~nulls]) >= 1e300).any():
            return None
        plain[nan] = np.finfo(np.float64).max
        if nulls_last:
            plain[nulls] = np.inf
            return pa.array(plain)
        return pa.array(plain, mask=nulls)
    if not nulls_last or not column.null_count:
        return column
    wide = column.cast(pa.int32()).cast(pa.int64()) if column.type.bit_width == 32 else column
    steps = wide.cast(pa.int64()).fill_null(np.iinfo(np.int64).max)
    return steps.cast(column.type) if pa.types.is_timestamp(column.type) else steps
