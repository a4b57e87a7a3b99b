"""Keys as numbers: a hash that sorts and finds them, and a second one that proves them.

One integer column is its own number. Other keys are hashed to 64 bits, and to another 64 that
prove that a number is that of the key it is taken for: two keys of one number are told apart,
and the second gets another number for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.columns import numbers, one_array
from sash.engine.order import key_codes
from sash.engine.stream.pages import CHECK, KEY
from sash.stores.encoding import encode

SALTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def with_keys(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """A table with the columns KEY and CHECK."""
    ids, checks = key_numbers([one_array(table.column(name)) for name in by], table.num_rows)
    return table.append_column(KEY, pa.array(ids)).append_column(CHECK, pa.array(checks))


def key_numbers(columns: Sequence[pa.Array], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's key, and its second hash."""
    if not columns:
        return np.zeros(n, np.int64), np.zeros(n, np.int64)
    if len(columns) == 1 and pa.types.is_integer(columns[0].type):
        values, nulls = _integers(columns[0])
        checks = np.zeros(n, np.int64)
        if nulls is not None:  # with a number of some integer, but never with its check
            values[nulls], checks[nulls] = np.array(_digest(None), np.uint64).view(np.int64)
        return values, checks
    first, second = (np.full(n, salt, np.uint64) for salt in SALTS)
    for column in columns:
        a, b = _hashes(column)
        first, second = mixed(first ^ a), mixed(second + b)
    return first.view(np.int64), second.view(np.int64)


def _hashes(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Two hashes for each value of a column, the same whatever else is in the batch."""
    if pa.types.is_integer(column.type):
        integers, nulls = _integers(column)
        values = integers.view(np.uint64)
        first, second = mixed(values), mixed(values ^ np.uint64(SALTS[1]))
        if nulls is not None:
            first[nulls], second[nulls] = _digest(None)
        return first, second
    codes = key_codes(column)
    _, places, codes = np.unique(codes, return_index=True, return_inverse=True)
    values = column.take(pa.array(places)).to_pylist()
    pairs = np.array([_digest(value) for value in values], np.uint64).reshape(-1, 2)
    return pairs[codes, 0], pairs[codes, 1]


def _integers(column: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a column, and where they are null, if any is."""
    if not column.null_count:
        return numbers(column).astype(np.int64, copy=False), None
    return numbers(column.fill_null(0)).astype(np.int64), np.asarray(column.is_null())


def _digest(value: object) -> tuple[int, int]:
    if isinstance(value, float):
        value = value + 0.0 if value == value else None.__class__  # one zero, one NaN
    data = b"nan" if value is None.__class__ else encode(value)
    found = hashlib.blake2b(data, digest_size=16).digest()
    return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:], "little")


def mixed(x: np.ndarray) -> np.ndarray:
    """Numbers spread over all of 64 bits (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def renumbered(table: pa.Table, collided: dict[str, int]) -> pa.Table:
    """Rows in which keys that share a number with another have the one that they were given."""
    if not collided or not table.num_rows:
        return table
    ids, checks = (numbers(one_array(table.column(name))).copy() for name in (KEY, CHECK))
    for pair, given in collided.items():
        number, check = map(int, pair.split("/"))
        ids[(ids == number) & (checks == check)] = given
    return table.set_column(table.column_names.index(KEY), KEY, pa.array(ids))


def another_number(number: int, check: int) -> int:
    """A number for a key whose own is taken."""
    seed = np.array([number ^ check], np.int64).view(np.uint64)
    return int(mixed(seed + np.uint64(SALTS[0])).view(np.int64)[0])
